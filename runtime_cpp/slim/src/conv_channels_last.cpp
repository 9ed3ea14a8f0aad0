// Convolutions whose channels lie last: a pixel's patch is a row of a matrix, made of whole runs of channels.
#include <algorithm>
#include <vector>

#include <torch2cpp/slim/conv.h>
#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/gemm.h>
#include <torch2cpp/slim/kernels.h>

namespace torch2cpp::slim {
namespace {

// Pixels whose patches are laid out at a time.
constexpr int64_t kPixels = 512;

bool lies_channels_last(const Impl& t) {
  const auto wanted = channels_last_strides(t.sizes());
  for (std::size_t d = 0; d < 4; ++d) {
    if (t.sizes()[d] != 1 && t.strides()[d] != wanted[d]) {
      return false;
    }
  }
  return true;
}

// The tensor itself, or a copy of the dtype with its channels last.
Tensor channels_last(const Tensor& t, ScalarType dtype) {
  if (impl(t).dtype == dtype && lies_channels_last(impl(t))) {
    return t;
  }
  const Tensor out = empty(impl(t).sizes(), dtype, channels_last_strides(impl(t).sizes()));
  copy(impl(out), impl(t));
  return out;
}

bool is_plain(const Plan& plan) {
  const Window& w = plan.window;
  return plan.taps() == 1 && w.stride == Three{1, 1, 1} && w.padding == Three{0, 0, 0};
}

// The patches of pixels from `first` on, `count` rows of (taps, channels); zero outside of the image.
template <class T>
void patches(const Plan& plan, const T* image, int64_t first, int64_t count, T* to) {
  const Window& w = plan.window;
  const int64_t channels = plan.in_channels, across = w.kernel[2] * channels;
  for (int64_t pixel = first; pixel < first + count; ++pixel) {
    const int64_t left = pixel % plan.out[2] * w.stride[2] - w.padding[2];
    for (int64_t ky = 0; ky < w.kernel[1]; ++ky, to += across) {
      const int64_t y = pixel / plan.out[2] * w.stride[1] - w.padding[1] + ky * w.dilation[1];
      const T* line = image + y * plan.in[2] * channels;
      if (y < 0 || y >= plan.in[1]) {
        std::fill_n(to, across, T{});
      } else if (w.dilation[2] == 1) {
        // One run of all taps that lie inside.
        const int64_t begin = std::clamp<int64_t>(-left, 0, w.kernel[2]);
        const int64_t end = std::clamp<int64_t>(plan.in[2] - left, begin, w.kernel[2]);
        std::fill_n(to, begin * channels, T{});
        std::copy(line + (left + begin) * channels, line + (left + end) * channels, to + begin * channels);
        std::fill(to + end * channels, to + across, T{});
      } else {
        for (int64_t kx = 0; kx < w.kernel[2]; ++kx) {
          const int64_t x = left + kx * w.dilation[2];
          if (x < 0 || x >= plan.in[2]) {
            std::fill_n(to + kx * channels, channels, T{});
          } else {
            std::copy_n(line + x * channels, channels, to + kx * channels);
          }
        }
      }
    }
  }
}

template <class T>
void dense(const Plan& plan, const T* input, const T* weight, const T* bias, T* out) {
  const int64_t depth = plan.in_channels * plan.taps(), area = plan.out_area();
  const int64_t room[] = {is_plain(plan) ? 0 : depth * std::min(area, kPixels)};
  const Tensor scratch = empty(room, dtype_of<T>);
  for (int64_t image = 0; image < plan.batch; ++image) {
    const T* from = input + image * plan.in_area() * plan.in_channels;
    for (int64_t first = 0; first < area; first += kPixels) {
      const int64_t count = std::min(kPixels, area - first);
      const T* rows = from + first * plan.in_channels;
      if (!is_plain(plan)) {
        patches(plan, from, first, count, data<T>(scratch));
        rows = data<T>(scratch);
      }
      T* to = out + (image * area + first) * plan.out_channels;
      for (int64_t i = 0; i < count && bias != nullptr; ++i) {
        std::copy_n(bias, plan.out_channels, to + i * plan.out_channels);
      }
      gemm<T>(count, plan.out_channels, depth, T{1}, {rows, depth, 1}, {weight, 1, depth}, bias == nullptr ? T{} : T{1},
              {to, plan.out_channels, 1});
    }
  }
}

template <class T>
void add_products(int64_t count, const T* x, const T* y, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    kernels().add_products(count, x, y, out);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      out[i] += x[i] * y[i];
    }
  }
}

// Each channel with one kernel of its own: all channels of a pixel at once.
template <class T>
void depthwise(const Plan& plan, const T* input, const T* weight, const T* bias, T* out) {
  const Window& w = plan.window;
  const int64_t channels = plan.in_channels, taps = plan.taps();
  std::vector<T> by_tap(static_cast<std::size_t>(taps * channels));
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      by_tap[static_cast<std::size_t>(tap * channels + channel)] = weight[channel * taps + tap];
    }
  }
  for (int64_t image = 0; image < plan.batch; ++image) {
    const T* from = input + image * plan.in_area() * channels;
    for (int64_t y = 0; y < plan.out[1]; ++y) {
      for (int64_t x = 0; x < plan.out[2]; ++x, out += channels) {
        if (bias == nullptr) {
          std::fill_n(out, channels, T{});
        } else {
          std::copy_n(bias, channels, out);
        }
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t row = y * w.stride[1] - w.padding[1] + tap / w.kernel[2] * w.dilation[1];
          const int64_t column = x * w.stride[2] - w.padding[2] + tap % w.kernel[2] * w.dilation[2];
          if (row >= 0 && row < plan.in[1] && column >= 0 && column < plan.in[2]) {
            add_products(channels, by_tap.data() + tap * channels, from + (row * plan.in[2] + column) * channels, out);
          }
        }
      }
    }
  }
}

}  // namespace

bool goes_channels_last(const Plan& plan) {
  return plan.groups == 1 || (plan.in_group() == 1 && plan.out_group() == 1);
}

Tensor convolve_channels_last(const Plan& plan, const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                              Shape result) {
  const ScalarType dtype = impl(input).dtype;
  Tensor out;
  with_compute(dtype, [&]<class T>(T) {
    const Tensor a = channels_last(input, dtype_of<T>), b = channels_last(weight, dtype_of<T>);
    const Tensor c = bias && bias->defined() ? slim::contiguous(*bias, dtype_of<T>) : Tensor();
    const T* add = c.defined() ? data<T>(c) : nullptr;
    out = empty(result, dtype_of<T>, channels_last_strides(result));
    if (plan.groups == 1) {
      dense<T>(plan, data<T>(a), data<T>(b), add, data<T>(out));
    } else {
      depthwise<T>(plan, data<T>(a), data<T>(b), add, data<T>(out));
    }
  });
  return channels_last(out, dtype);
}

}  // namespace torch2cpp::slim
