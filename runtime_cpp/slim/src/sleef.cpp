// The vector functions of SLEEF that Inductor's kernels call, element by element: compiled with -ffast-math, GCC takes
// glibc's own vector functions for them. Compiled for the instruction set of the regions.
#if defined(__x86_64__) && (defined(__AVX512F__) || defined(__AVX2__))
#include <cmath>
#include <immintrin.h>

namespace {

template <class Vector, class Element, class F>
inline __attribute__((always_inline)) Vector lanes(F f, const Vector& x) {
  constexpr int kCount = sizeof(Vector) / sizeof(Element);
  alignas(sizeof(Vector)) Element in[kCount], out[kCount];
  __builtin_memcpy(in, &x, sizeof(Vector));
  for (int i = 0; i < kCount; ++i) {
    out[i] = f(in[i]);
  }
  Vector result;
  __builtin_memcpy(&result, out, sizeof(Vector));
  return result;
}

template <class Vector, class Element, class F>
inline __attribute__((always_inline)) Vector lanes(F f, const Vector& x, const Vector& y) {
  constexpr int kCount = sizeof(Vector) / sizeof(Element);
  alignas(sizeof(Vector)) Element a[kCount], b[kCount], out[kCount];
  __builtin_memcpy(a, &x, sizeof(Vector));
  __builtin_memcpy(b, &y, sizeof(Vector));
  for (int i = 0; i < kCount; ++i) {
    out[i] = f(a[i], b[i]);
  }
  Vector result;
  __builtin_memcpy(&result, out, sizeof(Vector));
  return result;
}

}  // namespace

#define ONE(name, kind, accuracy, vector, element, function)                                       \
  extern "C" vector Sleef_##name##kind##_##accuracy(vector x) {                                    \
    return lanes<vector, element>([](element e) { return static_cast<element>(function(e)); }, x); \
  }
#define TWO(name, kind, suffix, vector, element, function)                                                          \
  extern "C" vector Sleef_##name##kind##suffix(vector x, vector y) {                                                \
    return lanes<vector, element>([](element a, element b) { return static_cast<element>(function(a, b)); }, x, y); \
  }
#define ALL(kind, vector, element)                      \
  ONE(exp, kind, u10, vector, element, std::exp)        \
  ONE(exp2, kind, u10, vector, element, std::exp2)      \
  ONE(expm1, kind, u10, vector, element, std::expm1)    \
  ONE(log, kind, u10, vector, element, std::log)        \
  ONE(log2, kind, u10, vector, element, std::log2)      \
  ONE(log10, kind, u10, vector, element, std::log10)    \
  ONE(log1p, kind, u10, vector, element, std::log1p)    \
  ONE(sin, kind, u10, vector, element, std::sin)        \
  ONE(cos, kind, u10, vector, element, std::cos)        \
  ONE(tan, kind, u10, vector, element, std::tan)        \
  ONE(asin, kind, u10, vector, element, std::asin)      \
  ONE(acos, kind, u10, vector, element, std::acos)      \
  ONE(atan, kind, u10, vector, element, std::atan)      \
  ONE(sinh, kind, u10, vector, element, std::sinh)      \
  ONE(cosh, kind, u10, vector, element, std::cosh)      \
  ONE(tanh, kind, u10, vector, element, std::tanh)      \
  ONE(asinh, kind, u10, vector, element, std::asinh)    \
  ONE(acosh, kind, u10, vector, element, std::acosh)    \
  ONE(atanh, kind, u10, vector, element, std::atanh)    \
  ONE(erf, kind, u10, vector, element, std::erf)        \
  ONE(erfc, kind, u15, vector, element, std::erfc)      \
  ONE(lgamma, kind, u10, vector, element, std::lgamma)  \
  TWO(pow, kind, _u10, vector, element, std::pow)       \
  TWO(atan2, kind, _u10, vector, element, std::atan2)   \
  TWO(hypot, kind, _u05, vector, element, std::hypot)   \
  TWO(fmod, kind, , vector, element, std::fmod)         \
  TWO(copysign, kind, , vector, element, std::copysign) \
  TWO(nextafter, kind, , vector, element, std::nextafter)

#define FAST(kind, vector, element)              \
  ONE(sin, kind, u35, vector, element, std::sin) \
  ONE(cos, kind, u35, vector, element, std::cos)

ALL(f8, __m256, float)
FAST(f8, __m256, float)
ALL(d4, __m256d, double)
#ifdef __AVX512F__
ALL(f16, __m512, float)
FAST(f16, __m512, float)
ALL(d8, __m512d, double)
#endif

#endif
