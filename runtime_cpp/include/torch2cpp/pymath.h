// math.*: the same values and the same errors as Python's module.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>

#include <torch2cpp/arithmetic.h>
#include <torch2cpp/convert.h>
#include <torch2cpp/protocols.h>

namespace torch2cpp::math {

double sqrt(double x);
double exp(double x);
double log(double x);
double log(double x, double base);
double log2(double x);
double log10(double x);
double log1p(double x);
double expm1(double x);
double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double sinh(double x);
double cosh(double x);
double tanh(double x);
double asinh(double x);
double acosh(double x);
double atanh(double x);
double fabs(double x);
double radians(double x);
double degrees(double x);
double erf(double x);
double erfc(double x);
double gamma(double x);
double lgamma(double x);
double atan2(double y, double x);
double hypot(double x, double y);
double fmod(double x, double y);
double pow(double x, double y);
double copysign(double x, double y);

template <Integer T>
int64_t ceil(T x) {
  return static_cast<int64_t>(x);
}
template <Integer T>
int64_t floor(T x) {
  return static_cast<int64_t>(x);
}
template <Integer T>
int64_t trunc(T x) {
  return static_cast<int64_t>(x);
}
inline int64_t ceil(double x) { return to_int(std::ceil(x)); }
inline int64_t floor(double x) { return to_int(std::floor(x)); }
inline int64_t trunc(double x) { return to_int(x); }

template <Number T>
bool isnan(T x) {
  return std::isnan(static_cast<double>(x));
}
template <Number T>
bool isinf(T x) {
  return std::isinf(static_cast<double>(x));
}
template <Number T>
bool isfinite(T x) {
  return std::isfinite(static_cast<double>(x));
}

int64_t gcd(int64_t a, int64_t b);
int64_t lcm(int64_t a, int64_t b);
inline int64_t gcd() { return 0; }
inline int64_t gcd(int64_t a) { return torch2cpp::abs(a); }
inline int64_t lcm() { return 1; }
inline int64_t lcm(int64_t a) { return torch2cpp::abs(a); }
template <Integer... More>
int64_t gcd(int64_t a, int64_t b, int64_t c, More... more) {
  return gcd(gcd(a, b), c, static_cast<int64_t>(more)...);
}
template <Integer... More>
int64_t lcm(int64_t a, int64_t b, int64_t c, More... more) {
  return lcm(lcm(a, b), c, static_cast<int64_t>(more)...);
}
int64_t factorial(int64_t n);
int64_t isqrt(int64_t n);
int64_t comb(int64_t n, int64_t k);
int64_t perm(int64_t n, int64_t k);
inline int64_t perm(int64_t n) { return factorial(n); }
double cbrt(double x);
double exp2(double x);
double remainder(double x, double y);
double ldexp(double x, int64_t exponent);

}  // namespace torch2cpp::math
