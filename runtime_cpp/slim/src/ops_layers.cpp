// Normalisation, pooling, attention.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <torch2cpp/slim/attention.h>
#include <torch2cpp/slim/conv.h>
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
Tensor batch_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                  const OptionalTensor& running_mean, const OptionalTensor& running_var, bool training, double,
                  double eps) {
  if (training || !given(running_mean) || !given(running_var)) {
    raise_not_implemented("batch_norm with the batch's own statistics without libtorch");
  }
  const int64_t rank = impl(input).rank();
  Tensor scale = rsqrt(add_Scalar(*running_var, eps, 1));
  if (given(weight)) {
    scale = mul_Tensor(scale, *weight);
  }
  Tensor shift = neg(mul_Tensor(*running_mean, scale));
  if (given(bias)) {
    shift = add_Tensor(shift, *bias, 1);
  }
  return add_Tensor(mul_Tensor(input, by_channel(scale, rank)), by_channel(shift, rank), 1);
}

namespace {

struct Pool {
  Window window;
  int64_t height, width, out_height, out_width;
};

int64_t pooled_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  const int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  int64_t out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  // The last window begins inside the input or its padding.
  if (ceil_mode && (out - 1) * stride >= size + padding) {
    --out;
  }
  if (out <= 0 || room < 0) {
    raise_runtime_error("pooling: Output size is too small");
  }
  return out;
}

std::array<int64_t, 2> two(Ints given, std::array<int64_t, 2> otherwise) {
  const auto items = given.get();
  return items.empty()       ? otherwise
         : items.size() == 1 ? std::array<int64_t, 2>{items[0], items[0]}
                             : std::array<int64_t, 2>{items[0], items[1]};
}

// f(plane, pool, y, x) -> value, over all planes of the last two dimensions.
template <class F>
Tensor pooled(const Tensor& input, int64_t out_height, int64_t out_width, F f) {
  const Impl& in = impl(input);
  if (in.rank() != 3 && in.rank() != 4) {
    raise_runtime_error("pooling expects 3 or 4 dimensions, got " + std::to_string(in.rank()));
  }
  const auto rank = in.sizes().size();
  const int64_t height = in.sizes()[rank - 2], width = in.sizes()[rank - 1];
  std::vector<int64_t> sizes(in.sizes().begin(), in.sizes().end());
  sizes[rank - 2] = out_height;
  sizes[rank - 1] = out_width;
  const Tensor out = slim::empty(sizes, in.dtype);
  with_compute(in.dtype, [&]<class T>(T) {
    const Tensor from = slim::contiguous(input, dtype_of<T>);
    std::vector<T> line(static_cast<std::size_t>(out_width));
    const int64_t planes = element_count(in.sizes().first(rank - 2));
    const auto bytes = static_cast<int64_t>(impl(out).width());
    for (int64_t plane = 0; plane < planes; ++plane) {
      const T* at = slim::data<T>(from) + plane * height * width;
      for (int64_t y = 0; y < out_height; ++y) {
        for (int64_t x = 0; x < out_width; ++x) {
          line[static_cast<std::size_t>(x)] = f(at, y, x);
        }
        store(line.data(), impl(out).data() + (plane * out_height + y) * out_width * bytes, in.dtype, 1, out_width);
      }
    }
  });
  return out;
}

}  // namespace

Tensor max_pool2d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, Ints dilation, bool ceil_mode) {
  const auto kernel = two(kernel_size, {1, 1}), step = two(stride, kernel), edge = two(padding, {0, 0}),
             gap = two(dilation, {1, 1});
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  return pooled(self, pooled_size(height, kernel[0], step[0], edge[0], gap[0], ceil_mode),
                pooled_size(width, kernel[1], step[1], edge[1], gap[1], ceil_mode),
                [&]<class T>(const T* plane, int64_t y, int64_t x) {
                  T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                                : std::numeric_limits<T>::lowest();
                  for (int64_t i = 0; i < kernel[0]; ++i) {
                    const int64_t row = y * step[0] - edge[0] + i * gap[0];
                    for (int64_t j = 0; row >= 0 && row < height && j < kernel[1]; ++j) {
                      const int64_t column = x * step[1] - edge[1] + j * gap[1];
                      if (column >= 0 && column < width) {
                        const T value = plane[row * width + column];
                        best = value != value || value > best ? value : best;
                      }
                    }
                  }
                  return best;
                });
}
Tensor max_pool1d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, Ints dilation, bool ceil_mode) {
  const auto last = [](Ints given, int64_t other, int64_t missing) {
    return std::array<int64_t, 2>{missing, given.get().empty() ? other : given.get()[0]};
  };
  const auto kernel = last(kernel_size, 1, 1), step = last(stride, kernel[1], 1), edge = last(padding, 0, 0),
             gap = last(dilation, 1, 1);
  const auto as = [](const std::array<int64_t, 2>& a) { return Ints(std::span<const int64_t>(a)); };
  return torch2cpp::squeeze(
      max_pool2d(torch2cpp::unsqueeze(self, -2), as(kernel), as(step), as(edge), as(gap), ceil_mode), -2);
}
Tensor avg_pool2d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override) {
  const auto kernel = two(kernel_size, {1, 1}), step = two(stride, kernel), edge = two(padding, {0, 0});
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  return pooled(self, pooled_size(height, kernel[0], step[0], edge[0], 1, ceil_mode),
                pooled_size(width, kernel[1], step[1], edge[1], 1, ceil_mode),
                [&]<class T>(const T* plane, int64_t y, int64_t x) {
                  const int64_t top = y * step[0] - edge[0], left = x * step[1] - edge[1];
                  const int64_t bottom = std::min(top + kernel[0], height + edge[0]);
                  const int64_t right = std::min(left + kernel[1], width + edge[1]);
                  const int64_t area = (bottom - top) * (right - left);
                  double sum = 0;
                  int64_t inside = 0;
                  for (int64_t i = std::max<int64_t>(top, 0); i < std::min(bottom, height); ++i) {
                    for (int64_t j = std::max<int64_t>(left, 0); j < std::min(right, width); ++j, ++inside) {
                      sum += static_cast<double>(plane[i * width + j]);
                    }
                  }
                  const int64_t by = divisor_override.value_or(count_include_pad ? area : inside);
                  return static_cast<T>(sum / static_cast<double>(by));
                });
}
Tensor avg_pool1d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, bool ceil_mode,
                  bool count_include_pad) {
  const int64_t kernel[] = {1, kernel_size.get()[0]};
  const int64_t step[] = {1, stride.get().empty() ? kernel[1] : stride.get()[0]};
  const int64_t edge[] = {0, padding.get().empty() ? 0 : padding.get()[0]};
  const auto as = [](const int64_t (&a)[2]) { return Ints(std::span<const int64_t>(a)); };
  return torch2cpp::squeeze(avg_pool2d(torch2cpp::unsqueeze(self, -2), as(kernel), as(step), as(edge), ceil_mode,
                                       count_include_pad, std::nullopt),
                            -2);
}
Tensor adaptive_avg_pool2d(const Tensor& self, Ints output_size) {
  const auto out = two(output_size, {1, 1});
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  return pooled(self, out[0], out[1], [&]<class T>(const T* plane, int64_t y, int64_t x) {
    const int64_t top = y * height / out[0], bottom = ((y + 1) * height + out[0] - 1) / out[0];
    const int64_t left = x * width / out[1], right = ((x + 1) * width + out[1] - 1) / out[1];
    double sum = 0;
    for (int64_t i = top; i < bottom; ++i) {
      for (int64_t j = left; j < right; ++j) {
        sum += static_cast<double>(plane[i * width + j]);
      }
    }
    return static_cast<T>(sum / static_cast<double>((bottom - top) * (right - left)));
  });
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, Ints output_size) {
  const auto out = two(output_size, {1, 1});
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  if (height == 0 || width == 0) {
    raise_runtime_error("adaptive_max_pool2d: the input has no elements to take the largest of");
  }
  std::vector<int64_t> places;
  const Tensor values = pooled(self, out[0], out[1], [&]<class T>(const T* plane, int64_t y, int64_t x) {
    const int64_t top = y * height / out[0], bottom = ((y + 1) * height + out[0] - 1) / out[0];
    const int64_t left = x * width / out[1], right = ((x + 1) * width + out[1] - 1) / out[1];
    int64_t best = top * width + left;
    for (int64_t i = top; i < bottom; ++i) {
      for (int64_t j = left; j < right; ++j) {
        const T value = plane[i * width + j];
        // As eager: the last of several NaNs, the first of several equal ones.
        best = value != value || value > plane[best] ? i * width + j : best;
      }
    }
    places.push_back(best);
    return plane[best];
  });
  const Tensor indices = slim::empty(impl(values).sizes(), ScalarType::Long);
  std::copy(places.begin(), places.end(), slim::data<int64_t>(indices));
  return {values, indices};
}
Tensor upsample_nearest2d(const Tensor& self, Ints output_size, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  const int64_t to_height = output_size.get()[0], to_width = output_size.get()[1];
  // In float, as eager reckons.
  const auto ratio = [](int64_t from, int64_t to, std::optional<double> scale) {
    return scale && *scale > 0 ? static_cast<float>(1.0 / *scale) : static_cast<float>(from) / static_cast<float>(to);
  };
  const float by_y = ratio(height, to_height, scales_h), by_x = ratio(width, to_width, scales_w);
  const auto at = [](float by, int64_t i, int64_t size) {
    return std::min(static_cast<int64_t>(std::floor(static_cast<float>(i) * by)), size - 1);
  };
  return pooled(self, to_height, to_width, [&](const auto* plane, int64_t y, int64_t x) {
    return plane[at(by_y, y, height) * width + at(by_x, x, width)];
  });
}
Tensor upsample_bilinear2d(const Tensor& self, Ints output_size, bool align_corners, std::optional<double> scales_h,
                           std::optional<double> scales_w) {
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  const int64_t to_height = output_size.get()[0], to_width = output_size.get()[1];
  const auto ratio = [&](int64_t from, int64_t to, std::optional<double> scale) {
    if (align_corners) {
      return to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0.0;
    }
    return scale && *scale > 0 ? 1.0 / *scale : static_cast<double>(from) / static_cast<double>(to);
  };
  const double by_y = ratio(height, to_height, scales_h), by_x = ratio(width, to_width, scales_w);
  const auto place = [&](double by, int64_t i) {
    const auto step = static_cast<double>(i);
    return align_corners ? by * step : std::max(by * (step + 0.5) - 0.5, 0.0);
  };
  return pooled(self, to_height, to_width, [&]<class T>(const T* plane, int64_t y, int64_t x) {
    const double row = place(by_y, y), column = place(by_x, x);
    const int64_t top = std::min(static_cast<int64_t>(row), height - 1),
                  left = std::min(static_cast<int64_t>(column), width - 1);
    const int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
    const double down = row - static_cast<double>(top), across = column - static_cast<double>(left);
    const auto value = [&](int64_t r, int64_t c) { return static_cast<double>(plane[r * width + c]); };
    const double upper = value(top, left) * (1 - across) + value(top, right) * across;
    const double lower = value(bottom, left) * (1 - across) + value(bottom, right) * across;
    return static_cast<T>(upper * (1 - down) + lower * down);
  });
}
Tensor adaptive_avg_pool1d(const Tensor& self, Ints output_size) {
  const int64_t sizes[] = {1, output_size.get()[0]};
  return torch2cpp::squeeze(adaptive_avg_pool2d(torch2cpp::unsqueeze(self, -2), Ints(std::span<const int64_t>(sizes))),
                            -2);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const OptionalTensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  if (dropout_p != 0.0) {
    raise_not_implemented("attention with dropout without libtorch");
  }
  if (enable_gqa) {
    raise_not_implemented("attention with grouped queries without libtorch");
  }
  return attention(query, key, value, attn_mask, is_causal, scale).output;
}

}  // namespace torch2cpp::slim::op

namespace torch2cpp::slim {

Attention attention(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask,
                    bool is_causal, std::optional<double> scale) {
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(torch2cpp::size(query, -1))));
  Tensor scores = op::mul_Scalar(op::matmul(query, torch2cpp::transpose(key, -2, -1)), factor);
  const ScalarType dtype = impl(scores).dtype;
  if (is_causal) {
    const int64_t sizes[] = {torch2cpp::size(query, -2), torch2cpp::size(key, -2)};
    const Tensor allowed = op::tril(op::ones(Ints(std::span<const int64_t>(sizes)), ScalarType::Bool), 0);
    scores = op::masked_fill_Scalar(scores, op::logical_not(allowed), -HUGE_VAL);
  }
  if (mask && mask->defined()) {
    scores = impl(*mask).dtype == ScalarType::Bool ? op::masked_fill_Scalar(scores, op::logical_not(*mask), -HUGE_VAL)
                                                   : op::add_Tensor(scores, op::to_dtype(*mask, dtype, false), 1);
  }
  const int64_t last[] = {-1};
  const Tensor sums = op::logsumexp(scores, Ints(std::span<const int64_t>(last)), true);
  // A row that may look at nothing looks at nothing.
  const Tensor nothing = op::eq_Scalar(sums, -HUGE_VAL);
  const Tensor weights = op::masked_fill_Scalar(
      op::exp(op::sub_Tensor(scores, op::masked_fill_Scalar(sums, nothing, 0.0), 1)), nothing, 0.0);
  return {op::matmul(weights, value), torch2cpp::squeeze(sums, -1)};
}

}  // namespace torch2cpp::slim
