#include <bit>
#include <utility>

#include <torch2cpp/arithmetic.h>

namespace torch2cpp::detail {
namespace {

__extension__ using uint128 = unsigned __int128;

uint64_t magnitude(int64_t x) { return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x); }

bool is_odd_integer(double x) { return std::fmod(std::fabs(x), 2.0) == 1.0; }

}  // namespace

double int_truediv(int64_t a, int64_t b) {
  if (b == 0) {
    raise_zero_division("division by zero");
  }
  constexpr uint64_t kExact = uint64_t{1} << 53;
  const uint64_t num = magnitude(a), den = magnitude(b);
  if (num <= kExact && den <= kExact) {
    return static_cast<double>(a) / static_cast<double>(b);
  }
  // Scale the numerator so that the integer quotient has at least 55 bits; the sticky last bit keeps a rest visible,
  // so the one rounding to double is the right one.
  const int shift = 63 + std::countl_zero(num);
  const uint128 scaled = static_cast<uint128>(num) << shift;
  auto quotient = scaled / den;
  int exponent = -shift;
  while (quotient >> 62 != 0) {
    quotient = (quotient >> 1) | (quotient & 1);
    ++exponent;
  }
  uint64_t bits = static_cast<uint64_t>(quotient);
  if (scaled % den != 0) {
    bits |= 1;
  }
  const double out = std::ldexp(static_cast<double>(bits), exponent);
  return (a < 0) != (b < 0) ? -out : out;
}

double float_floordiv(double a, double b) {
  if (b == 0.0) {
    raise_zero_division("float floor division by zero");
  }
  double rest = std::fmod(a, b);
  // a - rest is a multiple of b up to rounding, so the division is exact or very nearly so.
  double quotient = (a - rest) / b;
  if (rest != 0.0 && (b < 0) != (rest < 0)) {
    quotient -= 1.0;
  }
  if (quotient == 0.0) {
    return std::copysign(0.0, a / b);
  }
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1.0 : floored;
}

double float_mod(double a, double b) {
  if (b == 0.0) {
    raise_zero_division("float modulo");
  }
  const double rest = std::fmod(a, b);
  if (rest == 0.0) {
    return std::copysign(0.0, b);
  }
  return (b < 0) != (rest < 0) ? rest + b : rest;
}

int64_t int_pow(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    raise_not_implemented("int ** negative int as an int: Python gives a float");
  }
  if (base == 0 || base == 1 || base == -1) {
    return exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? 1 : base;
  }
  int64_t out = 1;
  while (true) {
    if ((exponent & 1) != 0) {
      out = int_mul(out, base);
    }
    exponent >>= 1;
    if (exponent == 0) {
      return out;
    }
    base = int_mul(base, base);
  }
}

double float_pow(double base, double exponent) {
  if (base == 0.0 && exponent < 0.0 && std::isfinite(exponent)) {
    raise_zero_division("0.0 cannot be raised to a negative power");
  }
  const bool finite = std::isfinite(base) && std::isfinite(exponent);
  if (finite && base < 0.0 && exponent != std::floor(exponent)) {
    raise_not_implemented("a negative float to a fractional power: Python gives a complex number");
  }
  // C's special values are Python's; only the sign is computed apart, so that pow sees a positive base.
  const bool negate = finite && base < 0.0 && is_odd_integer(exponent);
  const double out = std::pow(finite ? std::fabs(base) : base, exponent);
  if (finite && std::isinf(out)) {
    raise_overflow("(34, 'Numerical result out of range')");
  }
  return negate || (base == 0.0 && std::signbit(base) && is_odd_integer(exponent)) ? -out : out;
}

}  // namespace torch2cpp::detail

namespace torch2cpp {
namespace {

__extension__ using int128 = __int128;

}  // namespace

int64_t pow_mod(int64_t base, int64_t exponent, int64_t modulus) {
  if (modulus == 0) {
    raise_value_error("pow() 3rd argument cannot be 0");
  }
  // Between 0 and the modulus' size; Python's result then takes the modulus' sign.
  using Wide = int128;
  const Wide size = modulus < 0 ? -static_cast<Wide>(modulus) : static_cast<Wide>(modulus);
  const auto reduced = [size](Wide x) { return ((x % size) + size) % size; };
  Wide factor = reduced(base);
  if (exponent < 0) {
    // Euclid's algorithm for the inverse.
    Wide rest = size, next = factor, inverse = 0, following = 1;
    while (next != 0) {
      const Wide quotient = rest / next;
      rest = std::exchange(next, rest - quotient * next);
      inverse = std::exchange(following, inverse - quotient * following);
    }
    if (rest != 1) {
      raise_value_error("base is not invertible for the given modulus");
    }
    factor = reduced(inverse);
  }
  // Without overflow for the smallest int.
  uint64_t left = exponent < 0 ? -static_cast<uint64_t>(exponent) : static_cast<uint64_t>(exponent);
  Wide out = reduced(1);
  for (; left != 0; left >>= 1) {
    out = (left & 1) != 0 ? out * factor % size : out;
    factor = factor * factor % size;
  }
  return static_cast<int64_t>(modulus < 0 && out != 0 ? out - size : out);
}

}  // namespace torch2cpp
