// Arguments of operators beyond tensors.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <vector>

#include <torch2cpp/slim/tensor_impl.h>
#include <torch2cpp/tensor.h>

namespace torch2cpp::slim {

using Tensors = std::vector<Tensor>;
using OptionalTensor = std::optional<Tensor>;
using OptionalTensors = std::vector<std::optional<Tensor>>;
using Doubles = std::vector<double>;
using torch2cpp::Ints;

// A Python bool, int or float.
class Number {
 public:
  Number(bool value) : kind_(ScalarType::Bool), int_(value), float_(value) {}
  template <std::integral I>
  Number(I value) : kind_(ScalarType::Long), int_(value), float_(static_cast<double>(value)) {}
  Number(double value) : kind_(ScalarType::Double), float_(value) {}

  // Bool, Long or Double.
  ScalarType kind() const { return kind_; }
  bool is_float() const { return kind_ == ScalarType::Double; }
  // As the type to compute in.
  template <class T>
  T as() const {
    return is_float() ? static_cast<T>(float_) : static_cast<T>(int_);
  }

 private:
  ScalarType kind_;
  int64_t int_ = 0;
  double float_ = 0;
};

// A 0-d tensor of the number that does not decide dtypes.
Tensor number(Number value);
// The dtype of an operation of a tensor with a number.
ScalarType result_type(const Tensor& self, Number other);
// The default dtype, float32, for tensors of ints and bools that an operation makes floats of.
ScalarType float_type(ScalarType dtype);
// A dimension counted from the front; scalars have one.
int64_t wrap(int64_t dim, int64_t rank);

}  // namespace torch2cpp::slim
