#include <torch2cpp/dispatch.h>
#include <torch2cpp/parameter.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp {

Tensor as_parameter(const Tensor& weight) { return dispatch<Tensor>("aten::requires_grad_", "", alias(weight), true); }

}  // namespace torch2cpp
