#include <algorithm>
#include <array>
#include <limits>
#include <numbers>

#include <torch2cpp/errors.h>
#include <torch2cpp/pymath.h>

namespace torch2cpp::math {
namespace {

constexpr double kPi = std::numbers::pi;

[[noreturn]] void domain_error() { raise_value_error("math domain error"); }
[[noreturn]] void range_error() { raise_overflow("math range error"); }

// What Python makes of a C function's special results: NaN out of a number is a domain error, infinity out of a
// finite number an overflow, or a pole for functions that cannot overflow.
double checked(double x, double out, bool can_overflow = false) {
  if (std::isnan(out) && !std::isnan(x)) {
    domain_error();
  }
  if (std::isinf(out) && std::isfinite(x)) {
    if (can_overflow) {
      range_error();
    }
    domain_error();
  }
  return out;
}

// sin(pi x), the argument reduced exactly.
double sin_pi(double x) {
  const double rest = std::fmod(std::fabs(x), 2.0);
  double out = 0.0;
  switch (static_cast<int>(std::round(2.0 * rest))) {
    case 0:
      out = std::sin(kPi * rest);
      break;
    case 1:
      out = std::cos(kPi * (rest - 0.5));
      break;
    case 2:
      out = std::sin(kPi * (1.0 - rest));
      break;
    case 3:
      out = -std::cos(kPi * (rest - 1.5));
      break;
    default:
      out = std::sin(kPi * (rest - 2.0));
  }
  return std::copysign(1.0, x) * out;
}

// Lanczos' approximation with N = 13, g = 6.0246800407767296, as a quotient of polynomials: Python's own gamma.
constexpr double kLanczosG = 6.024680040776729583740234375;
constexpr double kLanczosGMinusHalf = 5.524680040776729583740234375;
constexpr std::array<double, 13> kNumerator{
    23531376880.410759688572007674451636754734846804940, 42919803642.649098768957899047001988850926355848959,
    35711959237.355668049440185451547166705960488635843, 17921034426.037209699919755754458931112671403265390,
    6039542586.3520280050642916443072979210699388420708, 1439720407.3117216736632230727949123939715485786372,
    248874557.86205415651146038641322942321632125127801, 31426415.585400194380614231628318205362874684987640,
    2876370.6289353724412254090516208496135991145378768, 186056.26539522349504029498971604569928220784236328,
    8071.6720023658162106380029022722506138218516325024, 210.82427775157934587250973392071336271166969580291,
    2.5066282746310002701649081771338373386264310793408};
constexpr std::array<double, 13> kDenominator{0.0,        39916800.0, 120543840.0, 150917976.0, 105258076.0,
                                              45995730.0, 13339535.0, 2637558.0,   357423.0,    32670.0,
                                              1925.0,     66.0,       1.0};

double lanczos_sum(double x) {
  double num = 0.0, den = 0.0;
  // From the end that keeps the powers small.
  if (x < 5.0) {
    for (std::size_t i = kNumerator.size(); i-- > 0;) {
      num = num * x + kNumerator[i];
      den = den * x + kDenominator[i];
    }
  } else {
    for (std::size_t i = 0; i < kNumerator.size(); ++i) {
      num = num / x + kNumerator[i];
      den = den / x + kDenominator[i];
    }
  }
  return num / den;
}

double gamma_of_finite(double x) {
  constexpr double kOverflow = 200.0, kTiny = 1e-20;
  const double size = std::fabs(x);
  if (size < kTiny) {
    return checked(x, 1.0 / x, true);
  }
  if (size > kOverflow) {
    if (x < 0.0) {
      return 0.0 / sin_pi(x);
    }
    range_error();
  }
  const double y = size + kLanczosGMinusHalf;
  // The rounding error of y, which the power below would magnify.
  const double error = size > kLanczosGMinusHalf ? (y - size) - kLanczosGMinusHalf : (y - kLanczosGMinusHalf) - size;
  double z = error * kLanczosG / y;
  double out = 0.0;
  const bool split = size >= 140.0;
  if (x < 0.0) {
    out = -kPi / sin_pi(size) / size * std::exp(y) / lanczos_sum(size);
    out -= z * out;
    const double power = std::pow(y, split ? size / 2.0 - 0.25 : size - 0.5);
    out /= power;
    if (split) {
      out /= power;
    }
  } else {
    out = lanczos_sum(size) / std::exp(y);
    out += z * out;
    const double power = std::pow(y, split ? size / 2.0 - 0.25 : size - 0.5);
    out *= power;
    if (split) {
      out *= power;
    }
  }
  return checked(x, out, true);
}

}  // namespace

double sqrt(double x) { return checked(x, std::sqrt(x)); }
double exp(double x) { return checked(x, std::exp(x), true); }
double log(double x) {
  if (x <= 0.0) {
    domain_error();
  }
  return std::log(x);
}
double log(double x, double base) { return truediv(log(x), log(base)); }
double log2(double x) {
  if (x <= 0.0) {
    domain_error();
  }
  return std::log2(x);
}
double log10(double x) {
  if (x <= 0.0) {
    domain_error();
  }
  return std::log10(x);
}
double log1p(double x) { return x == 0.0 ? x : checked(x, std::log1p(x)); }
double expm1(double x) { return checked(x, std::expm1(x), true); }
double cbrt(double x) { return std::cbrt(x); }
double exp2(double x) { return checked(x, std::exp2(x), true); }
double sin(double x) { return checked(x, std::sin(x)); }
double cos(double x) { return checked(x, std::cos(x)); }
double tan(double x) { return checked(x, std::tan(x)); }
double asin(double x) { return checked(x, std::asin(x)); }
double acos(double x) { return checked(x, std::acos(x)); }
double atan(double x) { return std::atan(x); }
double sinh(double x) { return checked(x, std::sinh(x), true); }
double cosh(double x) { return checked(x, std::cosh(x), true); }
double tanh(double x) { return std::tanh(x); }
double asinh(double x) { return std::asinh(x); }
double acosh(double x) { return checked(x, std::acosh(x)); }
double atanh(double x) { return checked(x, std::atanh(x)); }
double fabs(double x) { return std::fabs(x); }
double radians(double x) { return x * (kPi / 180.0); }
double degrees(double x) { return x * (180.0 / kPi); }
double erf(double x) { return std::erf(x); }
double erfc(double x) { return std::erfc(x); }
double atan2(double y, double x) { return std::atan2(y, x); }
double copysign(double x, double y) { return std::copysign(x, y); }

double gamma(double x) {
  if (!std::isfinite(x)) {
    if (x < 0.0) {
      domain_error();
    }
    return x;
  }
  if (x == 0.0) {
    domain_error();
  }
  if (x == std::floor(x)) {
    if (x < 0.0) {
      domain_error();
    }
    // Exact up to 22!, the last factorial a double holds.
    if (x <= 23.0) {
      double out = 1.0;
      for (double i = 2.0; i < x; i += 1.0) {
        out *= i;
      }
      return out;
    }
  }
  return gamma_of_finite(x);
}

double lgamma(double x) {
  if (!std::isfinite(x)) {
    return std::isnan(x) ? x : std::numeric_limits<double>::infinity();
  }
  if (x == std::floor(x) && x <= 2.0) {
    if (x <= 0.0) {
      domain_error();
    }
    return 0.0;
  }
  const double size = std::fabs(x);
  if (size < 1e-20) {
    return -std::log(size);
  }
  double out = std::log(lanczos_sum(size)) - kLanczosG;
  out += (size - 0.5) * (std::log(size + kLanczosG - 0.5) - 1.0);
  if (x < 0.0) {
    // Reflection.
    out = std::log(kPi) - std::log(std::fabs(sin_pi(size))) - std::log(size) - out;
  }
  return checked(x, out, true);
}

double hypot(double x, double y) {
  const double a = std::fabs(x), b = std::fabs(y);
  const double most = a > b ? a : b;
  if (std::isinf(a) || std::isinf(b)) {
    return std::numeric_limits<double>::infinity();
  }
  if (std::isnan(a) || std::isnan(b)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (most == 0.0) {
    return 0.0;
  }
  // Scaled by a power of two, so the squares neither overflow nor lose bits; one Newton step on the exact residue of
  // the root leaves an error of barely more than half a unit in the last place.
  int exponent = 0;
  std::frexp(most, &exponent);
  const double u = std::ldexp(a, -exponent), v = std::ldexp(b, -exponent);
  const double uu = u * u, vv = v * v;
  const double uu_low = std::fma(u, u, -uu), vv_low = std::fma(v, v, -vv);
  const double sum = uu + vv;
  const double big = uu > vv ? uu : vv, small = uu > vv ? vv : uu;
  const double sum_low = (big - sum) + small;
  const double root = std::sqrt(sum);
  const double residue = std::fma(-root, root, sum) + (sum_low + (uu_low + vv_low));
  return checked(most, std::ldexp(root + residue / (2.0 * root), exponent), true);
}

double fmod(double x, double y) {
  if (std::isinf(y) && std::isfinite(x)) {
    return x;
  }
  const double out = std::fmod(x, y);
  if (std::isnan(out) && !std::isnan(x) && !std::isnan(y)) {
    domain_error();
  }
  return out;
}

double remainder(double x, double y) {
  const double out = std::remainder(x, y);
  if (std::isnan(out) && !std::isnan(x) && !std::isnan(y)) {
    domain_error();
  }
  return out;
}

double ldexp(double x, int64_t exponent) {
  // Beyond this, every finite number overflows or vanishes.
  constexpr int64_t kFar = 5000;
  return checked(x, std::ldexp(x, static_cast<int>(std::clamp(exponent, -kFar, kFar))), true);
}

double pow(double x, double y) {
  const double out = std::pow(x, y);
  if (std::isfinite(x) && std::isfinite(y)) {
    if (std::isnan(out)) {
      domain_error();
    }
    if (std::isinf(out)) {
      if (x == 0.0) {
        domain_error();
      }
      range_error();
    }
  }
  return out;
}

namespace {

uint64_t magnitude(int64_t x) { return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x); }

int64_t as_int(uint64_t x) {
  if (x > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    raise_int_overflow();
  }
  return static_cast<int64_t>(x);
}

void check_choice(int64_t n, int64_t k) {
  if (n < 0) {
    raise_value_error("n must be a non-negative integer");
  }
  if (k < 0) {
    raise_value_error("k must be a non-negative integer");
  }
}

}  // namespace

int64_t gcd(int64_t a, int64_t b) { return as_int(std::gcd(magnitude(a), magnitude(b))); }

int64_t lcm(int64_t a, int64_t b) {
  if (a == 0 || b == 0) {
    return 0;
  }
  const uint64_t first = magnitude(a) / std::gcd(magnitude(a), magnitude(b));
  uint64_t out = 0;
  if (__builtin_mul_overflow(first, magnitude(b), &out)) {
    raise_int_overflow();
  }
  return as_int(out);
}

int64_t factorial(int64_t n) {
  if (n < 0) {
    raise_value_error("factorial() not defined for negative values");
  }
  int64_t out = 1;
  for (int64_t i = 2; i <= n; ++i) {
    out = detail::int_mul(out, i);
  }
  return out;
}

int64_t isqrt(int64_t n) {
  if (n < 0) {
    raise_value_error("isqrt() argument must be nonnegative");
  }
  auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  constexpr int64_t kLargest = 3037000499;  // of a square below 2^63
  root = root > kLargest ? kLargest : root;
  while (root * root > n) {
    --root;
  }
  while (root < kLargest && (root + 1) * (root + 1) <= n) {
    ++root;
  }
  return root;
}

int64_t comb(int64_t n, int64_t k) {
  check_choice(n, k);
  if (k > n) {
    return 0;
  }
  k = k > n - k ? n - k : k;
  int64_t out = 1;
  for (int64_t i = 1; i <= k; ++i) {
    // out * (n - k + i) / i is whole; dividing by common factors first keeps the product small.
    const int64_t factor = n - k + i, common = std::gcd(out, i), rest = i / common;
    out = detail::int_mul(out / common, factor / rest);
  }
  return out;
}

int64_t perm(int64_t n, int64_t k) {
  check_choice(n, k);
  if (k > n) {
    return 0;
  }
  int64_t out = 1;
  for (int64_t i = 0; i < k; ++i) {
    out = detail::int_mul(out, n - i);
  }
  return out;
}

}  // namespace torch2cpp::math
