// Python's arithmetic on ints, floats and bools: ints that leave 64 bits raise, they never wrap.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <torch2cpp/errors.h>
#include <torch2cpp/protocols.h>

namespace torch2cpp {
namespace detail {

int64_t int_pow(int64_t base, int64_t exponent);
double float_pow(double base, double exponent);
double int_truediv(int64_t a, int64_t b);
double float_floordiv(double a, double b);
double float_mod(double a, double b);

inline int64_t int_add(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) {
    raise_int_overflow();
  }
  return out;
}

inline int64_t int_sub(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_sub_overflow(a, b, &out)) {
    raise_int_overflow();
  }
  return out;
}

inline int64_t int_mul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) {
    raise_int_overflow();
  }
  return out;
}

// Rounds towards minus infinity.
inline int64_t int_floordiv(int64_t a, int64_t b) {
  if (b == 0) {
    raise_zero_division("integer division or modulo by zero");
  }
  if (b == -1) {
    return int_sub(0, a);
  }
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The sign of the divisor.
inline int64_t int_mod(int64_t a, int64_t b) {
  if (b == 0) {
    raise_zero_division("integer modulo by zero");
  }
  if (b == -1) {
    return 0;
  }
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace detail

template <Integer A, Integer B>
int64_t add(A a, B b) {
  return detail::int_add(a, b);
}
template <Number A, Number B>
double add(A a, B b) {
  return static_cast<double>(a) + static_cast<double>(b);
}
template <Integer A, Integer B>
int64_t sub(A a, B b) {
  return detail::int_sub(a, b);
}
template <Number A, Number B>
double sub(A a, B b) {
  return static_cast<double>(a) - static_cast<double>(b);
}
template <Integer A, Integer B>
int64_t mul(A a, B b) {
  return detail::int_mul(a, b);
}
template <Number A, Number B>
double mul(A a, B b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

// int / int is the correctly rounded quotient, also beyond 53 bits.
template <Integer A, Integer B>
double truediv(A a, B b) {
  return detail::int_truediv(a, b);
}
template <Number A, Number B>
double truediv(A a, B b) {
  const auto divisor = static_cast<double>(b);
  if (divisor == 0.0) {
    raise_zero_division("float division by zero");
  }
  return static_cast<double>(a) / divisor;
}
template <Integer A, Integer B>
int64_t floordiv(A a, B b) {
  return detail::int_floordiv(a, b);
}
template <Number A, Number B>
double floordiv(A a, B b) {
  return detail::float_floordiv(static_cast<double>(a), static_cast<double>(b));
}
template <Integer A, Integer B>
int64_t mod(A a, B b) {
  return detail::int_mod(a, b);
}
template <Number A, Number B>
double mod(A a, B b) {
  return detail::float_mod(static_cast<double>(a), static_cast<double>(b));
}

// An int to a negative int power is a float in Python: the caller passes floats then.
template <Integer A, Integer B>
int64_t pow(A a, B b) {
  return detail::int_pow(a, b);
}
template <Number A, Number B>
double pow(A a, B b) {
  return detail::float_pow(static_cast<double>(a), static_cast<double>(b));
}

// pow(base, exponent, modulus) of ints, also where the products leave 64 bits.
int64_t pow_mod(int64_t base, int64_t exponent, int64_t modulus);

template <Integer A>
int64_t neg(A a) {
  return detail::int_sub(0, a);
}
template <Real A>
double neg(A a) {
  return -static_cast<double>(a);
}
template <Integer A>
int64_t abs(A a) {
  return static_cast<int64_t>(a) < 0 ? detail::int_sub(0, a) : static_cast<int64_t>(a);
}
template <Real A>
double abs(A a) {
  return std::fabs(static_cast<double>(a));
}
template <Integer A>
int64_t invert(A a) {
  return ~static_cast<int64_t>(a);
}

inline int64_t lshift(int64_t a, int64_t count) {
  if (count < 0) {
    raise_value_error("negative shift count");
  }
  if (a == 0) {
    return 0;
  }
  if (count >= 63) {
    if (a == -1 && count == 63) {
      return std::numeric_limits<int64_t>::min();
    }
    raise_int_overflow();
  }
  return detail::int_mul(a, int64_t{1} << count);
}

inline int64_t rshift(int64_t a, int64_t count) {
  if (count < 0) {
    raise_value_error("negative shift count");
  }
  return a >> (count > 63 ? 63 : count);
}

}  // namespace torch2cpp
