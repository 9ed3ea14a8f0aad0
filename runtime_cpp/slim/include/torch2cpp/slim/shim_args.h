// Arguments of the C ABI's operators as those of slim's own, and results as handles.
#pragma once

#include <memory>
#include <span>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/operators.h>

namespace torch2cpp::slim {

// A tensor that shares the handle's storage; the handle stays the caller's.
inline Tensor borrowed(AtenTensorHandle handle) { return Tensor(std::make_unique<Impl>(*handle).release()); }
inline OptionalTensor optional(AtenTensorHandle* handle) {
  return handle == nullptr || *handle == nullptr ? OptionalTensor() : OptionalTensor(borrowed(*handle));
}
template <class To, class From>
std::optional<To> optional_value(const From* value) {
  return value == nullptr ? std::nullopt : std::optional<To>(static_cast<To>(*value));
}
inline std::optional<ScalarType> optional_dtype(const int32_t* value) { return optional_value<ScalarType>(value); }
inline Ints ints(const int64_t* data, int64_t count) {
  return Ints(std::span<const int64_t>(data, static_cast<std::size_t>(count)));
}
inline OptionalTensors optionals(const AtenTensorHandle** handles, int64_t count) {
  OptionalTensors out;
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(handles[i] == nullptr ? OptionalTensor() : OptionalTensor(borrowed(*handles[i])));
  }
  return out;
}
inline Tensors borrowed_all(const AtenTensorHandle* handles, int64_t count) {
  Tensors out;
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(borrowed(handles[i]));
  }
  return out;
}
// A handle of its own for a result.
inline void give(const Tensor& t, AtenTensorHandle* ret) { *ret = std::make_unique<Impl>(impl(t)).release(); }

}  // namespace torch2cpp::slim
