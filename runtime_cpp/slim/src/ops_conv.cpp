// Convolutions: patches of the input as columns of a matrix, or directly where each channel is on its own.
#include <algorithm>
#include <vector>

#include <torch2cpp/slim/conv.h>
#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/gemm.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim {

int64_t convolved_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

bool is_channels_last(const Impl& t) {
  if (t.rank() != 4 || t.strides()[1] == 0) {
    return false;
  }
  const Shape sizes = t.sizes(), strides = t.strides();
  int64_t least = 0;
  for (const std::size_t d : {1U, 3U, 2U, 0U}) {
    // Contiguous wherever both would do.
    if (sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1])) {
      return false;
    }
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
  }
  return true;
}

std::array<int64_t, 4> channels_last_strides(Shape sizes) {
  const int64_t channels = std::max<int64_t>(sizes[1], 1), width = std::max<int64_t>(sizes[3], 1);
  return {std::max<int64_t>(sizes[2], 1) * width * channels, 1, width * channels, channels};
}

namespace {

struct Plan {
  int64_t batch, in_channels, height, width;
  int64_t out_channels, out_height, out_width;
  int64_t groups;
  Window window;
  int64_t taps() const { return window.kernel[0] * window.kernel[1]; }
  int64_t in_group() const { return in_channels / groups; }
  int64_t out_group() const { return out_channels / groups; }
  int64_t out_area() const { return out_height * out_width; }
};

// For each tap of the kernel a row of the input's elements that it meets, zero outside.
template <class T>
void columns(const Plan& plan, const T* image, T* to) {
  const Window& w = plan.window;
  for (int64_t channel = 0; channel < plan.in_group(); ++channel) {
    const T* plane = image + channel * plan.height * plan.width;
    for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
      for (int64_t kx = 0; kx < w.kernel[1]; ++kx) {
        for (int64_t y = 0; y < plan.out_height; ++y, to += plan.out_width) {
          const int64_t row = y * w.stride[0] - w.padding[0] + ky * w.dilation[0];
          if (row < 0 || row >= plan.height) {
            std::fill_n(to, plan.out_width, T{});
            continue;
          }
          const T* line = plane + row * plan.width;
          const int64_t shift = kx * w.dilation[1] - w.padding[1], step = w.stride[1];
          // Outputs whose tap lies inside the line.
          const int64_t first = std::clamp<int64_t>(shift >= 0 ? 0 : (-shift + step - 1) / step, 0, plan.out_width);
          const int64_t room = plan.width - 1 - shift;
          const int64_t last = std::clamp<int64_t>(room < 0 ? 0 : room / step + 1, first, plan.out_width);
          std::fill_n(to, first, T{});
          if (step == 1) {
            std::copy(line + first + shift, line + last + shift, to + first);
          } else {
            for (int64_t x = first; x < last; ++x) {
              to[x] = line[x * step + shift];
            }
          }
          std::fill(to + last, to + plan.out_width, T{});
        }
      }
    }
  }
}

// Each channel with a kernel of its own: tap by tap over whole lines.
template <class T>
void depthwise(const Plan& plan, const T* plane, const T* kernel, T bias, T* out) {
  const Window& w = plan.window;
  std::fill_n(out, plan.out_area(), bias);
  for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
    for (int64_t kx = 0; kx < w.kernel[1]; ++kx) {
      const T tap = kernel[ky * w.kernel[1] + kx];
      const int64_t shift = kx * w.dilation[1] - w.padding[1], step = w.stride[1];
      const int64_t first = std::clamp<int64_t>(shift >= 0 ? 0 : (-shift + step - 1) / step, 0, plan.out_width);
      const int64_t room = plan.width - 1 - shift;
      const int64_t last = std::clamp<int64_t>(room < 0 ? 0 : room / step + 1, first, plan.out_width);
      for (int64_t y = 0; y < plan.out_height; ++y) {
        const int64_t row = y * w.stride[0] - w.padding[0] + ky * w.dilation[0];
        if (row < 0 || row >= plan.height) {
          continue;
        }
        const T* line = plane + row * plan.width + shift;
        T* to = out + y * plan.out_width;
        if (step == 1) {
          for (int64_t x = first; x < last; ++x) {
            to[x] += tap * line[x];
          }
        } else {
          for (int64_t x = first; x < last; ++x) {
            to[x] += tap * line[x * step];
          }
        }
      }
    }
  }
}

bool is_pointwise(const Plan& plan) {
  const Window& w = plan.window;
  return plan.taps() == 1 && w.stride == std::array<int64_t, 2>{1, 1} && w.padding == std::array<int64_t, 2>{0, 0};
}

template <class T>
void convolve(const Plan& plan, const T* input, const T* weight, const T* bias, T* out) {
  const int64_t depth = plan.in_group() * plan.taps(), area = plan.out_area();
  std::vector<T> scratch(plan.in_group() == 1 || is_pointwise(plan) ? 0 : static_cast<std::size_t>(depth * area));
  for (int64_t image = 0; image < plan.batch; ++image) {
    for (int64_t group = 0; group < plan.groups; ++group) {
      const T* from = input + (image * plan.in_channels + group * plan.in_group()) * plan.height * plan.width;
      const T* kernel = weight + group * plan.out_group() * depth;
      T* to = out + (image * plan.out_channels + group * plan.out_group()) * area;
      const T* add = bias == nullptr ? nullptr : bias + group * plan.out_group();
      if (plan.in_group() == 1 && plan.groups > 1) {
        for (int64_t i = 0; i < plan.out_group(); ++i) {
          depthwise(plan, from, kernel + i * depth, add == nullptr ? T{} : add[i], to + i * area);
        }
        continue;
      }
      const T* taps = from;
      if (!is_pointwise(plan)) {
        scratch.resize(static_cast<std::size_t>(depth * area));
        columns(plan, from, scratch.data());
        taps = scratch.data();
      }
      for (int64_t i = 0; i < plan.out_group() && add != nullptr; ++i) {
        std::fill_n(to + i * area, area, add[i]);
      }
      gemm<T>(plan.out_group(), area, depth, T{1}, {kernel, depth, 1}, {taps, area, 1}, add == nullptr ? T{} : T{1},
              {to, area, 1});
    }
  }
}

// Every input element spreads over the outputs that it would be a tap of.
template <class T>
void spread(const Plan& plan, const T* input, const T* weight, const T* bias, T* out) {
  const Window& w = plan.window;
  const int64_t area = plan.height * plan.width, taps = plan.taps(), per_group = plan.out_group() * taps;
  std::vector<T> products(static_cast<std::size_t>(per_group * area));
  for (int64_t image = 0; image < plan.batch; ++image) {
    for (int64_t group = 0; group < plan.groups; ++group) {
      const T* from = input + (image * plan.in_channels + group * plan.in_group()) * area;
      const T* kernel = weight + group * plan.in_group() * per_group;
      gemm<T>(per_group, area, plan.in_group(), T{1}, {kernel, 1, per_group}, {from, area, 1}, T{},
              {products.data(), area, 1});
      for (int64_t channel = 0; channel < plan.out_group(); ++channel) {
        const int64_t which = group * plan.out_group() + channel;
        T* to = out + (image * plan.out_channels + which) * plan.out_area();
        std::fill_n(to, plan.out_area(), bias == nullptr ? T{} : bias[which]);
        for (int64_t tap = 0; tap < taps; ++tap) {
          const T* values = products.data() + (channel * taps + tap) * area;
          for (int64_t i = 0; i < area; ++i) {
            const int64_t y = i / plan.width * w.stride[0] - w.padding[0] + tap / w.kernel[1] * w.dilation[0];
            const int64_t x = i % plan.width * w.stride[1] - w.padding[1] + tap % w.kernel[1] * w.dilation[1];
            if (y >= 0 && y < plan.out_height && x >= 0 && x < plan.out_width) {
              to[y * plan.out_width + x] += values[i];
            }
          }
        }
      }
    }
  }
}

std::array<int64_t, 2> pair(Ints given, int64_t rank, int64_t missing) {
  const auto items = given.get();
  const auto at = [&](std::size_t i) { return items.size() == 1 ? items[0] : items[i]; };
  return rank == 3 ? std::array<int64_t, 2>{missing, at(0)} : std::array<int64_t, 2>{at(0), at(1)};
}

void check(const Impl& input, const Impl& weight, int64_t groups, bool transposed) {
  if (input.rank() != weight.rank() || (input.rank() != 3 && input.rank() != 4)) {
    raise_runtime_error("a convolution of " + std::to_string(input.rank()) + " and " + std::to_string(weight.rank()) +
                        " dimensions without libtorch; 1d and 2d ones are possible");
  }
  if (groups <= 0) {
    raise_runtime_error("non-positive groups is not supported");
  }
  const int64_t channels = transposed ? weight.sizes()[0] : weight.sizes()[1] * groups;
  if (input.sizes()[1] != channels || weight.sizes()[0] % groups != 0) {
    raise_runtime_error("Given groups=" + std::to_string(groups) + ", weight of size " + shape_text(weight.sizes()) +
                        ", expected input" + shape_text(input.sizes()) + " to have " + std::to_string(channels) +
                        " channels, but got " + std::to_string(input.sizes()[1]) + " channels instead");
  }
  if (input.dtype != weight.dtype) {
    raise_runtime_error("Input type (" + std::string(dtype_name(input.dtype)) + ") and weight type (" +
                        std::string(dtype_name(weight.dtype)) + ") should be the same");
  }
}

}  // namespace

namespace op {

Tensor convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride, Ints padding,
                   Ints dilation, bool transposed, Ints output_padding, int64_t groups) {
  const Impl &in = impl(input), &kernel = impl(weight);
  check(in, kernel, groups, transposed);
  const int64_t rank = in.rank();
  const bool flat = rank == 3;
  const std::size_t last = static_cast<std::size_t>(rank) - 1;
  Plan plan{};
  plan.batch = in.sizes()[0];
  plan.in_channels = in.sizes()[1];
  plan.height = flat ? 1 : in.sizes()[2];
  plan.width = in.sizes()[last];
  plan.groups = groups;
  plan.out_channels = transposed ? kernel.sizes()[1] * groups : kernel.sizes()[0];
  plan.window = {{flat ? 1 : kernel.sizes()[2], kernel.sizes()[last]},
                 pair(stride, rank, 1),
                 pair(padding, rank, 0),
                 pair(dilation, rank, 1)};
  const Window& w = plan.window;
  const auto extra = pair(output_padding, rank, 0);
  std::array<int64_t, 2> sizes{};
  const std::array<int64_t, 2> from{plan.height, plan.width};
  for (std::size_t d = 0; d < 2; ++d) {
    sizes[d] = transposed
                   ? (from[d] - 1) * w.stride[d] - 2 * w.padding[d] + w.dilation[d] * (w.kernel[d] - 1) + extra[d] + 1
                   : convolved_size(from[d], w.kernel[d], w.stride[d], w.padding[d], w.dilation[d]);
    if (sizes[d] <= 0 || (!transposed && from[d] + 2 * w.padding[d] < w.dilation[d] * (w.kernel[d] - 1) + 1)) {
      raise_runtime_error("Calculated padded input size per channel: (" + std::to_string(from[d] + 2 * w.padding[d]) +
                          "). Kernel size: (" + std::to_string(w.kernel[d]) +
                          "). Kernel size can't be greater than actual input size");
    }
  }
  plan.out_height = sizes[0];
  plan.out_width = sizes[1];
  std::vector<int64_t> result{plan.batch, plan.out_channels};
  if (!flat) {
    result.push_back(plan.out_height);
  }
  result.push_back(plan.out_width);
  // Eager keeps the channels last where input or weight has them there.
  const bool channels_last = !flat && (is_channels_last(in) || is_channels_last(kernel));
  Tensor out;
  with_compute(in.dtype, [&]<class T>(T) {
    const Tensor a = slim::contiguous(input, dtype_of<T>), b = slim::contiguous(weight, dtype_of<T>);
    const Tensor c = bias && bias->defined() ? slim::contiguous(*bias, dtype_of<T>) : Tensor();
    const T* add = c.defined() ? data<T>(c) : nullptr;
    out = slim::empty(result, dtype_of<T>);
    if (transposed) {
      spread<T>(plan, data<T>(a), data<T>(b), add, data<T>(out));
    } else {
      convolve<T>(plan, data<T>(a), data<T>(b), add, data<T>(out));
    }
  });
  if (channels_last) {
    const auto strides = channels_last_strides(result);
    const Tensor turned = slim::empty(result, in.dtype, strides);
    slim::copy(impl(turned), impl(out));
    return turned;
  }
  return slim::contiguous(out, in.dtype);
}

namespace {

// An image without a batch becomes one of a batch, and back.
template <class F>
Tensor batched(const Tensor& input, int64_t rank, F f) {
  return impl(input).rank() == rank ? f(input) : torch2cpp::squeeze(f(torch2cpp::unsqueeze(input, 0)), 0);
}
constexpr int64_t kZero[] = {0};

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride, Ints padding,
              Ints dilation, int64_t groups) {
  return batched(input, 3, [&](const Tensor& in) {
    return convolution(in, weight, bias, stride, padding, dilation, false, Ints(std::span<const int64_t>(kZero)),
                       groups);
  });
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride, Ints padding,
              Ints dilation, int64_t groups) {
  return batched(input, 4, [&](const Tensor& in) {
    return convolution(in, weight, bias, stride, padding, dilation, false, Ints(std::span<const int64_t>(kZero)),
                       groups);
  });
}
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride,
                        Ints padding, Ints output_padding, int64_t groups, Ints dilation) {
  return batched(input, 3, [&](const Tensor& in) {
    return convolution(in, weight, bias, stride, padding, dilation, true, output_padding, groups);
  });
}
Tensor conv_transpose2d_input(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride,
                              Ints padding, Ints output_padding, int64_t groups, Ints dilation) {
  return batched(input, 4, [&](const Tensor& in) {
    return convolution(in, weight, bias, stride, padding, dilation, true, output_padding, groups);
  });
}

}  // namespace op
}  // namespace torch2cpp::slim
