// How generic code asks a type what Python would: bool(x), x == y, hash(x), str(x), repr(x).
//
// Each question is a class template that the header of a type specialises; emitted structs may too.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>

namespace torch2cpp {

template <class T>
concept Integer = std::integral<T>;  // bool too, as in Python
template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Number = Integer<T> || Real<T>;

// bool(x): `static bool of(const T&)`. True unless specialised, as for Python objects.
template <class T>
struct Truth {
  static bool of(const T&) { return true; }
};

// x == y: `static bool of(const A&, const B&)`.
template <class A, class B = A>
struct Equality {
  static bool of(const A& a, const B& b) { return a == b; }
};

// x < y: `static bool less(const T&, const T&)`.
template <class T>
struct Order {
  static bool less(const T& a, const T& b) { return a < b; }
};

// hash(x) for keys of dicts and members of sets: `static size_t of(const T&)`.
template <class T>
struct Hash {
  static std::size_t of(const T& x) { return std::hash<T>{}(x); }
};

// Whether comparing may be without order (a NaN inside): sorting such values depends on the algorithm.
template <class T>
struct Unordered {
  static bool of(const T&) { return false; }
};

// str(x) and repr(x): `static std::string repr(const T&)`, and `str` where it differs.
template <class T>
struct Text;

template <class T>
bool truth(const T& x) {
  return Truth<T>::of(x);
}

template <class A, class B>
bool equal(const A& a, const B& b) {
  return Equality<A, B>::of(a, b);
}

template <class T>
std::string repr(const T& x) {
  return Text<T>::repr(x);
}

template <class T>
std::string str(const T& x) {
  if constexpr (requires { Text<T>::str(x); }) {
    return Text<T>::str(x);
  } else {
    return Text<T>::repr(x);
  }
}

// Function objects over these, for the standard library's hash tables.
struct HashOf {
  template <class T>
  std::size_t operator()(const T& x) const {
    return Hash<T>::of(x);
  }
};
struct EqualTo {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return Equality<T, T>::of(a, b);
  }
};

inline std::size_t combine_hashes(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

}  // namespace torch2cpp
