// Convolutions: patches of the input as columns of a matrix, or directly where each channel is on its own.
#include <algorithm>
#include <type_traits>
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

// Where a tap of the kernel meets the input: the line of an output line, and which of its outputs lie inside.
struct Tap {
  Three at;
  // The input's place for the output's element 0 of a line.
  int64_t shift;
  int64_t first, last;

  Tap(const Plan& plan, Three tap) : at(tap) {
    const Window& w = plan.window;
    const int64_t step = w.stride[2], width = plan.out[2];
    shift = tap[2] * w.dilation[2] - w.padding[2];
    const int64_t room = plan.in[2] - 1 - shift;
    first = std::clamp<int64_t>(shift >= 0 ? 0 : (-shift + step - 1) / step, 0, width);
    last = std::clamp<int64_t>(room < 0 ? 0 : room / step + 1, first, width);
  }

  // The input's line for an output line, or null outside.
  template <class T>
  const T* line(const Plan& plan, const T* channel, int64_t z, int64_t y) const {
    const Window& w = plan.window;
    const int64_t depth = z * w.stride[0] - w.padding[0] + at[0] * w.dilation[0];
    const int64_t row = y * w.stride[1] - w.padding[1] + at[1] * w.dilation[1];
    if (depth < 0 || depth >= plan.in[0] || row < 0 || row >= plan.in[1]) {
      return nullptr;
    }
    return channel + (depth * plan.in[1] + row) * plan.in[2];
  }
};

// Calls `visit(tap, number)` for each tap of the kernel.
template <class Visit>
void each_tap(const Plan& plan, Visit visit) {
  int64_t number = 0;
  for (int64_t z = 0; z < plan.window.kernel[0]; ++z) {
    for (int64_t y = 0; y < plan.window.kernel[1]; ++y) {
      for (int64_t x = 0; x < plan.window.kernel[2]; ++x) {
        visit(Tap(plan, {z, y, x}), number++);
      }
    }
  }
}

// For each tap of the kernel a row of the input's elements that it meets in some lines of the output, zero outside.
template <class T>
void columns(const Plan& plan, const T* image, int64_t first_line, int64_t lines, T* to) {
  const int64_t step = plan.window.stride[2], width = plan.out[2];
  for (int64_t channel = 0; channel < plan.in_group(); ++channel) {
    each_tap(plan, [&](const Tap& tap, int64_t) {
      for (int64_t i = first_line; i < first_line + lines; ++i, to += width) {
        const T* line = tap.line(plan, image + channel * plan.in_area(), i / plan.out[1], i % plan.out[1]);
        if (line == nullptr) {
          std::fill_n(to, width, T{});
          continue;
        }
        std::fill_n(to, tap.first, T{});
        if (step == 1) {
          std::copy(line + tap.first + tap.shift, line + tap.last + tap.shift, to + tap.first);
        } else {
          for (int64_t x = tap.first; x < tap.last; ++x) {
            to[x] = line[x * step + tap.shift];
          }
        }
        std::fill(to + tap.last, to + width, T{});
      }
    });
  }
}

// Each channel with a kernel of its own: tap by tap over whole lines.
template <class T>
void depthwise(const Plan& plan, const T* channel, const T* kernel, T bias, T* out) {
  const int64_t step = plan.window.stride[2], width = plan.out[2];
  std::fill_n(out, plan.out_area(), bias);
  each_tap(plan, [&](const Tap& tap, int64_t number) {
    const T factor = kernel[number];
    for (int64_t z = 0; z < plan.out[0]; ++z) {
      for (int64_t y = 0; y < plan.out[1]; ++y) {
        const T* line = tap.line(plan, channel, z, y);
        if (line == nullptr) {
          continue;
        }
        T* to = out + (z * plan.out[1] + y) * width;
        if (step == 1) {
          for (int64_t x = tap.first; x < tap.last; ++x) {
            to[x] += factor * line[x + tap.shift];
          }
        } else {
          for (int64_t x = tap.first; x < tap.last; ++x) {
            to[x] += factor * line[x * step + tap.shift];
          }
        }
      }
    }
  });
}

bool is_pointwise(const Plan& plan) {
  const Window& w = plan.window;
  return plan.taps() == 1 && w.stride == Three{1, 1, 1} && w.padding == Three{0, 0, 0};
}

// Outputs that are computed at a time, so that what they are made of stays in the caches.
constexpr int64_t kAtOnce = 512;

template <class T>
void convolve(const Plan& plan, const T* input, const T* weight, const T* bias, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    if (goes_depthwise(plan)) {
      return convolve_depthwise(plan, input, weight, bias, out);
    }
    if (goes_direct(plan)) {
      return convolve_direct(plan, input, weight, bias, out);
    }
  }
  const int64_t depth = plan.in_group() * plan.taps(), area = plan.out_area(), width = plan.out[2];
  const int64_t lines = area / width, most = std::clamp<int64_t>(kAtOnce / width, 1, lines);
  const bool each_alone = plan.in_group() == 1 && plan.groups > 1;
  const int64_t room[] = {each_alone || is_pointwise(plan) ? 0 : depth * most * width};
  const Tensor scratch = slim::empty(room, dtype_of<T>);
  for (int64_t image = 0; image < plan.batch; ++image) {
    for (int64_t group = 0; group < plan.groups; ++group) {
      const T* from = input + (image * plan.in_channels + group * plan.in_group()) * plan.in_area();
      const T* kernel = weight + group * plan.out_group() * depth;
      T* to = out + (image * plan.out_channels + group * plan.out_group()) * area;
      const T* add = bias == nullptr ? nullptr : bias + group * plan.out_group();
      if (each_alone) {
        for (int64_t i = 0; i < plan.out_group(); ++i) {
          depthwise(plan, from, kernel + i * depth, add == nullptr ? T{} : add[i], to + i * area);
        }
        continue;
      }
      for (int64_t i = 0; i < plan.out_group() && add != nullptr; ++i) {
        std::fill_n(to + i * area, area, add[i]);
      }
      const T beta = add == nullptr ? T{} : T{1};
      if (is_pointwise(plan)) {
        gemm<T>(plan.out_group(), area, depth, T{1}, {kernel, depth, 1}, {from, area, 1}, beta, {to, area, 1});
        continue;
      }
      for (int64_t line = 0; line < lines; line += most) {
        const int64_t count = std::min(most, lines - line) * width;
        columns(plan, from, line, count / width, data<T>(scratch));
        gemm<T>(plan.out_group(), count, depth, T{1}, {kernel, depth, 1}, {data<T>(scratch), count, 1}, beta,
                {to + line * width, area, 1});
      }
    }
  }
}

// Adds to the outputs what one channel's input elements give through each tap: `products` by tap and element.
template <class T>
void scatter_taps(const Plan& plan, const T* products, T* out) {
  const Window& w = plan.window;
  const auto place = [&](std::size_t d, int64_t i, int64_t tap) {
    return i * w.stride[d] - w.padding[d] + tap * w.dilation[d];
  };
  each_tap(plan, [&](const Tap& tap, int64_t number) {
    const T* values = products + number * plan.in_area();
    for (int64_t i = 0; i < plan.in_area(); ++i) {
      const int64_t z = place(0, i / (plan.in[1] * plan.in[2]), tap.at[0]);
      const int64_t y = place(1, i / plan.in[2] % plan.in[1], tap.at[1]), x = place(2, i % plan.in[2], tap.at[2]);
      if (z >= 0 && z < plan.out[0] && y >= 0 && y < plan.out[1] && x >= 0 && x < plan.out[2]) {
        out[(z * plan.out[1] + y) * plan.out[2] + x] += values[i];
      }
    }
  });
}

// Every input element spreads over the outputs that it would be a tap of.
template <class T>
void spread(const Plan& plan, const T* input, const T* weight, const T* bias, T* out) {
  const int64_t area = plan.in_area(), taps = plan.taps(), per_group = plan.out_group() * taps;
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
        scatter_taps(plan, products.data() + channel * taps * area, to);
      }
    }
  }
}

// One number for all dimensions, or one for each; what is missing in front is `otherwise`.
Three three(Shape items, int64_t dims, int64_t otherwise) {
  Three out{otherwise, otherwise, otherwise};
  for (int64_t d = 0; d < dims; ++d) {
    out[static_cast<std::size_t>(3 - dims + d)] = items.size() == 1 ? items[0] : items[static_cast<std::size_t>(d)];
  }
  return out;
}

void check(const Impl& input, const Impl& weight, int64_t groups, bool transposed) {
  if (input.rank() != weight.rank() || input.rank() < 3 || input.rank() > 5) {
    raise_runtime_error("a convolution of " + std::to_string(input.rank()) + " and " + std::to_string(weight.rank()) +
                        " dimensions without libtorch; 1d, 2d and 3d ones are possible");
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
  const int64_t dims = in.rank() - 2;
  Plan plan{};
  plan.batch = in.sizes()[0];
  plan.in_channels = in.sizes()[1];
  plan.groups = groups;
  plan.out_channels = transposed ? kernel.sizes()[1] * groups : kernel.sizes()[0];
  plan.in = three(in.sizes().subspan(2), dims, 1);
  plan.window = {three(kernel.sizes().subspan(2), dims, 1), three(stride.get(), dims, 1), three(padding.get(), dims, 0),
                 three(dilation.get(), dims, 1)};
  const Window& w = plan.window;
  const Three extra = three(output_padding.get(), dims, 0), from = plan.in;
  for (std::size_t d = 0; d < 3; ++d) {
    plan.out[d] =
        transposed ? (from[d] - 1) * w.stride[d] - 2 * w.padding[d] + w.dilation[d] * (w.kernel[d] - 1) + extra[d] + 1
                   : convolved_size(from[d], w.kernel[d], w.stride[d], w.padding[d], w.dilation[d]);
    if (plan.out[d] <= 0 || (!transposed && from[d] + 2 * w.padding[d] < w.dilation[d] * (w.kernel[d] - 1) + 1)) {
      raise_runtime_error("Calculated padded input size per channel: (" + std::to_string(from[d] + 2 * w.padding[d]) +
                          "). Kernel size: (" + std::to_string(w.kernel[d]) +
                          "). Kernel size can't be greater than actual input size");
    }
  }
  std::vector<int64_t> result{plan.batch, plan.out_channels};
  result.insert(result.end(), plan.out.end() - dims, plan.out.end());
  // Eager keeps the channels last where input or weight has them there.
  const bool channels_last = dims == 2 && (is_channels_last(in) || is_channels_last(kernel));
  if (channels_last && !transposed && goes_channels_last(plan)) {
    return convolve_channels_last(plan, input, weight, bias, result);
  }
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
Tensor conv3d(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride, Ints padding,
              Ints dilation, int64_t groups) {
  return batched(input, 5, [&](const Tensor& in) {
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

Tensor conv_transpose3d_input(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride,
                              Ints padding, Ints output_padding, int64_t groups, Ints dilation) {
  return batched(input, 5, [&](const Tensor& in) {
    return convolution(in, weight, bias, stride, padding, dilation, true, output_padding, groups);
  });
}

}  // namespace op
}  // namespace torch2cpp::slim
