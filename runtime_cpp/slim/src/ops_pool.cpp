// Pooling.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include <torch2cpp/slim/operators.h>
#include <torch2cpp/slim/planes.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

int64_t pooled_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  const int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  int64_t out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  // The last window begins inside the input or its padding.
  if (ceil_mode && (out - 1) * stride >= size + padding) {
    --out;
  }
  if (out <= 0 || room < 0) {
    raise_runtime_error("pooling: Output size is too small");
  }
  return out;
}

std::array<int64_t, 2> two(Ints given, std::array<int64_t, 2> otherwise) {
  const auto items = given.get();
  return items.empty()       ? otherwise
         : items.size() == 1 ? std::array<int64_t, 2>{items[0], items[0]}
                             : std::array<int64_t, 2>{items[0], items[1]};
}

}  // namespace

Tensor max_pool2d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, Ints dilation, bool ceil_mode) {
  const auto kernel = two(kernel_size, {1, 1}), step = two(stride, kernel), edge = two(padding, {0, 0}),
             gap = two(dilation, {1, 1});
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  return pooled(self, pooled_size(height, kernel[0], step[0], edge[0], gap[0], ceil_mode),
                pooled_size(width, kernel[1], step[1], edge[1], gap[1], ceil_mode),
                [&]<class T>(const T* plane, int64_t y, int64_t x) {
                  T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                                : std::numeric_limits<T>::lowest();
                  for (int64_t i = 0; i < kernel[0]; ++i) {
                    const int64_t row = y * step[0] - edge[0] + i * gap[0];
                    for (int64_t j = 0; row >= 0 && row < height && j < kernel[1]; ++j) {
                      const int64_t column = x * step[1] - edge[1] + j * gap[1];
                      if (column >= 0 && column < width) {
                        const T value = plane[row * width + column];
                        best = value != value || value > best ? value : best;
                      }
                    }
                  }
                  return best;
                });
}
Tensor max_pool1d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, Ints dilation, bool ceil_mode) {
  const auto last = [](Ints given, int64_t other, int64_t missing) {
    return std::array<int64_t, 2>{missing, given.get().empty() ? other : given.get()[0]};
  };
  const auto kernel = last(kernel_size, 1, 1), step = last(stride, kernel[1], 1), edge = last(padding, 0, 0),
             gap = last(dilation, 1, 1);
  const auto as = [](const std::array<int64_t, 2>& a) { return Ints(std::span<const int64_t>(a)); };
  return torch2cpp::squeeze(
      max_pool2d(torch2cpp::unsqueeze(self, -2), as(kernel), as(step), as(edge), as(gap), ceil_mode), -2);
}
Tensor avg_pool2d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override) {
  const auto kernel = two(kernel_size, {1, 1}), step = two(stride, kernel), edge = two(padding, {0, 0});
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  return pooled(self, pooled_size(height, kernel[0], step[0], edge[0], 1, ceil_mode),
                pooled_size(width, kernel[1], step[1], edge[1], 1, ceil_mode),
                [&]<class T>(const T* plane, int64_t y, int64_t x) {
                  const int64_t top = y * step[0] - edge[0], left = x * step[1] - edge[1];
                  const int64_t bottom = std::min(top + kernel[0], height + edge[0]);
                  const int64_t right = std::min(left + kernel[1], width + edge[1]);
                  const int64_t area = (bottom - top) * (right - left);
                  double sum = 0;
                  int64_t inside = 0;
                  for (int64_t i = std::max<int64_t>(top, 0); i < std::min(bottom, height); ++i) {
                    for (int64_t j = std::max<int64_t>(left, 0); j < std::min(right, width); ++j, ++inside) {
                      sum += static_cast<double>(plane[i * width + j]);
                    }
                  }
                  const int64_t by = divisor_override.value_or(count_include_pad ? area : inside);
                  return static_cast<T>(sum / static_cast<double>(by));
                });
}
Tensor avg_pool1d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, bool ceil_mode,
                  bool count_include_pad) {
  const int64_t kernel[] = {1, kernel_size.get()[0]};
  const int64_t step[] = {1, stride.get().empty() ? kernel[1] : stride.get()[0]};
  const int64_t edge[] = {0, padding.get().empty() ? 0 : padding.get()[0]};
  const auto as = [](const int64_t (&a)[2]) { return Ints(std::span<const int64_t>(a)); };
  return torch2cpp::squeeze(avg_pool2d(torch2cpp::unsqueeze(self, -2), as(kernel), as(step), as(edge), ceil_mode,
                                       count_include_pad, std::nullopt),
                            -2);
}
Tensor adaptive_avg_pool2d(const Tensor& self, Ints output_size) {
  const auto out = two(output_size, {1, 1});
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  return pooled(self, out[0], out[1], [&]<class T>(const T* plane, int64_t y, int64_t x) {
    const int64_t top = y * height / out[0], bottom = ((y + 1) * height + out[0] - 1) / out[0];
    const int64_t left = x * width / out[1], right = ((x + 1) * width + out[1] - 1) / out[1];
    double sum = 0;
    for (int64_t i = top; i < bottom; ++i) {
      for (int64_t j = left; j < right; ++j) {
        sum += static_cast<double>(plane[i * width + j]);
      }
    }
    return static_cast<T>(sum / static_cast<double>((bottom - top) * (right - left)));
  });
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, Ints output_size) {
  const auto out = two(output_size, {1, 1});
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  if (height == 0 || width == 0) {
    raise_runtime_error("adaptive_max_pool2d: the input has no elements to take the largest of");
  }
  std::vector<int64_t> places;
  const Tensor values = pooled(self, out[0], out[1], [&]<class T>(const T* plane, int64_t y, int64_t x) {
    const int64_t top = y * height / out[0], bottom = ((y + 1) * height + out[0] - 1) / out[0];
    const int64_t left = x * width / out[1], right = ((x + 1) * width + out[1] - 1) / out[1];
    int64_t best = top * width + left;
    for (int64_t i = top; i < bottom; ++i) {
      for (int64_t j = left; j < right; ++j) {
        const T value = plane[i * width + j];
        // As eager: the last of several NaNs, the first of several equal ones.
        best = value != value || value > plane[best] ? i * width + j : best;
      }
    }
    places.push_back(best);
    return plane[best];
  });
  const Tensor indices = slim::empty(impl(values).sizes(), ScalarType::Long);
  std::copy(places.begin(), places.end(), slim::data<int64_t>(indices));
  return {values, indices};
}
Tensor adaptive_avg_pool1d(const Tensor& self, Ints output_size) {
  const int64_t sizes[] = {1, output_size.get()[0]};
  return torch2cpp::squeeze(adaptive_avg_pool2d(torch2cpp::unsqueeze(self, -2), Ints(std::span<const int64_t>(sizes))),
                            -2);
}

}  // namespace torch2cpp::slim::op
