// Weights as eager has them: tensors that require gradients.
#pragma once

#include <torch2cpp/tensor.h>

namespace torch2cpp {

// The same memory as a tensor that requires gradients. Nothing is recorded for it under a no-grad guard, but
// ATen chooses how to multiply by that property, and the ways differ in their last bits.
Tensor as_parameter(const Tensor& weight);

}  // namespace torch2cpp
