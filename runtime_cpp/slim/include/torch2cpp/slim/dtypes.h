// Dtypes: widths, categories, promotion, and loops over elements converted to a type to compute in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include <torch2cpp/slim/tensor_impl.h>

namespace torch2cpp::slim {

// Bytes of an element. NotImplementedError for dtypes without elements of whole bytes.
std::size_t dtype_width(ScalarType dtype);

bool is_floating(ScalarType dtype);
bool is_complex(ScalarType dtype);
inline bool is_integral(ScalarType dtype) {
  return !is_floating(dtype) && !is_complex(dtype) && dtype != ScalarType::Bool;
}

// The dtype that two dtypes meet in.
ScalarType promote(ScalarType a, ScalarType b);
// The dtype of an operation on these tensors: those with dimensions before 0-d ones before Python numbers.
ScalarType result_type(std::initializer_list<const Impl*> tensors);
ScalarType result_type(std::span<const Impl* const> tensors);

// What elements of a dtype are computed in: float, double or int64_t.
enum class Compute { Float, Double, Int };
// NotImplementedError for complex numbers.
Compute compute_type(ScalarType dtype);

// Calls `visit` with a value of the type to compute in.
template <class Visit>
auto with_compute(ScalarType dtype, Visit visit) {
  switch (compute_type(dtype)) {
    case Compute::Float:
      return visit(float{});
    case Compute::Double:
      return visit(double{});
    default:
      return visit(int64_t{});
  }
}

// Elements `stride` apart, converted as `.to(dtype)` does.
template <class T>
void load(const void* from, ScalarType dtype, int64_t stride, int64_t count, T* to);
template <class T>
void store(const T* from, void* to, ScalarType dtype, int64_t stride, int64_t count);

template <class T>
inline constexpr ScalarType dtype_of = ScalarType::Undefined;
template <>
inline constexpr ScalarType dtype_of<float> = ScalarType::Float;
template <>
inline constexpr ScalarType dtype_of<double> = ScalarType::Double;
template <>
inline constexpr ScalarType dtype_of<int64_t> = ScalarType::Long;
template <>
inline constexpr ScalarType dtype_of<bool> = ScalarType::Bool;

}  // namespace torch2cpp::slim
