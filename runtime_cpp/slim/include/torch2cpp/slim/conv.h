// Convolutions of one to three dimensions, with groups, strides, padding and dilation; transposed ones too.
#pragma once

#include <array>

#include <torch2cpp/slim/values.h>

namespace torch2cpp::slim {

// Depth, height, width.
using Three = std::array<int64_t, 3>;

struct Window {
  Three kernel, stride, padding, dilation;
};

// What one dimension gives for an input of `size`.
int64_t convolved_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation);

// Whether eager would lay a convolution's result out with the channels last.
bool is_channels_last(const Impl& t);
// The strides of such a tensor.
std::array<int64_t, 4> channels_last_strides(Shape sizes);

}  // namespace torch2cpp::slim
