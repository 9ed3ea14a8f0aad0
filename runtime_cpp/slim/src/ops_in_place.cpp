// Operators that write their result over the first operand.
#include <cstring>

#include <torch2cpp/slim/apply.h>
#include <torch2cpp/slim/operators.h>

namespace torch2cpp::slim::op {

#define IN_PLACE(name)                                                     \
  Tensor name##_in_place_Tensor(const Tensor& self, const Tensor& other) { \
    return write_over(self, name##_Tensor(self, other));                   \
  }                                                                        \
  Tensor name##_in_place_Scalar(const Tensor& self, Number other) {        \
    return write_over(self, name##_Scalar(self, other));                   \
  }
IN_PLACE(mul)
IN_PLACE(div)
IN_PLACE(bitwise_and)
IN_PLACE(bitwise_or)
IN_PLACE(bitwise_xor)
IN_PLACE(remainder)
#undef IN_PLACE
Tensor add_in_place_Tensor(const Tensor& self, const Tensor& other, Number alpha) {
  return write_over(self, add_Tensor(self, other, alpha));
}
Tensor add_in_place_Scalar(const Tensor& self, Number other, Number alpha) {
  return write_over(self, add_Scalar(self, other, alpha));
}
Tensor sub_in_place_Tensor(const Tensor& self, const Tensor& other, Number alpha) {
  return write_over(self, sub_Tensor(self, other, alpha));
}
Tensor sub_in_place_Scalar(const Tensor& self, Number other, Number alpha) {
  return write_over(self, sub_Scalar(self, other, alpha));
}
#define UNARY_IN_PLACE(name) \
  Tensor name##_in_place(const Tensor& self) { return write_over(self, name(self)); }
UNARY_IN_PLACE(relu)
UNARY_IN_PLACE(sigmoid)
UNARY_IN_PLACE(tanh)
UNARY_IN_PLACE(exp)
UNARY_IN_PLACE(neg)
UNARY_IN_PLACE(sqrt)
UNARY_IN_PLACE(abs)
UNARY_IN_PLACE(log)
UNARY_IN_PLACE(floor)
UNARY_IN_PLACE(round)
UNARY_IN_PLACE(silu)
UNARY_IN_PLACE(logical_not)
#undef UNARY_IN_PLACE
Tensor clamp_in_place(const Tensor& self, std::optional<Number> min, std::optional<Number> max) {
  return write_over(self, clamp(self, min, max));
}
Tensor clamp_min_in_place(const Tensor& self, Number min) { return write_over(self, clamp_min(self, min)); }
Tensor clamp_max_in_place(const Tensor& self, Number max) { return write_over(self, clamp_max(self, max)); }
Tensor leaky_relu_in_place(const Tensor& self, Number negative_slope) {
  return write_over(self, leaky_relu(self, negative_slope));
}
Tensor pow_in_place_Scalar(const Tensor& self, Number exponent) {
  return write_over(self, pow_Tensor_Scalar(self, exponent));
}
Tensor lerp_in_place_Scalar(const Tensor& self, const Tensor& end, Number weight) {
  return write_over(self, lerp_Scalar(self, end, weight));
}
Tensor lerp_in_place_Tensor(const Tensor& self, const Tensor& end, const Tensor& weight) {
  return write_over(self, lerp_Tensor(self, end, weight));
}
Tensor addcmul_in_place(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Number value) {
  return write_over(self, addcmul(self, tensor1, tensor2, value));
}

Tensor resize_in_place(const Tensor& self, Ints size) {
  Impl& changed = impl(self);
  const Extents extents(size.get(), {});
  for (const int64_t each : extents.sizes()) {
    if (each < 0) {
      raise_runtime_error("Trying to create tensor with negative dimension " + std::to_string(each));
    }
  }
  const auto needed = static_cast<std::size_t>(changed.offset + element_count(extents.sizes())) * changed.width();
  if (needed > changed.storage->bytes()) {
    changed.storage->grow(needed);
  }
  changed.extents = extents;
  return self;
}

}  // namespace torch2cpp::slim::op
