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

// Sizes of one convolution. Fewer dimensions than three have size 1 in front.
struct Plan {
  int64_t batch, in_channels, out_channels, groups;
  Three in, out;
  Window window;
  int64_t taps() const { return element_count(window.kernel); }
  int64_t in_group() const { return in_channels / groups; }
  int64_t out_group() const { return out_channels / groups; }
  int64_t in_area() const { return element_count(in); }
  int64_t out_area() const { return element_count(out); }
};

// What one dimension gives for an input of `size`.
int64_t convolved_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation);

// Whether eager would lay a convolution's result out with the channels last.
bool is_channels_last(const Impl& t);
// The strides of such a tensor.
std::array<int64_t, 4> channels_last_strides(Shape sizes);

// Convolutions of images and kernels whose channels lie last, as Inductor lays them out: of one group, or with each
// channel on its own.
bool goes_channels_last(const Plan& plan);
Tensor convolve_channels_last(const Plan& plan, const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                              Shape result);

// Convolutions of contiguous images with lines that are long enough, and of those with a kernel for each channel.
bool goes_direct(const Plan& plan);
void convolve_direct(const Plan& plan, const float* input, const float* weight, const float* bias, float* out);
bool goes_depthwise(const Plan& plan);
void convolve_depthwise(const Plan& plan, const float* input, const float* weight, const float* bias, float* out);

}  // namespace torch2cpp::slim
