// Elementwise operators with one tensor.
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include <torch2cpp/slim/apply.h>
#include <torch2cpp/slim/operators.h>

namespace torch2cpp::slim::op {
namespace {

constexpr auto kSigmoid = [](auto x) { return 1 / (1 + std::exp(-x)); };

template <class T>
T bounded(T x, T low, T high) {
  // NaN stays.
  return x < low ? low : x > high ? high : x;
}

void check_not_bool(const Tensor& self, const char* text) {
  if (impl(self).dtype == ScalarType::Bool) {
    raise_runtime_error(text);
  }
}

// A result of ints is what it was; for floats f is applied.
template <class F>
Tensor round_by(const Tensor& self, F f) {
  if (compute_type(impl(self).dtype) == Compute::Int) {
    return slim::clone(self);
  }
  return map(self, [&](auto x) { return static_cast<decltype(x)>(f(static_cast<double>(x))); });
}

// From a closed form near to it, by Halley's steps; beyond 0.5 by the rest to 1, which keeps its digits there.
double erf_inverse(double x) {
  const double size = std::abs(x);
  if (!(size < 1)) {
    return size == 1 ? std::copysign(HUGE_VAL, x) : std::numeric_limits<double>::quiet_NaN();
  }
  constexpr double a = 0.147;
  const double tail = std::log1p(-size * size), t = 2 / (std::numbers::pi * a) + tail / 2;
  double y = std::sqrt(std::sqrt(t * t - tail / a) - t);
  for (int i = 0; i < 4; ++i) {
    const double off = size > 0.5 ? (1 - size) - std::erfc(y) : std::erf(y) - size;
    const double step = off / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

template <class T>
constexpr bool is_int = std::is_same_v<T, int64_t>;

}  // namespace

#define FLOAT_FUNCTION(name, expression)                       \
  Tensor name(const Tensor& self) {                            \
    return map_float(self, [](auto x) { return expression; }); \
  }

FLOAT_FUNCTION(exp, std::exp(x))
FLOAT_FUNCTION(exp2, std::exp2(x))
FLOAT_FUNCTION(expm1, std::expm1(x))
FLOAT_FUNCTION(log, std::log(x))
FLOAT_FUNCTION(log2, std::log2(x))
FLOAT_FUNCTION(log10, std::log10(x))
FLOAT_FUNCTION(log1p, std::log1p(x))
FLOAT_FUNCTION(sqrt, std::sqrt(x))
FLOAT_FUNCTION(rsqrt, 1 / std::sqrt(x))
FLOAT_FUNCTION(reciprocal, 1 / x)
FLOAT_FUNCTION(sin, std::sin(x))
FLOAT_FUNCTION(cos, std::cos(x))
FLOAT_FUNCTION(tan, std::tan(x))
FLOAT_FUNCTION(asin, std::asin(x))
FLOAT_FUNCTION(acos, std::acos(x))
FLOAT_FUNCTION(atan, std::atan(x))
FLOAT_FUNCTION(sinh, std::sinh(x))
FLOAT_FUNCTION(cosh, std::cosh(x))
FLOAT_FUNCTION(tanh, std::tanh(x))
FLOAT_FUNCTION(erf, std::erf(x))
FLOAT_FUNCTION(erfc, std::erfc(x))
FLOAT_FUNCTION(erfinv, static_cast<decltype(x)>(erf_inverse(x)))
FLOAT_FUNCTION(asinh, std::asinh(x))
FLOAT_FUNCTION(acosh, std::acosh(x))
FLOAT_FUNCTION(atanh, std::atanh(x))
FLOAT_FUNCTION(lgamma, std::lgamma(x))
FLOAT_FUNCTION(sigmoid, kSigmoid(x))
FLOAT_FUNCTION(silu, x* kSigmoid(x))
FLOAT_FUNCTION(mish, x* std::tanh(std::log1p(std::exp(x))))
FLOAT_FUNCTION(hardswish, x* bounded<decltype(x)>(x + 3, 0, 6) / 6)
FLOAT_FUNCTION(hardsigmoid, bounded<decltype(x)>(x + 3, 0, 6) / 6)
FLOAT_FUNCTION(log_sigmoid, std::min(x, decltype(x){}) - std::log1p(std::exp(-std::abs(x))))

#undef FLOAT_FUNCTION

Tensor abs(const Tensor& self) {
  return map(self, [](auto x) { return x < 0 ? -x : x == 0 ? decltype(x){} : x; });
}
Tensor neg(const Tensor& self) {
  check_not_bool(self,
                 "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                 "use the `~` or `logical_not()` operator instead.");
  return map(self, [](auto x) { return -x; });
}
Tensor square(const Tensor& self) {
  return map(self, [](auto x) { return x * x; });
}
Tensor relu(const Tensor& self) {
  check_not_bool(self, "Boolean inputs not supported for relu");
  return map(self, [](auto x) { return x < 0 ? decltype(x){} : x; });
}
Tensor relu6(const Tensor& self) {
  return map(self, [](auto x) { return bounded<decltype(x)>(x, 0, 6); });
}
Tensor selu(const Tensor& self) {
  return elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
}
Tensor gelu(const Tensor& self, std::string_view approximate) {
  if (approximate == "tanh") {
    return map_float(self, [](auto x) {
      using T = decltype(x);
      const T inner = static_cast<T>(std::numbers::sqrt2 / std::sqrt(std::numbers::pi)) *
                      (x + static_cast<T>(0.044715) * x * x * x);
      return static_cast<T>(0.5) * x * (1 + std::tanh(inner));
    });
  }
  return map_float(self, [](auto x) {
    using T = decltype(x);
    return static_cast<T>(0.5) * x * (1 + std::erf(x * static_cast<T>(1 / std::numbers::sqrt2)));
  });
}
Tensor softplus(const Tensor& self, Number beta, Number threshold) {
  return map_float(self, [=](auto x) {
    using T = decltype(x);
    const T scaled = x * beta.as<T>();
    return scaled > threshold.as<T>() ? x : std::log1p(std::exp(scaled)) / beta.as<T>();
  });
}
Tensor leaky_relu(const Tensor& self, Number negative_slope) {
  return map(self, [=](auto x) { return x > 0 ? x : x * negative_slope.as<decltype(x)>(); });
}
Tensor elu(const Tensor& self, Number alpha, Number scale, Number input_scale) {
  return map_float(self, [=](auto x) {
    using T = decltype(x);
    return x < 0 ? std::expm1(x * input_scale.as<T>()) * (alpha.as<T>() * scale.as<T>()) : x * scale.as<T>();
  });
}
Tensor prelu(const Tensor& self, const Tensor& weight) {
  Tensor slope = weight;
  if (impl(weight).numel() != 1 && impl(self).rank() > 2) {
    std::vector<int64_t> sizes(static_cast<std::size_t>(impl(self).rank()) - 1, 1);
    sizes[0] = impl(weight).numel();
    slope = reshape(weight, sizes);
  }
  return where_self(gt_Scalar(self, 0), self, mul_Tensor(self, slope));
}
Tensor hardtanh(const Tensor& self, Number min_val, Number max_val) {
  return map(self, [=](auto x) {
    using T = decltype(x);
    return bounded<T>(x, min_val.as<T>(), max_val.as<T>());
  });
}

Tensor celu(const Tensor& self, Number alpha) { return elu(self, alpha, 1.0, 1 / alpha.as<double>()); }
Tensor threshold(const Tensor& self, Number threshold, Number value) {
  return map(self, [=](auto x) {
    using T = decltype(x);
    return x <= threshold.as<T>() ? value.as<T>() : x;
  });
}
Tensor softshrink(const Tensor& self, Number lambd) {
  return map_float(self, [=](auto x) {
    const auto edge = lambd.as<decltype(x)>();
    return x > edge ? x - edge : x < -edge ? x + edge : x != x ? x : decltype(x){};
  });
}
Tensor hardshrink(const Tensor& self, Number lambd) {
  return map_float(self, [=](auto x) {
    const auto edge = lambd.as<decltype(x)>();
    return x >= -edge && x <= edge ? decltype(x){} : x;
  });
}
Tensor glu(const Tensor& self, int64_t dim) {
  if (torch2cpp::size(self, dim) % 2 != 0) {
    raise_runtime_error("Halving dimension must be even, but dimension " + std::to_string(dim) + " is size " +
                        std::to_string(torch2cpp::size(self, dim)));
  }
  const Tensors halves = chunk(self, 2, dim);
  return mul_Tensor(halves[0], sigmoid(halves[1]));
}
Tensor sgn(const Tensor& self) { return sign(self); }
Tensor frac(const Tensor& self) { return sub_Tensor(self, trunc(self), 1); }

Tensor floor(const Tensor& self) {
  return round_by(self, [](double x) { return std::floor(x); });
}
Tensor ceil(const Tensor& self) {
  return round_by(self, [](double x) { return std::ceil(x); });
}
Tensor round(const Tensor& self) {
  return round_by(self, [](double x) { return std::nearbyint(x); });
}
Tensor trunc(const Tensor& self) {
  return round_by(self, [](double x) { return std::trunc(x); });
}
Tensor sign(const Tensor& self) {
  return map(self, [](auto x) { return static_cast<decltype(x)>((x > 0) - (x < 0)); });
}

Tensor isnan(const Tensor& self) {
  return test(self, [](auto x) { return x != x; });
}
Tensor isinf(const Tensor& self) {
  return test(self, [](auto x) {
    if constexpr (is_int<decltype(x)>) {
      return false;
    } else {
      return std::abs(x) > std::numeric_limits<decltype(x)>::max();
    }
  });
}
Tensor isfinite(const Tensor& self) {
  return test(self, [](auto x) {
    if constexpr (is_int<decltype(x)>) {
      return true;
    } else {
      return std::abs(x) <= std::numeric_limits<decltype(x)>::max();
    }
  });
}
Tensor logical_not(const Tensor& self) {
  return test(self, [](auto x) { return x == 0; });
}
Tensor bitwise_not(const Tensor& self) {
  if (impl(self).dtype == ScalarType::Bool) {
    return logical_not(self);
  }
  if (compute_type(impl(self).dtype) != Compute::Int) {
    raise_runtime_error("\"bitwise_not_cpu\" not implemented for floating point tensors");
  }
  return map(self, [](auto x) { return static_cast<decltype(x)>(~static_cast<int64_t>(x)); });
}

Tensor clamp(const Tensor& self, std::optional<Number> min, std::optional<Number> max) {
  if (!min && !max) {
    raise_runtime_error("torch.clamp: At least one of 'min' or 'max' must not be None");
  }
  ScalarType dtype = impl(self).dtype;
  for (const auto& bound : {min, max}) {
    if (bound) {
      dtype = promote(dtype, slim::result_type(self, *bound));
    }
  }
  const Tensor out = slim::empty_like(impl(self), dtype);
  with_compute(dtype, [&]<class T>(T) {
    elementwise<T, T, 1>(impl(out), {&impl(self)}, [&](T x) {
      // The upper bound wins; NaN stays.
      const T above = min && x < min->as<T>() ? min->as<T>() : x;
      return max && above > max->as<T>() ? max->as<T>() : above;
    });
  });
  return out;
}
Tensor clamp_Tensor(const Tensor& self, const OptionalTensor& min, const OptionalTensor& max) {
  Tensor out = self;
  if (min) {
    out = maximum(out, *min);
  }
  return max ? minimum(out, *max) : out;
}
Tensor clamp_min(const Tensor& self, Number min) { return clamp(self, min, std::nullopt); }
Tensor clamp_max(const Tensor& self, Number max) { return clamp(self, std::nullopt, max); }

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (compute_type(impl(self).dtype) == Compute::Int) {
    return slim::clone(self);
  }
  return map(self, [&](auto x) {
    using T = decltype(x);
    constexpr T kMost = std::numeric_limits<T>::max();
    return x != x       ? static_cast<T>(nan.value_or(0))
           : x > kMost  ? (posinf ? static_cast<T>(*posinf) : kMost)
           : x < -kMost ? (neginf ? static_cast<T>(*neginf) : -kMost)
                        : x;
  });
}
Tensor logit(const Tensor& self, std::optional<double> eps) {
  return map_float(self, [&](auto x) {
    using T = decltype(x);
    const T in = eps ? bounded<T>(x, static_cast<T>(*eps), 1 - static_cast<T>(*eps)) : x;
    return std::log(in / (1 - in));
  });
}

}  // namespace torch2cpp::slim::op
