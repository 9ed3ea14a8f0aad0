// Normalisation of rows, groups and channels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// Rows of `length` to mean 0 and variance 1.
Tensor standardized(const Tensor& input, int64_t length, double eps) {
  const Tensor from = slim::contiguous(input);
  const Tensor out = slim::empty(impl(input).sizes(), impl(input).dtype);
  with_compute(impl(input).dtype, [&]<class T>(T) {
    std::vector<T> row(static_cast<std::size_t>(length));
    const auto bytes = static_cast<int64_t>(impl(from).width());
    for (int64_t i = 0; i < (length == 0 ? 0 : impl(from).numel() / length); ++i) {
      load(impl(from).data() + i * length * bytes, impl(from).dtype, 1, length, row.data());
      double sum = 0, squares = 0;
      for (const T x : row) {
        sum += static_cast<double>(x);
      }
      const double mean = sum / static_cast<double>(length);
      for (const T x : row) {
        squares += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
      }
      const double scale = 1 / std::sqrt(squares / static_cast<double>(length) + eps);
      for (T& x : row) {
        x = static_cast<T>((static_cast<double>(x) - mean) * scale);
      }
      store(row.data(), impl(out).data() + i * length * bytes, impl(out).dtype, 1, length);
    }
  });
  return out;
}

// One value a channel, as a tensor that broadcasts over (batch, channels, ...).
Tensor by_channel(const Tensor& t, int64_t rank) {
  std::vector<int64_t> sizes(static_cast<std::size_t>(rank) - 1, 1);
  sizes[0] = impl(t).numel();
  return reshape(t, sizes);
}

bool given(const OptionalTensor& t) { return t && t->defined(); }

Tensor scaled(Tensor out, const OptionalTensor& weight, const OptionalTensor& bias) {
  if (given(weight)) {
    out = mul_Tensor(out, *weight);
  }
  return given(bias) ? add_Tensor(out, *bias, 1) : out;
}

}  // namespace

Tensor layer_norm(const Tensor& input, Ints normalized_shape, const OptionalTensor& weight, const OptionalTensor& bias,
                  double eps) {
  const Shape tail = normalized_shape.get(), own = impl(input).sizes();
  if (tail.size() > own.size() || !std::ranges::equal(own.last(tail.size()), tail)) {
    raise_runtime_error("Given normalized_shape=" + shape_text(tail) +
                        ", expected input with shape ending in it, but got input of size" + shape_text(own));
  }
  return scaled(standardized(input, element_count(tail), eps), weight, bias);
}
Tensor group_norm(const Tensor& input, int64_t num_groups, const OptionalTensor& weight, const OptionalTensor& bias,
                  double eps) {
  const Impl& in = impl(input);
  if (in.rank() < 2 || num_groups <= 0 || in.sizes()[1] % num_groups != 0) {
    raise_runtime_error("Expected number of channels in input to be divisible by num_groups, but got input of shape " +
                        shape_text(in.sizes()) + " and num_groups=" + std::to_string(num_groups));
  }
  const int64_t groups = in.sizes()[0] * num_groups;
  const Tensor out = standardized(input, groups == 0 ? 0 : in.numel() / groups, eps);
  const auto channels = [&](const OptionalTensor& t) {
    return given(t) ? OptionalTensor(by_channel(*t, in.rank())) : OptionalTensor();
  };
  return scaled(out, channels(weight), channels(bias));
}
Tensor rms_norm(const Tensor& input, Ints normalized_shape, const OptionalTensor& weight, std::optional<double> eps) {
  const auto rank = static_cast<int64_t>(normalized_shape.get().size());
  std::vector<int64_t> dims;
  for (int64_t d = -rank; d < 0; ++d) {
    dims.push_back(d);
  }
  const double smallest = impl(input).dtype == ScalarType::Double ? std::numeric_limits<double>::epsilon()
                                                                  : std::numeric_limits<float>::epsilon();
  const Tensor power = mean_dim(square(input), Ints(dims), true, std::nullopt);
  return scaled(mul_Tensor(input, rsqrt(add_Scalar(power, eps.value_or(smallest), 1))), weight, std::nullopt);
}

namespace {

struct Statistics {
  Tensor mean, var;
};

// Of each channel over the batch; the running ones move towards them.
Statistics of_batch(const Tensor& input, const OptionalTensor& running_mean, const OptionalTensor& running_var,
                    double momentum) {
  std::vector<int64_t> dims{0};
  for (int64_t d = 2; d < impl(input).rank(); ++d) {
    dims.push_back(d);
  }
  Statistics out{mean_dim(input, Ints(dims), false, std::nullopt), var_correction(input, Ints(dims), Number(0), false)};
  const auto count = static_cast<double>(impl(input).numel() / std::max<int64_t>(impl(input).sizes()[1], 1));
  const auto move = [&](const OptionalTensor& running, const Tensor& now) {
    if (given(running)) {
      add_in_place_Tensor(mul_in_place_Scalar(*running, 1 - momentum), now, momentum);
    }
  };
  move(running_mean, out.mean);
  move(running_var, mul_Scalar(out.var, count / (count - 1)));
  return out;
}

}  // namespace

Tensor batch_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                  const OptionalTensor& running_mean, const OptionalTensor& running_var, bool training, double momentum,
                  double eps) {
  const int64_t rank = impl(input).rank();
  if (rank < 2) {
    raise_runtime_error("batch_norm expects a batch and channels, got " + std::to_string(rank) + " dimensions");
  }
  if (!training && (!given(running_mean) || !given(running_var))) {
    raise_runtime_error("running_mean and running_var must be given in evaluation mode");
  }
  const Statistics by =
      training ? of_batch(input, running_mean, running_var, momentum) : Statistics{*running_mean, *running_var};
  Tensor scale = rsqrt(add_Scalar(by.var, eps, 1));
  if (given(weight)) {
    scale = mul_Tensor(scale, *weight);
  }
  if (training) {
    // The mean goes first: taking it from the product would lose digits.
    const Tensor centred = sub_Tensor(input, by_channel(by.mean, rank), 1);
    const Tensor out = mul_Tensor(centred, by_channel(scale, rank));
    return given(bias) ? add_Tensor(out, by_channel(*bias, rank), 1) : out;
  }
  Tensor shift = neg(mul_Tensor(by.mean, scale));
  if (given(bias)) {
    shift = add_Tensor(shift, *bias, 1);
  }
  return add_Tensor(mul_Tensor(input, by_channel(scale, rank)), by_channel(shift, rank), 1);
}
Tensor instance_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                     const OptionalTensor& running_mean, const OptionalTensor& running_var, bool use_input_stats,
                     double momentum, double eps) {
  if (!use_input_stats) {
    return batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
  }
  if (given(running_mean) || given(running_var)) {
    raise_not_implemented("instance_norm that keeps running statistics without libtorch");
  }
  return group_norm(input, torch2cpp::size(input, 1), weight, bias, eps);
}

}  // namespace torch2cpp::slim::op
