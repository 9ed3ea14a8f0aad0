// int(x), float(x), bool(x), round(x) and the text of numbers, as Python gives them.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <torch2cpp/protocols.h>

namespace torch2cpp {

// int(x): truncates; NaN, infinity, and floats beyond 64 bits raise.
int64_t to_int(double x);
// int("12"): decimal, with sign, underscores and white space around.
int64_t to_int(std::string_view text);
template <Integer T>
int64_t to_int(T x) {
  return static_cast<int64_t>(x);
}
inline int64_t to_int(const std::string& text) { return to_int(std::string_view{text}); }
inline int64_t to_int(const char* text) { return to_int(std::string_view{text}); }

double to_float(std::string_view text);
template <Number T>
double to_float(T x) {
  return static_cast<double>(x);
}
inline double to_float(const std::string& text) { return to_float(std::string_view{text}); }
inline double to_float(const char* text) { return to_float(std::string_view{text}); }

// round(x): to the nearest, halves to even.
int64_t round(double x);
// round(x, digits): correctly rounded in decimal, also for negative digits.
double round(double x, int64_t digits);
int64_t round_int(int64_t x, int64_t digits);
template <Integer T>
int64_t round(T x) {
  return static_cast<int64_t>(x);
}
template <Integer T>
int64_t round(T x, int64_t digits) {
  return round_int(static_cast<int64_t>(x), digits);
}

// The shortest digits that read back as the same float, in Python's layout: "0.1", "1e+16", "nan".
std::string float_repr(double x);
std::string complex_repr(std::complex<double> x);

template <>
struct Text<bool> {
  static std::string repr(bool x) { return x ? "True" : "False"; }
};
template <Integer T>
struct Text<T> {
  static std::string repr(T x) { return std::to_string(static_cast<int64_t>(x)); }
};
template <Real T>
struct Text<T> {
  static std::string repr(T x) { return float_repr(static_cast<double>(x)); }
};
template <>
struct Text<std::complex<double>> {
  static std::string repr(std::complex<double> x) { return complex_repr(x); }
};
template <>
struct Truth<std::complex<double>> {
  static bool of(std::complex<double> x) { return x.real() != 0.0 || x.imag() != 0.0; }
};
// None
template <>
struct Text<std::monostate> {
  static std::string repr(std::monostate) { return "None"; }
};
template <>
struct Truth<std::monostate> {
  static bool of(std::monostate) { return false; }
};

}  // namespace torch2cpp
