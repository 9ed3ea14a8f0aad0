// Images and lines of other sizes.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <torch2cpp/slim/operators.h>
#include <torch2cpp/slim/planes.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// Steps in the input for one in the output.
double ratio(int64_t from, int64_t to, bool align_corners, std::optional<double> scale) {
  if (align_corners) {
    return to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0.0;
  }
  return scale && *scale > 0 ? 1.0 / *scale : static_cast<double>(from) / static_cast<double>(to);
}

// Where the output's element lies in the input.
double place(double by, int64_t i, bool align_corners) {
  const auto step = static_cast<double>(i);
  return align_corners ? by * step : by * (step + 0.5) - 0.5;
}

// Sizes and scales of the `.vec` overloads, of which one is given.
struct Wanted {
  std::vector<int64_t> sizes;
  std::vector<std::optional<double>> scales;
};

Wanted wanted(const Tensor& input, const std::optional<Ints>& sizes, const std::optional<Doubles>& scales,
              std::size_t count) {
  if (sizes.has_value() == scales.has_value()) {
    raise_runtime_error("Must specify exactly one of output_size and scale_factors");
  }
  Wanted out{{}, std::vector<std::optional<double>>(count)};
  if ((sizes ? sizes->get().size() : scales->size()) != count ||
      impl(input).rank() != static_cast<int64_t>(count) + 2) {
    raise_runtime_error("an output size or scale factor is needed for each dimension behind batch and channels");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = static_cast<double>(impl(input).sizes()[i + 2]);
    out.sizes.push_back(sizes ? sizes->get()[i] : static_cast<int64_t>(from * (*scales)[i]));
    if (scales) {
      out.scales[i] = (*scales)[i];
    }
  }
  return out;
}

// A line as an image of height 1.
template <class F>
Tensor as_image(const Tensor& line, int64_t size, F f) {
  const int64_t sizes[] = {1, size};
  return torch2cpp::squeeze(f(torch2cpp::unsqueeze(line, -2), Ints(std::span<const int64_t>(sizes))), -2);
}

// Shares of four neighbours at distance t behind the second one; the usual cubic with -0.75.
std::array<double, 4> cubic(double t) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

}  // namespace

Tensor upsample_nearest2d(const Tensor& self, Ints output_size, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  const int64_t to_height = output_size.get()[0], to_width = output_size.get()[1];
  // In float, as eager reckons.
  const auto by = [](int64_t from, int64_t to, std::optional<double> scale) {
    return scale && *scale > 0 ? static_cast<float>(1.0 / *scale) : static_cast<float>(from) / static_cast<float>(to);
  };
  const float by_y = by(height, to_height, scales_h), by_x = by(width, to_width, scales_w);
  const auto at = [](float step, int64_t i, int64_t size) {
    return std::min(static_cast<int64_t>(std::floor(static_cast<float>(i) * step)), size - 1);
  };
  return pooled(self, to_height, to_width, [&](const auto* plane, int64_t y, int64_t x) {
    return plane[at(by_y, y, height) * width + at(by_x, x, width)];
  });
}
Tensor upsample_bilinear2d(const Tensor& self, Ints output_size, bool align_corners, std::optional<double> scales_h,
                           std::optional<double> scales_w) {
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  const int64_t to_height = output_size.get()[0], to_width = output_size.get()[1];
  const double by_y = ratio(height, to_height, align_corners, scales_h),
               by_x = ratio(width, to_width, align_corners, scales_w);
  return pooled(self, to_height, to_width, [&]<class T>(const T* plane, int64_t y, int64_t x) {
    const double row = std::max(place(by_y, y, align_corners), 0.0);
    const double column = std::max(place(by_x, x, align_corners), 0.0);
    const int64_t top = std::min(static_cast<int64_t>(row), height - 1),
                  left = std::min(static_cast<int64_t>(column), width - 1);
    const int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
    const double down = row - static_cast<double>(top), across = column - static_cast<double>(left);
    const auto value = [&](int64_t r, int64_t c) { return static_cast<double>(plane[r * width + c]); };
    const double upper = value(top, left) * (1 - across) + value(top, right) * across;
    const double lower = value(bottom, left) * (1 - across) + value(bottom, right) * across;
    return static_cast<T>(upper * (1 - down) + lower * down);
  });
}
Tensor upsample_bicubic2d(const Tensor& self, Ints output_size, bool align_corners, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  const int64_t height = torch2cpp::size(self, -2), width = torch2cpp::size(self, -1);
  const int64_t to_height = output_size.get()[0], to_width = output_size.get()[1];
  const double by_y = ratio(height, to_height, align_corners, scales_h),
               by_x = ratio(width, to_width, align_corners, scales_w);
  return pooled(self, to_height, to_width, [&]<class T>(const T* plane, int64_t y, int64_t x) {
    const double row = place(by_y, y, align_corners), column = place(by_x, x, align_corners);
    const auto top = static_cast<int64_t>(std::floor(row)), left = static_cast<int64_t>(std::floor(column));
    const auto down = cubic(row - static_cast<double>(top)), across = cubic(column - static_cast<double>(left));
    double sum = 0;
    for (int64_t i = 0; i < 4; ++i) {
      const T* line = plane + std::clamp<int64_t>(top - 1 + i, 0, height - 1) * width;
      double part = 0;
      for (int64_t j = 0; j < 4; ++j) {
        part += across[static_cast<std::size_t>(j)] *
                static_cast<double>(line[std::clamp<int64_t>(left - 1 + j, 0, width - 1)]);
      }
      sum += down[static_cast<std::size_t>(i)] * part;
    }
    return static_cast<T>(sum);
  });
}
Tensor upsample_nearest1d(const Tensor& self, Ints output_size, std::optional<double> scales) {
  return as_image(self, output_size.get()[0],
                  [&](const Tensor& image, Ints sizes) { return upsample_nearest2d(image, sizes, 1.0, scales); });
}
Tensor upsample_linear1d(const Tensor& self, Ints output_size, bool align_corners, std::optional<double> scales) {
  return as_image(self, output_size.get()[0], [&](const Tensor& image, Ints sizes) {
    return upsample_bilinear2d(image, sizes, align_corners, 1.0, scales);
  });
}

Tensor upsample_nearest2d_vec(const Tensor& input, std::optional<Ints> output_size,
                              std::optional<Doubles> scale_factors) {
  const Wanted to = wanted(input, output_size, scale_factors, 2);
  return upsample_nearest2d(input, to.sizes, to.scales[0], to.scales[1]);
}
Tensor upsample_bilinear2d_vec(const Tensor& input, std::optional<Ints> output_size, bool align_corners,
                               std::optional<Doubles> scale_factors) {
  const Wanted to = wanted(input, output_size, scale_factors, 2);
  return upsample_bilinear2d(input, to.sizes, align_corners, to.scales[0], to.scales[1]);
}
Tensor upsample_bicubic2d_vec(const Tensor& input, std::optional<Ints> output_size, bool align_corners,
                              std::optional<Doubles> scale_factors) {
  const Wanted to = wanted(input, output_size, scale_factors, 2);
  return upsample_bicubic2d(input, to.sizes, align_corners, to.scales[0], to.scales[1]);
}
Tensor upsample_nearest1d_vec(const Tensor& input, std::optional<Ints> output_size,
                              std::optional<Doubles> scale_factors) {
  const Wanted to = wanted(input, output_size, scale_factors, 1);
  return upsample_nearest1d(input, to.sizes, to.scales[0]);
}
Tensor upsample_linear1d_vec(const Tensor& input, std::optional<Ints> output_size, bool align_corners,
                             std::optional<Doubles> scale_factors) {
  const Wanted to = wanted(input, output_size, scale_factors, 1);
  return upsample_linear1d(input, to.sizes, align_corners, to.scales[0]);
}

}  // namespace torch2cpp::slim::op
