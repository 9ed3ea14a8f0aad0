// Sums of floats in numpy's order of addition, so that they are numpy's to the last bit.
#pragma once

#include <cstdint>
#include <optional>

#include <torch2cpp/tensor.h>

namespace torch2cpp {

// np.add.reduce(t.numpy(), axis) of a contiguous float32 or float64 tensor; over everything without an axis.
Tensor numpy_sum(const Tensor& t, std::optional<int64_t> axis = {});

}  // namespace torch2cpp
