// Elementwise operators with two tensors or more.
#include <cmath>

#include <torch2cpp/pymath.h>
#include <torch2cpp/slim/apply.h>
#include <torch2cpp/slim/operators.h>

namespace torch2cpp::slim::op {
namespace {

// Ints wrap, as in eager, without C++'s undefined overflow.
constexpr auto kAdd = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
};
constexpr auto kMul = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
};

template <class T>
T floor_mod(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (b == 0) {
      raise_runtime_error("ZeroDivisionError");
    }
    if (b == -1) {
      return 0;
    }
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    const T rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
}

template <class T>
T floor_div(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (b == 0) {
      raise_runtime_error("ZeroDivisionError");
    }
    if (b == -1) {
      return static_cast<T>(-static_cast<uint64_t>(a));
    }
    return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  } else {
    if (b == 0) {
      return a / b;
    }
    // As Python does for floats, so that the quotient and the rest fit together.
    const T rest = std::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) {
      quotient -= 1;
    }
    if (quotient == 0) {
      return std::copysign(T{0}, a / b);
    }
    const T whole = std::floor(quotient);
    return quotient - whole > static_cast<T>(0.5) ? whole + 1 : whole;
  }
}

template <class T>
T trunc_div(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (b == 0) {
      raise_runtime_error("ZeroDivisionError");
    }
    return b == -1 ? static_cast<T>(-static_cast<uint64_t>(a)) : a / b;
  } else {
    return std::trunc(a / b);
  }
}

template <class T>
T power(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (b < 0) {
      return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
    }
    uint64_t out = 1, base = static_cast<uint64_t>(a);
    for (; b != 0; b >>= 1) {
      out = (b & 1) != 0 ? out * base : out;
      base *= base;
    }
    return static_cast<T>(out);
  } else {
    return b == 2 ? a * a : std::pow(a, b);
  }
}

constexpr auto kMax = [](auto a, auto b) { return a != a || a > b ? a : b; };
constexpr auto kMin = [](auto a, auto b) { return a != a || a < b ? a : b; };

void check_subtraction(const Tensor& self, const Tensor& other) {
  const bool a = impl(self).dtype == ScalarType::Bool, b = impl(other).dtype == ScalarType::Bool;
  if (a && b) {
    raise_runtime_error(
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
        "operator instead.");
  }
  if (a || b) {
    raise_runtime_error(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
        "the `~` or `logical_not()` operator instead.");
  }
}

auto scaled_add(Number alpha, bool subtract) {
  return [=](auto a, auto b) {
    using T = decltype(a);
    const T factor = subtract ? kMul(T{-1}, alpha.as<T>()) : alpha.as<T>();
    return kAdd(a, factor == 1 ? b : kMul(factor, b));
  };
}

template <class F>
Tensor bitwise(const Tensor& self, const Tensor& other, F f) {
  if (compute_type(result_type({&impl(self), &impl(other)})) != Compute::Int) {
    raise_runtime_error("bitwise operations are not implemented for floating point tensors");
  }
  return combine(self, other, [&](auto a, auto b) { return f(static_cast<int64_t>(a), static_cast<int64_t>(b)); });
}

template <class F>
Tensor logical(const Tensor& self, const Tensor& other, F f) {
  const Tensor out = result_for({&impl(self), &impl(other)}, ScalarType::Bool);
  elementwise<bool, bool, 2>(impl(out), {&impl(self), &impl(other)}, f);
  return out;
}

}  // namespace

Tensor add_Tensor(const Tensor& self, const Tensor& other, Number alpha) {
  return combine(self, other, scaled_add(alpha, false));
}
Tensor sub_Tensor(const Tensor& self, const Tensor& other, Number alpha) {
  check_subtraction(self, other);
  return combine(self, other, scaled_add(alpha, true));
}
Tensor rsub_Tensor(const Tensor& self, const Tensor& other, Number alpha) { return sub_Tensor(other, self, alpha); }
Tensor mul_Tensor(const Tensor& self, const Tensor& other) { return combine(self, other, kMul); }
Tensor div_Tensor(const Tensor& self, const Tensor& other) {
  return combine_float(self, other, [](auto a, auto b) { return a / b; });
}
Tensor div_Tensor_mode(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) {
    return div_Tensor(self, other);
  }
  if (*rounding_mode == "floor") {
    return floor_divide(self, other);
  }
  return combine(self, other, []<class T>(T a, T b) { return trunc_div(a, b); });
}
Tensor floor_divide(const Tensor& self, const Tensor& other) {
  return combine(self, other, []<class T>(T a, T b) { return floor_div(a, b); });
}
Tensor remainder_Tensor(const Tensor& self, const Tensor& other) {
  return combine(self, other, []<class T>(T a, T b) { return floor_mod(a, b); });
}
Tensor fmod_Tensor(const Tensor& self, const Tensor& other) {
  return combine(self, other, []<class T>(T a, T b) -> T {
    if constexpr (std::is_same_v<T, int64_t>) {
      if (b == 0) {
        raise_runtime_error("ZeroDivisionError");
      }
      return b == -1 ? 0 : a % b;
    } else {
      return std::fmod(a, b);
    }
  });
}
Tensor pow_Tensor_Tensor(const Tensor& self, const Tensor& exponent) {
  return combine(self, exponent, []<class T>(T a, T b) { return power(a, b); });
}
Tensor pow_Tensor_Scalar(const Tensor& self, Number exponent) {
  if (!exponent.is_float() && exponent.as<int64_t>() < 0 && compute_type(impl(self).dtype) == Compute::Int) {
    raise_runtime_error("Integers to negative integer powers are not allowed.");
  }
  return pow_Tensor_Tensor(self, number(exponent));
}
Tensor pow_Scalar(Number self, const Tensor& exponent) { return pow_Tensor_Tensor(number(self), exponent); }
Tensor atan2(const Tensor& self, const Tensor& other) {
  return combine_float(self, other, [](auto a, auto b) { return std::atan2(a, b); });
}
Tensor hypot(const Tensor& self, const Tensor& other) {
  return combine(self, other, []<class T>(T a, T b) -> T {
    return static_cast<T>(std::hypot(static_cast<double>(a), static_cast<double>(b)));
  });
}
Tensor logaddexp(const Tensor& self, const Tensor& other) {
  return combine_float(self, other, []<class T>(T a, T b) -> T {
    return std::isinf(a) && a == b ? a : std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
  });
}
Tensor xlogy_Tensor(const Tensor& self, const Tensor& other) {
  return combine_float(self, other, []<class T>(T a, T b) -> T { return b != b ? b : a == 0 ? T{} : a * std::log(b); });
}
Tensor copysign_Tensor(const Tensor& self, const Tensor& other) {
  return combine_float(self, other, [](auto a, auto b) { return std::copysign(a, b); });
}
Tensor fmax(const Tensor& self, const Tensor& other) {
  return combine(self, other, [](auto a, auto b) { return a != a || b > a ? b : a; });
}
Tensor fmin(const Tensor& self, const Tensor& other) {
  return combine(self, other, [](auto a, auto b) { return a != a || b < a ? b : a; });
}
Tensor maximum(const Tensor& self, const Tensor& other) { return combine(self, other, kMax); }
Tensor minimum(const Tensor& self, const Tensor& other) { return combine(self, other, kMin); }
Tensor max_other(const Tensor& self, const Tensor& other) { return maximum(self, other); }
Tensor min_other(const Tensor& self, const Tensor& other) { return minimum(self, other); }

#define COMPARISON(name, sign)                                            \
  Tensor name##_Tensor(const Tensor& self, const Tensor& other) {         \
    return compare(self, other, [](auto a, auto b) { return a sign b; }); \
  }                                                                       \
  Tensor name##_Scalar(const Tensor& self, Number other) { return name##_Tensor(self, number(other)); }
COMPARISON(eq, ==)
COMPARISON(ne, !=)
COMPARISON(lt, <)
COMPARISON(le, <=)
COMPARISON(gt, >)
COMPARISON(ge, >=)
#undef COMPARISON

Tensor logical_and(const Tensor& self, const Tensor& other) {
  return logical(self, other, [](bool a, bool b) { return a && b; });
}
Tensor logical_or(const Tensor& self, const Tensor& other) {
  return logical(self, other, [](bool a, bool b) { return a || b; });
}
Tensor logical_xor(const Tensor& self, const Tensor& other) {
  return logical(self, other, [](bool a, bool b) { return a != b; });
}
Tensor bitwise_and_Tensor(const Tensor& self, const Tensor& other) {
  return bitwise(self, other, [](int64_t a, int64_t b) { return a & b; });
}
Tensor bitwise_or_Tensor(const Tensor& self, const Tensor& other) {
  return bitwise(self, other, [](int64_t a, int64_t b) { return a | b; });
}
Tensor bitwise_xor_Tensor(const Tensor& self, const Tensor& other) {
  return bitwise(self, other, [](int64_t a, int64_t b) { return a ^ b; });
}

// A number in the place of the second tensor.
#define WITH_NUMBER(name) \
  Tensor name##_Scalar(const Tensor& self, Number other) { return name##_Tensor(self, number(other)); }
WITH_NUMBER(mul)
WITH_NUMBER(div)
WITH_NUMBER(remainder)
WITH_NUMBER(fmod)
WITH_NUMBER(bitwise_and)
WITH_NUMBER(bitwise_or)
WITH_NUMBER(bitwise_xor)
#undef WITH_NUMBER
Tensor add_Scalar(const Tensor& self, Number other, Number alpha) { return add_Tensor(self, number(other), alpha); }
Tensor sub_Scalar(const Tensor& self, Number other, Number alpha) { return sub_Tensor(self, number(other), alpha); }
Tensor rsub_Scalar(const Tensor& self, Number other, Number alpha) { return sub_Tensor(number(other), self, alpha); }
Tensor floor_divide_Scalar(const Tensor& self, Number other) { return floor_divide(self, number(other)); }
Tensor div_Scalar_mode(const Tensor& self, Number other, std::optional<std::string_view> rounding_mode) {
  return div_Tensor_mode(self, number(other), rounding_mode);
}

Tensor where_self(const Tensor& condition, const Tensor& self, const Tensor& other) {
  const ScalarType dtype = result_type({&impl(self), &impl(other)});
  const Tensor out = empty(broadcast({&impl(condition), &impl(self), &impl(other)}).sizes(), dtype);
  with_compute(dtype, [&]<class T>(T) {
    elementwise<T, T, 3>(impl(out), {&impl(condition), &impl(self), &impl(other)},
                         [](T c, T a, T b) { return c != 0 ? a : b; });
  });
  return out;
}
Tensor where_ScalarSelf(const Tensor& condition, Number self, const Tensor& other) {
  return where_self(condition, number(self), other);
}
Tensor where_ScalarOther(const Tensor& condition, const Tensor& self, Number other) {
  return where_self(condition, self, number(other));
}
Tensor where_Scalar(const Tensor& condition, Number self, Number other) {
  return where_self(condition, number(self), number(other));
}

Tensor masked_fill_in_place_Tensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  if (impl(mask).dtype != ScalarType::Bool) {
    raise_runtime_error("masked_fill_ only supports boolean masks, but got mask with dtype " +
                        std::string(dtype_name(impl(mask).dtype)));
  }
  check_expandable(impl(mask).sizes(), impl(self).sizes());
  with_compute(impl(self).dtype, [&]<class T>(T) {
    elementwise<T, T, 3>(impl(self), {&impl(self), &impl(mask), &impl(value)},
                         [](T old, T masked, T fresh) { return masked != 0 ? fresh : old; });
  });
  return self;
}
Tensor masked_fill_in_place_Scalar(const Tensor& self, const Tensor& mask, Number value) {
  return masked_fill_in_place_Tensor(self, mask, number(value));
}
Tensor masked_fill_Tensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  const Tensor out = empty(broadcast({&impl(self), &impl(mask)}).sizes(), impl(self).dtype);
  slim::copy(impl(out), impl(self));
  return masked_fill_in_place_Tensor(out, mask, value);
}
Tensor masked_fill_Scalar(const Tensor& self, const Tensor& mask, Number value) {
  return masked_fill_Tensor(self, mask, number(value));
}

Tensor lerp_Tensor(const Tensor& self, const Tensor& end, const Tensor& weight) {
  const ScalarType dtype = impl(self).dtype;
  const Tensor out = empty(broadcast({&impl(self), &impl(end), &impl(weight)}).sizes(), dtype);
  with_compute(dtype, [&]<class T>(T) {
    elementwise<T, T, 3>(impl(out), {&impl(self), &impl(end), &impl(weight)}, [](T a, T b, T w) {
      return static_cast<T>(w < static_cast<T>(0.5) ? a + w * (b - a) : b - (b - a) * (1 - w));
    });
  });
  return out;
}
Tensor lerp_Scalar(const Tensor& self, const Tensor& end, Number weight) {
  return lerp_Tensor(self, end, number(weight));
}
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Number value) {
  return add_Tensor(self, mul_Tensor(tensor1, tensor2), value);
}

}  // namespace torch2cpp::slim::op
