// Exact comparison of ints, floats and bools with each other, and min and max of them.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <string>

#include <torch2cpp/protocols.h>

namespace torch2cpp {

// An int against a float without rounding the int, as Python does.
inline std::partial_ordering compare(int64_t a, double b) {
  if (std::isnan(b)) {
    return std::partial_ordering::unordered;
  }
  if (b >= 0x1p63) {
    return std::partial_ordering::less;
  }
  if (b < -0x1p63) {
    return std::partial_ordering::greater;
  }
  const double whole = std::trunc(b);
  if (const auto order = a <=> static_cast<int64_t>(whole); order != 0) {
    return order;
  }
  return whole <=> b;
}

template <Number A, Number B>
std::partial_ordering compare(A a, B b) {
  if constexpr (Integer<A> && Integer<B>) {
    return static_cast<int64_t>(a) <=> static_cast<int64_t>(b);
  } else if constexpr (Integer<A>) {
    return compare(static_cast<int64_t>(a), static_cast<double>(b));
  } else if constexpr (Integer<B>) {
    return 0 <=> compare(static_cast<int64_t>(b), static_cast<double>(a));
  } else {
    return static_cast<double>(a) <=> static_cast<double>(b);
  }
}

template <Number A, Number B>
bool lt(A a, B b) {
  return compare(a, b) < 0;
}
template <Number A, Number B>
bool le(A a, B b) {
  return compare(a, b) <= 0;
}
template <Number A, Number B>
bool gt(A a, B b) {
  return compare(a, b) > 0;
}
template <Number A, Number B>
bool ge(A a, B b) {
  return compare(a, b) >= 0;
}
template <Number A, Number B>
bool eq(A a, B b) {
  return compare(a, b) == 0;
}
template <Number A, Number B>
bool ne(A a, B b) {
  return compare(a, b) != 0;
}

// The arithmetic type two numbers share: float if any is, else int (bools keep their type).
template <Number A, Number B>
using Promoted = std::conditional_t<Real<A> || Real<B>, double,
                                    std::conditional_t<std::same_as<A, bool> && std::same_as<B, bool>, bool, int64_t>>;

// min and max give the first of equals; comparing happens before widening.
template <Number A, Number B>
Promoted<A, B> min(A a, B b) {
  return compare(b, a) < 0 ? static_cast<Promoted<A, B>>(b) : static_cast<Promoted<A, B>>(a);
}
template <Number A, Number B>
Promoted<A, B> max(A a, B b) {
  return compare(b, a) > 0 ? static_cast<Promoted<A, B>>(b) : static_cast<Promoted<A, B>>(a);
}
template <class T>
  requires(!Number<T>)
T min(const T& a, const T& b) {
  return b < a ? b : a;
}
template <class T>
  requires(!Number<T>)
T max(const T& a, const T& b) {
  return a < b ? b : a;
}
template <class A, class B, class... More>
  requires(sizeof...(More) > 0)
auto min(const A& a, const B& b, const More&... more) {
  return torch2cpp::min(torch2cpp::min(a, b), more...);
}
template <class A, class B, class... More>
  requires(sizeof...(More) > 0)
auto max(const A& a, const B& b, const More&... more) {
  return torch2cpp::max(torch2cpp::max(a, b), more...);
}

template <Number A, Number B>
struct Equality<A, B> {
  static bool of(A a, B b) { return compare(a, b) == 0; }
};
template <Number T>
struct Truth<T> {
  static bool of(T x) { return x != T{}; }
};
template <Number T>
struct Hash<T> {
  // Equal numbers of different types hash alike; 0.0 and -0.0 too.
  static std::size_t of(T x) {
    const auto wide = static_cast<double>(x);
    return std::hash<double>{}(wide == 0.0 ? 0.0 : wide);
  }
};
template <Real T>
struct Unordered<T> {
  static bool of(T x) { return std::isnan(x); }
};
template <>
struct Truth<std::string> {
  static bool of(const std::string& s) { return !s.empty(); }
};

}  // namespace torch2cpp
