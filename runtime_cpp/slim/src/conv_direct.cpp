// Convolutions of images as they lie, channels first: the image is laid out once with its padding, and each output
// reads its taps there. No matrix of patches is made.
#include <algorithm>
#include <vector>

#include <torch2cpp/slim/conv.h>
#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/kernels.h>

namespace torch2cpp::slim {
namespace {

// A channel with its padding, its elements sorted by their remainders of the stride: what a tap meets along a line of
// the output lies side by side.
struct Padded {
  // Remainders that some tap meets, lines and columns of one of them.
  int64_t row_parts, column_parts, lines, pitch;

  explicit Padded(const Plan& plan) {
    const Window& w = plan.window;
    row_parts = w.kernel[1] == 1 ? 1 : w.stride[1];
    column_parts = w.kernel[2] == 1 ? 1 : w.stride[2];
    lines = (plan.in[1] + 2 * w.padding[1] + w.stride[1] - 1) / w.stride[1];
    pitch = (plan.in[2] + 2 * w.padding[2] + w.stride[2] - 1) / w.stride[2];
  }

  int64_t part() const { return lines * pitch; }
  int64_t channel() const { return row_parts * column_parts * part(); }

  // Where a tap's element for the first output lies.
  int64_t offset(const Plan& plan, int64_t tap) const {
    const Window& w = plan.window;
    const int64_t y = tap / w.kernel[2] * w.dilation[1], x = tap % w.kernel[2] * w.dilation[2];
    return (y % w.stride[1] * column_parts + x % w.stride[2]) * part() + y / w.stride[1] * pitch + x / w.stride[2];
  }

  void lay_out(const Plan& plan, const float* image, float* to) const {
    const Window& w = plan.window;
    for (int64_t row_part = 0; row_part < row_parts; ++row_part) {
      for (int64_t column_part = 0; column_part < column_parts; ++column_part) {
        // The first column inside of the image, and the first behind it.
        const int64_t step = w.stride[2], shift = column_part - w.padding[2];
        const int64_t first = std::min(pitch, shift >= 0 ? 0 : (-shift + step - 1) / step);
        const int64_t last =
            std::clamp<int64_t>(plan.in[2] <= shift ? 0 : (plan.in[2] - shift + step - 1) / step, first, pitch);
        for (int64_t line = 0; line < lines; ++line, to += pitch) {
          const int64_t y = line * w.stride[1] + row_part - w.padding[1];
          if (y < 0 || y >= plan.in[1]) {
            std::fill_n(to, pitch, 0.0F);
            continue;
          }
          const float* from = image + y * plan.in[2];
          std::fill_n(to, first, 0.0F);
          if (step == 1) {
            std::copy(from + (first + shift), from + (last + shift), to + first);
          } else {
            for (int64_t x = first; x < last; ++x) {
              to[x] = from[x * step + shift];
            }
          }
          std::fill(to + last, to + pitch, 0.0F);
        }
      }
    }
  }
};

// Products from which on a second thread pays.
constexpr int64_t kWorthSharing = int64_t{1} << 20;
// Steps that are summed up at a time.
constexpr int64_t kSteps = 256;
// Vectors may read so far behind what they use.
constexpr int64_t kSlack = 64;

bool is_flat(const Plan& plan) {
  const Window& w = plan.window;
  return plan.in[0] == 1 && w.kernel[0] == 1 && w.padding[0] == 0 && w.stride[0] == 1;
}

std::vector<int64_t> offsets_of(const Plan& plan, const Padded& padded) {
  const int64_t taps = plan.taps();
  std::vector<int64_t> out(static_cast<std::size_t>(plan.in_group() * taps));
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t offset = padded.offset(plan, tap);
    for (int64_t channel = 0; channel < plan.in_group(); ++channel) {
      out[static_cast<std::size_t>(channel * taps + tap)] = channel * padded.channel() + offset;
    }
  }
  return out;
}

Tensor room_for(int64_t count) {
  const int64_t room[] = {count};
  return empty(room, ScalarType::Float);
}

// Vectors along the lines of the output, some at a time.
struct LineRuns {
  int64_t lanes, across, count;

  LineRuns(const Plan& plan, int64_t lanes)
      : lanes(lanes), across((plan.out[2] + lanes - 1) / lanes), count(across * plan.out[1]) {}

  void place(DirectTile& tile, int64_t first, const Plan& plan, int64_t pitch, const float* from, float* to) const {
    tile.runs = std::min<int64_t>(kMostRuns, count - first);
    for (int64_t i = 0; i < tile.runs; ++i) {
      const int64_t y = (first + i) / across, x = (first + i) % across * lanes;
      tile.from[i] = from + y * pitch + x;
      tile.to[i] = to + y * plan.out[2] + x;
      tile.counts[i] = std::min(lanes, plan.out[2] - x);
    }
  }
};

}  // namespace

bool goes_direct(const Plan& plan) {
  if (!is_flat(plan) || plan.taps() == 1 || plan.in_group() == 0) {
    return false;
  }
  const int64_t lanes = kernels().narrow, width = plan.out[2];
  // Most of a vector must be of use, and a kernel be used more often than it costs to turn it around.
  return 4 * width >= 3 * ((width + lanes - 1) / lanes * lanes) && plan.out_area() > 4 * lanes;
}

void convolve_direct(const Plan& plan, const float* input, const float* weight, const float* bias, float* out) {
  const Kernels& use = kernels();
  const Padded padded(plan);
  const std::vector<int64_t> offsets = offsets_of(plan, padded);
  const int64_t depth = plan.in_group() * plan.taps(), rows = plan.out_group(), area = plan.out_area();
  const int64_t height = rows <= use.low ? use.low : use.tall, panels = (rows + height - 1) / height;
  // Whole channels.
  const int64_t at_once = std::max<int64_t>(kSteps / plan.taps(), 1) * plan.taps();
  const Tensor image_room = room_for(plan.in_group() * padded.channel() + kSlack);
  const Tensor weight_room = room_for(panels * height * depth);
  float *image = data<float>(image_room), *packed = data<float>(weight_room);
  std::fill_n(image + plan.in_group() * padded.channel(), kSlack, 0.0F);
  const LineRuns runs(plan, use.narrow);
  const int64_t tiles = (runs.count + kMostRuns - 1) / kMostRuns;
  for (int64_t group = 0; group < plan.groups; ++group) {
    for (int64_t panel = 0; panel < panels; ++panel) {
      const int64_t row = panel * height, count = std::min(height, rows - row);
      float* to = packed + row * depth;
      if (count < height) {
        std::fill_n(to, height * depth, 0.0F);
      }
      use.pack_lines(weight + (group * rows + row) * depth, depth, count, height, depth, to);
    }
    for (int64_t number = 0; number < plan.batch; ++number) {
      const float* from = input + (number * plan.in_channels + group * plan.in_group()) * plan.in_area();
      float* to = out + (number * plan.out_channels + group * rows) * area;
      for (int64_t channel = 0; channel < plan.in_group(); ++channel) {
        padded.lay_out(plan, from + channel * plan.in_area(), image + channel * padded.channel());
      }
      for (int64_t first = 0; first < depth; first += at_once) {
#pragma omp parallel for if (rows * area * depth >= kWorthSharing)
        for (int64_t i = 0; i < tiles; ++i) {
          DirectTile tile{};
          tile.height = height;
          tile.steps = std::min(at_once, depth - first);
          tile.offsets = offsets.data() + first;
          tile.row = area;
          tile.adds = first != 0;
          runs.place(tile, i * kMostRuns, plan, padded.pitch, image, to);
          for (int64_t row = 0; row < rows; row += height) {
            tile.rows = std::min(height, rows - row);
            tile.weights = packed + row * depth + first * height;
            tile.bias = bias == nullptr ? nullptr : bias + group * rows + row;
            use.direct(tile);
            for (int64_t run = 0; run < tile.runs; ++run) {
              tile.to[run] += height * area;
            }
          }
        }
      }
    }
  }
}

bool goes_depthwise(const Plan& plan) { return is_flat(plan) && plan.in_group() == 1 && plan.groups > 1; }

void convolve_depthwise(const Plan& plan, const float* input, const float* weight, const float* bias, float* out) {
  const Kernels& use = kernels();
  const Padded padded(plan);
  const std::vector<int64_t> offsets = offsets_of(plan, padded);
  const int64_t width = plan.out[2], height = plan.out[1], taps = plan.taps(), area = plan.out_area();
  // All lines of the output are one run; what lies between them is left out after.
  const int64_t length = (height - 1) * padded.pitch + width, each = padded.channel() + length + 2 * kSlack;
  const int64_t channels = plan.batch * plan.groups;
  // A part for each thread: channels in turns.
  constexpr int64_t kParts = 16;
  const bool shared = channels * plan.out_group() * area * taps >= kWorthSharing;
  const int64_t parts = shared ? std::min(kParts, channels) : 1;
  const Tensor room = room_for(parts * each);
#pragma omp parallel for if (parts > 1)
  for (int64_t part = 0; part < parts; ++part) {
    float *image = data<float>(room) + part * each, *sums = image + padded.channel() + kSlack;
    std::fill_n(image + padded.channel(), kSlack, 0.0F);
    for (int64_t channel = part; channel < channels; channel += parts) {
      padded.lay_out(plan, input + channel * plan.in_area(), image);
      for (int64_t i = 0; i < plan.out_group(); ++i) {
        const int64_t which = channel % plan.groups * plan.out_group() + i;
        float* to = out + (channel * plan.out_group() + i) * area;
        use.weighted(length, taps, weight + which * taps, offsets.data(), image, bias == nullptr ? 0.0F : bias[which],
                     sums);
        for (int64_t y = 0; y < height; ++y) {
          std::copy_n(sums + y * padded.pitch, width, to + y * width);
        }
      }
    }
  }
}

}  // namespace torch2cpp::slim
