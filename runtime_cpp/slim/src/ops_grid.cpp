// Images looked up at given places.
#include <algorithm>
#include <cmath>
#include <string>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// As eager numbers them.
enum Interpolation { kBilinear, kNearest };
enum Padding { kZeros, kBorder, kReflection };

// From -1..1 to elements; with aligned corners the ends are the centres of the outermost ones.
double to_elements(double place, int64_t size, bool align_corners) {
  const auto n = static_cast<double>(size);
  return align_corners ? (place + 1) / 2 * (n - 1) : ((place + 1) * n - 1) / 2;
}

// Mirrored at `low` and `high`, both in halves of an element.
double reflected(double place, int64_t low, int64_t high) {
  if (low == high) {
    return 0;
  }
  const double start = static_cast<double>(low) / 2, span = static_cast<double>(high - low) / 2;
  const double distance = std::abs(place - start), rest = std::fmod(distance, span);
  return static_cast<int64_t>(std::floor(distance / span)) % 2 == 0 ? rest + start : span - rest + start;
}

double source(double place, int64_t size, int64_t padding, bool align_corners) {
  double at = to_elements(place, size, align_corners);
  const auto last = static_cast<double>(size - 1);
  if (padding == kReflection) {
    at = align_corners ? reflected(at, 0, 2 * (size - 1)) : reflected(at, -1, 2 * size - 1);
  }
  // NaN goes to the first element, as in eager.
  return padding == kZeros ? at : std::min(std::max(at, 0.0), last);
}

template <class T>
struct Image {
  const T* data;
  int64_t height, width;

  double at(int64_t y, int64_t x) const {
    return y >= 0 && y < height && x >= 0 && x < width ? static_cast<double>(data[y * width + x]) : 0.0;
  }
  double bilinear(double y, double x) const {
    const double top = std::floor(y), left = std::floor(x), down = y - top, across = x - left;
    const auto row = static_cast<int64_t>(top), column = static_cast<int64_t>(left);
    return at(row, column) * (1 - down) * (1 - across) + at(row, column + 1) * (1 - down) * across +
           at(row + 1, column) * down * (1 - across) + at(row + 1, column + 1) * down * across;
  }
};

bool is_far(double place) { return !(std::abs(place) < 1e9); }

}  // namespace

Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                       bool align_corners) {
  const Impl &in = impl(input), &places = impl(grid);
  if (in.rank() != 4 || places.rank() != 4 || places.sizes()[3] != 2 || in.sizes()[0] != places.sizes()[0]) {
    raise_runtime_error(
        "grid_sampler(): expected grid and input to have same batch size, and grid to have size 2 in "
        "last dimension, but got input with sizes " +
        shape_text(in.sizes()) + " and grid with sizes " + shape_text(places.sizes()));
  }
  if (interpolation_mode != kBilinear && interpolation_mode != kNearest) {
    raise_not_implemented("grid_sample with bicubic interpolation without libtorch");
  }
  const int64_t batch = in.sizes()[0], channels = in.sizes()[1], height = in.sizes()[2], width = in.sizes()[3];
  if (height == 0 || width == 0) {
    raise_runtime_error("grid_sampler(): expected input to have non-empty spatial dimensions");
  }
  const int64_t area = places.sizes()[1] * places.sizes()[2];
  const int64_t sizes[] = {batch, channels, places.sizes()[1], places.sizes()[2]};
  Tensor out;
  with_compute(in.dtype, [&]<class T>(T) {
    const Tensor from = slim::contiguous(input, dtype_of<T>), where = slim::contiguous(grid, dtype_of<T>);
    out = slim::empty(sizes, dtype_of<T>);
    for (int64_t i = 0; i < batch * area; ++i) {
      const T* pair = slim::data<T>(where) + 2 * i;
      double x = source(static_cast<double>(pair[0]), width, padding_mode, align_corners);
      double y = source(static_cast<double>(pair[1]), height, padding_mode, align_corners);
      if (interpolation_mode == kNearest) {
        x = std::nearbyint(x);
        y = std::nearbyint(y);
      }
      for (int64_t channel = 0; channel < channels; ++channel) {
        const int64_t plane = i / area * channels + channel;
        const Image<T> image{slim::data<T>(from) + plane * height * width, height, width};
        slim::data<T>(out)[plane * area + i % area] =
            is_far(x) || is_far(y) ? T{} : static_cast<T>(image.bilinear(y, x));
      }
    }
  });
  return slim::contiguous(out, in.dtype);
}
Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    bool align_corners) {
  return grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners);
}

}  // namespace torch2cpp::slim::op
