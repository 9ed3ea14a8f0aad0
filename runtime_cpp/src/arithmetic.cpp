#include <bit>
#include <utility>

#include <torch2cpp/arithmetic.h>

namespace torch2cpp::detail {
namespace {

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
  const bool negative = (a < 0) != (b < 0);
  if (num == 0) {
    return negative ? -0.0 : 0.0;
  }
  // Both with their highest bit set, so that the quotient lies between 1/2 and 2. It is divided out to 62 bits behind
  // the point; the sticky last bit keeps a rest visible, so the one rounding to double is the right one. Step by step:
  // not every machine has integers of 128 bits.
  const int up = std::countl_zero(num), under = std::countl_zero(den);
  const uint64_t divisor = den << under;
  uint64_t rest = num << up, quotient = 0;
  bool carried = false;
  for (int bit = 0; bit < 63; ++bit) {
    quotient <<= 1;
    if (carried || rest >= divisor) {
      rest -= divisor;
      quotient |= 1;
    }
    carried = rest >> 63 != 0;
    rest <<= 1;
  }
  if (carried || rest != 0) {
    quotient |= 1;
  }
  const double out = std::ldexp(static_cast<double>(quotient), under - up - 62);
  return negative ? -out : out;
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

// Numbers modulo another one of at most 2^63, for machines without integers of 128 bits.
struct Modular {
  uint64_t size;

  uint64_t reduced(int64_t x) const {
    const uint64_t rest = detail::magnitude(x) % size;
    return x < 0 && rest != 0 ? size - rest : rest;
  }
  uint64_t sum(uint64_t x, uint64_t y) const { return (x + y) % size; }
  uint64_t difference(uint64_t x, uint64_t y) const { return x >= y ? x - y : size - (y - x); }
  uint64_t product(uint64_t x, uint64_t y) const {
    uint64_t out = 0;
    for (; y != 0; y >>= 1) {
      out = (y & 1) != 0 ? sum(out, x) : out;
      x = sum(x, x);
    }
    return out;
  }
};

}  // namespace

int64_t pow_mod(int64_t base, int64_t exponent, int64_t modulus) {
  if (modulus == 0) {
    raise_value_error("pow() 3rd argument cannot be 0");
  }
  // Between 0 and the modulus' size; Python's result then takes the modulus' sign.
  const Modular in{detail::magnitude(modulus)};
  uint64_t factor = in.reduced(base);
  if (exponent < 0) {
    // Euclid's algorithm for the inverse.
    uint64_t rest = in.size, next = factor, inverse = 0, following = in.reduced(1);
    while (next != 0) {
      const uint64_t quotient = rest / next;
      rest = std::exchange(next, rest % next);
      inverse = std::exchange(following, in.difference(inverse, in.product(following, quotient)));
    }
    if (rest != 1) {
      raise_value_error("base is not invertible for the given modulus");
    }
    factor = inverse;
  }
  uint64_t out = in.reduced(1);
  for (uint64_t left = detail::magnitude(exponent); left != 0; left >>= 1) {
    out = (left & 1) != 0 ? in.product(out, factor) : out;
    factor = in.product(factor, factor);
  }
  return static_cast<int64_t>(modulus < 0 && out != 0 ? out - in.size : out);
}

}  // namespace torch2cpp
