// Between the host's tensors and the operators of the runtime; only regions written as calls of those include it.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <tuple>

#include <torch2cpp/errors.h>
#include <torch2cpp/list.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim {

inline const Tensor& borrow(const Tensor& tensor) { return tensor; }
inline Tensors borrow(const List<Tensor>& tensors) { return tensors.items(); }
template <class... T>
Tensors borrow(const std::tuple<T...>& tensors) {
  return std::apply([](const T&... each) { return Tensors{each...}; }, tensors);
}

inline Tensor own(const Tensor& tensor) { return tensor; }
inline List<Tensor> own(const Tensors& tensors) {
  List<Tensor> out;
  for (const Tensor& tensor : tensors) {
    out.append(tensor);
  }
  return out;
}

// Element of a list of tensors, as Python indexes.
inline const Tensor& element(const Tensors& tensors, int64_t index) {
  const auto size = static_cast<int64_t>(tensors.size());
  if (index < -size || index >= size) {
    raise_index_error("list index out of range");
  }
  return tensors[static_cast<std::size_t>(index < 0 ? index + size : index)];
}

// The Python statement at work.
struct Place {
  const char* file;
  int line;
};

// Turns the exception being handled into the one that Python would see there.
[[noreturn]] inline void rethrow(const Place& place) {
  try {
    throw;
  } catch (const PyError& error) {
    throw error.at(place.file, place.line);
  } catch (const std::exception& error) {
    throw PyError("RuntimeError", error.what(), {}, place.file, place.line);
  }
  std::terminate();
}

}  // namespace torch2cpp::slim
