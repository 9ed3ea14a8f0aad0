// Reductions, and operators that go along a dimension.
#include <algorithm>
#include <cmath>
#include <limits>

#include <torch2cpp/slim/operators.h>
#include <torch2cpp/slim/rows.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

Shape dims_of(const std::optional<Ints>& dims) { return dims ? dims->get() : Shape{}; }

ScalarType sum_type(const Tensor& self, std::optional<ScalarType> dtype) {
  const ScalarType own = impl(self).dtype;
  return dtype.value_or(is_floating(own) || slim::is_complex(own) ? own : ScalarType::Long);
}

// Added up in a wider type; ints wrap.
constexpr auto kSum = []<class T>(const T* row, int64_t length) {
  if constexpr (std::is_same_v<T, int64_t>) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      sum += static_cast<uint64_t>(row[i]);
    }
    return static_cast<T>(sum);
  } else {
    double sums[4] = {};
    int64_t i = 0;
    for (; i + 4 <= length; i += 4) {
      for (int64_t lane = 0; lane < 4; ++lane) {
        sums[lane] += static_cast<double>(row[i + lane]);
      }
    }
    for (; i < length; ++i) {
      sums[0] += static_cast<double>(row[i]);
    }
    return static_cast<T>(sums[0] + sums[1] + sums[2] + sums[3]);
  }
};

constexpr auto kProduct = []<class T>(const T* row, int64_t length) {
  if constexpr (std::is_same_v<T, int64_t>) {
    uint64_t out = 1;
    for (int64_t i = 0; i < length; ++i) {
      out *= static_cast<uint64_t>(row[i]);
    }
    return static_cast<T>(out);
  } else {
    double out = 1;
    for (int64_t i = 0; i < length; ++i) {
      out *= static_cast<double>(row[i]);
    }
    return static_cast<T>(out);
  }
};

// Position of the largest (or smallest) element; NaN is more than all, the first of equals wins.
template <class T>
int64_t best(const T* row, int64_t length, bool largest) {
  int64_t out = 0;
  for (int64_t i = 1; i < length && row[out] == row[out]; ++i) {
    if (row[i] != row[i] || (largest ? row[i] > row[out] : row[i] < row[out])) {
      out = i;
    }
  }
  return out;
}

Tensor arg_best(const Tensor& self, std::optional<int64_t> dim, bool keepdim, bool largest) {
  const std::string name = largest ? "argmax" : "argmin";
  if (impl(self).numel() == 0 && !dim) {
    raise_index_error(name +
                      "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                      "with the 'dim' argument.");
  }
  if (dim && impl(self).rank() != 0 && torch2cpp::size(self, *dim) == 0) {
    raise_index_error(name + "(): Expected reduction dim " + std::to_string(wrap(*dim, impl(self).rank())) +
                      " to have non-zero size.");
  }
  const int64_t dims[] = {dim.value_or(0)};
  Tensor out = reduce<int64_t>(self, dim ? Shape(dims) : Shape{}, keepdim, impl(self).dtype, ScalarType::Long,
                               [&](const auto* row, int64_t length) { return best(row, length, largest); });
  return out;
}

Tensor best_of(const Tensor& self, Shape dims, bool keepdim, bool largest) {
  const auto name = largest ? "max" : "min";
  bool empty = dims.empty() && impl(self).numel() == 0;
  for (const int64_t dim : dims) {
    empty = empty || (impl(self).rank() != 0 && torch2cpp::size(self, dim) == 0);
  }
  if (empty) {
    raise_runtime_error(std::string(name) +
                        "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
                        "dim with the 'dim' argument.");
  }
  return reduce<void>(self, dims, keepdim, impl(self).dtype, impl(self).dtype,
                      [&](const auto* row, int64_t length) { return row[best(row, length, largest)]; });
}

std::tuple<Tensor, Tensor> best_and_where(const Tensor& self, int64_t dim, bool keepdim, bool largest) {
  const auto name = largest ? "max" : "min";
  if (impl(self).rank() != 0 && torch2cpp::size(self, dim) == 0) {
    raise_index_error(std::string(name) + "(): Expected reduction dim " + std::to_string(wrap(dim, impl(self).rank())) +
                      " to have non-zero size.");
  }
  const int64_t dims[] = {dim};
  return {best_of(self, dims, keepdim, largest), arg_best(self, dim, keepdim, largest)};
}

ScalarType norm_type(const Tensor& self, std::optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(impl(self).dtype);
  if (!is_floating(type)) {
    raise_runtime_error("linalg.vector_norm: Expected a floating point or complex tensor as input. Got " +
                        std::string(dtype_name(type)));
  }
  return type;
}

Tensor vector_norm(const Tensor& self, double order, Shape dims, bool keepdim, std::optional<ScalarType> dtype) {
  const ScalarType type = norm_type(self, dtype);
  return reduce<void>(self, dims, keepdim, type, type, [&]<class T>(const T* row, int64_t length) -> T {
    double sum = order == -HUGE_VAL ? HUGE_VAL : 0.0;
    for (int64_t i = 0; i < length; ++i) {
      const double x = std::abs(static_cast<double>(row[i]));
      if (order == HUGE_VAL) {
        sum = x != x || x > sum ? x : sum;
      } else if (order == -HUGE_VAL) {
        sum = x != x || x < sum ? x : sum;
      } else {
        sum += order == 2 ? x * x : order == 1 ? x : order == 0 ? (x != 0) : std::pow(x, order);
      }
    }
    const bool plain = order == 0 || order == 1 || std::isinf(order);
    return static_cast<T>(plain ? sum : order == 2 ? std::sqrt(sum) : std::pow(sum, 1 / order));
  });
}

Tensor variance(const Tensor& self, Shape dims, double correction, bool keepdim, bool root) {
  const ScalarType type = impl(self).dtype;
  if (!is_floating(type)) {
    raise_runtime_error("std and var only support floating point and complex dtypes");
  }
  return reduce<void>(self, dims, keepdim, type, type, [&]<class T>(const T* row, int64_t length) -> T {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < length; ++i) {
      sum += static_cast<double>(row[i]);
    }
    const double mean = sum / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) {
      const double off = static_cast<double>(row[i]) - mean;
      squares += off * off;
    }
    const double value = squares / std::max(static_cast<double>(length) - correction, 0.0);
    return static_cast<T>(root ? std::sqrt(value) : value);
  });
}

template <bool kLog>
Tensor normalized(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(impl(self).dtype);
  if (!is_floating(type)) {
    raise_runtime_error("\"softmax_kernel_impl\" not implemented for '" + std::string(dtype_name(type)) + "'");
  }
  return transform_rows(self, dim, type, []<class T>(const T* from, T* to, int64_t length) {
    if (length == 0) {
      return;
    }
    const T most = from[best(from, length, true)];
    if constexpr (std::is_floating_point_v<T>) {
      double sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        const T each = std::exp(from[i] - most);
        to[i] = kLog ? from[i] - most : each;
        sum += static_cast<double>(each);
      }
      const T total = static_cast<T>(kLog ? std::log(sum) : 1 / sum);
      for (int64_t i = 0; i < length; ++i) {
        to[i] = kLog ? to[i] - total : to[i] * total;
      }
    }
  });
}

}  // namespace

Tensor sum_dim_IntList(const Tensor& self, std::optional<Ints> dim, bool keepdim, std::optional<ScalarType> dtype) {
  const ScalarType type = sum_type(self, dtype);
  return reduce<void>(self, dims_of(dim), keepdim, type, type, kSum);
}
Tensor sum(const Tensor& self, std::optional<ScalarType> dtype) {
  return sum_dim_IntList(self, std::nullopt, false, dtype);
}
Tensor mean_dim(const Tensor& self, std::optional<Ints> dim, bool keepdim, std::optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(impl(self).dtype);
  if (!is_floating(type)) {
    raise_runtime_error(
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: " +
        std::string(dtype_name(type)));
  }
  return reduce<void>(self, dims_of(dim), keepdim, type, type, []<class T>(const T* row, int64_t length) {
    double total = 0;
    for (int64_t i = 0; i < length; ++i) {
      total += static_cast<double>(row[i]);
    }
    return static_cast<T>(total / static_cast<double>(length));
  });
}
Tensor mean(const Tensor& self, std::optional<ScalarType> dtype) { return mean_dim(self, std::nullopt, false, dtype); }
Tensor prod(const Tensor& self, std::optional<ScalarType> dtype) {
  const ScalarType type = sum_type(self, dtype);
  return reduce<void>(self, {}, false, type, type, kProduct);
}
Tensor prod_dim_int(const Tensor& self, int64_t dim, bool keepdim, std::optional<ScalarType> dtype) {
  const ScalarType type = sum_type(self, dtype);
  return reduce<void>(self, {&dim, 1}, keepdim, type, type, kProduct);
}

Tensor max(const Tensor& self) { return best_of(self, {}, false, true); }
Tensor min(const Tensor& self) { return best_of(self, {}, false, false); }
std::tuple<Tensor, Tensor> max_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return best_and_where(self, dim, keepdim, true);
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return best_and_where(self, dim, keepdim, false);
}
Tensor amax(const Tensor& self, Ints dim, bool keepdim) { return best_of(self, dim.get(), keepdim, true); }
Tensor amin(const Tensor& self, Ints dim, bool keepdim) { return best_of(self, dim.get(), keepdim, false); }
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_best(self, dim, keepdim, true);
}
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_best(self, dim, keepdim, false);
}

namespace {

constexpr auto kAny = [](const auto* row, int64_t length) {
  return std::any_of(row, row + length, [](auto x) { return x != 0; });
};
constexpr auto kAll = [](const auto* row, int64_t length) {
  return std::all_of(row, row + length, [](auto x) { return x != 0; });
};

// Bytes stay bytes, as in eager.
ScalarType flag_type(const Tensor& self) {
  return impl(self).dtype == ScalarType::Byte ? ScalarType::Byte : ScalarType::Bool;
}

}  // namespace

Tensor any(const Tensor& self) { return reduce<int64_t>(self, {}, false, impl(self).dtype, flag_type(self), kAny); }
Tensor any_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return reduce<int64_t>(self, {&dim, 1}, keepdim, impl(self).dtype, flag_type(self), kAny);
}
Tensor all(const Tensor& self) { return reduce<int64_t>(self, {}, false, impl(self).dtype, flag_type(self), kAll); }
Tensor all_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return reduce<int64_t>(self, {&dim, 1}, keepdim, impl(self).dtype, flag_type(self), kAll);
}
Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  const int64_t dims[] = {dim.value_or(0)};
  return reduce<int64_t>(self, dim ? Shape(dims) : Shape{}, false, impl(self).dtype, ScalarType::Long,
                         [](const auto* row, int64_t length) { return length - std::count(row, row + length, 0); });
}
bool equal(const Tensor& self, const Tensor& other) {
  if (!std::ranges::equal(impl(self).sizes(), impl(other).sizes())) {
    return false;
  }
  return item<bool>(all(eq_Tensor(self, other)));
}

Tensor linalg_vector_norm(const Tensor& self, Number ord, std::optional<Ints> dim, bool keepdim,
                          std::optional<ScalarType> dtype) {
  return vector_norm(self, ord.as<double>(), dims_of(dim), keepdim, dtype);
}
Tensor norm_Scalar(const Tensor& self, Number p) { return vector_norm(self, p.as<double>(), {}, false, std::nullopt); }
Tensor norm_ScalarOpt_dim(const Tensor& self, std::optional<Number> p, Ints dim, bool keepdim) {
  return vector_norm(self, p.value_or(2.0).as<double>(), dim.get(), keepdim, std::nullopt);
}
Tensor var_correction(const Tensor& self, std::optional<Ints> dim, std::optional<Number> correction, bool keepdim) {
  return variance(self, dims_of(dim), correction.value_or(1.0).as<double>(), keepdim, false);
}
Tensor std_correction(const Tensor& self, std::optional<Ints> dim, std::optional<Number> correction, bool keepdim) {
  return variance(self, dims_of(dim), correction.value_or(1.0).as<double>(), keepdim, true);
}
Tensor var(const Tensor& self, bool unbiased) { return variance(self, {}, unbiased, false, false); }
Tensor var_dim(const Tensor& self, std::optional<Ints> dim, bool unbiased, bool keepdim) {
  return variance(self, dims_of(dim), unbiased, keepdim, false);
}
Tensor std(const Tensor& self, bool unbiased) { return variance(self, {}, unbiased, false, true); }
Tensor std_dim(const Tensor& self, std::optional<Ints> dim, bool unbiased, bool keepdim) {
  return variance(self, dims_of(dim), unbiased, keepdim, true);
}

Tensor logsumexp(const Tensor& self, Ints dim, bool keepdim) {
  const ScalarType type = float_type(impl(self).dtype);
  return reduce<void>(self, dim.get(), keepdim, type, type, []<class T>(const T* row, int64_t length) -> T {
    if (length == 0) {
      return static_cast<T>(-HUGE_VAL);
    }
    const auto most = static_cast<double>(row[best(row, length, true)]);
    if (std::isinf(most)) {
      return static_cast<T>(most);
    }
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      sum += std::exp(static_cast<double>(row[i]) - most);
    }
    return static_cast<T>(std::log(sum) + most);
  });
}
Tensor softmax_int(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return normalized<false>(self, dim, dtype);
}
Tensor log_softmax_int(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return normalized<true>(self, dim, dtype);
}

namespace {

template <class F>
Tensor running(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype, double start, F f) {
  return transform_rows(self, dim, sum_type(self, dtype), [&]<class T>(const T* from, T* to, int64_t length) {
    using Sum = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, double>;
    Sum sum = static_cast<Sum>(start);
    for (int64_t i = 0; i < length; ++i) {
      sum = f(sum, static_cast<Sum>(from[i]));
      to[i] = static_cast<T>(sum);
    }
  });
}

}  // namespace

Tensor cumsum(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return running(self, dim, dtype, 0.0, [](auto a, auto b) { return a + b; });
}
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return running(self, dim, dtype, 1.0, [](auto a, auto b) { return a * b; });
}

}  // namespace torch2cpp::slim::op
