// Indices: their dtype, and their bounds.
#pragma once

#include <string>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/elementwise.h>

namespace torch2cpp::slim {

// An index counted from the front. IndexError where the dimension has no such place.
inline int64_t checked(int64_t index, int64_t size, int64_t dim) {
  if (index < -size || index >= size) {
    raise_index_error("index " + std::to_string(index) + " is out of bounds for dimension " + std::to_string(dim) +
                      " with size " + std::to_string(size));
  }
  return index < 0 ? index + size : index;
}

// Indices as int64, contiguous. RuntimeError for other dtypes.
inline Tensor longs(const Tensor& index, const char* operation) {
  if (impl(index).dtype != ScalarType::Long && impl(index).dtype != ScalarType::Int) {
    raise_runtime_error(std::string(operation) + "(): Expected dtype int32/int64 for index");
  }
  return slim::contiguous(index, ScalarType::Long);
}

}  // namespace torch2cpp::slim
