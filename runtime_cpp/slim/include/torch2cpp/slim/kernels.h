// Loops over floats that are compiled once for each instruction set; the one at hand is chosen when first asked for.
#pragma once

#include <cstdint>

namespace torch2cpp::slim {

// Vectors of a tile at most.
inline constexpr int64_t kMostRuns = 3;

// Some outputs of a convolution: `rows` channels, each along up to three vectors, with `steps` taps.
struct DirectTile {
  // Channels of the kernel that is run, of which `rows` count; vectors.
  int64_t height, rows, runs, steps;
  // `height` values for each step; where each step's element lies from the first.
  const float* weights;
  const int64_t* offsets;
  // For each vector what its first output meets, where the outputs go, and how many.
  const float* from[kMostRuns];
  float* to[kMostRuns];
  int64_t counts[kMostRuns];
  // Between channels of the output; whether sums are added to what is there, otherwise to `bias`, which may be null.
  int64_t row;
  bool adds;
  const float* bias;
};

struct Kernels {
  // The tile that a panel gives, and the columns of a narrow one.
  int64_t rows, columns, narrow;
  // A tile of the product of packed panels: for each of k steps `rows` values of a, `columns` of b.
  void (*panel)(int64_t k, const float* a, const float* b, float* out);
  // The same with the rows of a where they are.
  void (*panel_of_rows)(int64_t k, const float* const* rows, const float* b, float* out);
  void (*narrow_of_rows)(int64_t k, const float* const* rows, const float* b, float* out);
  // to[step * width + i] = from[i * across + step]; `count` lines, of up to `width`.
  void (*pack_lines)(const float* from, int64_t across, int64_t count, int64_t width, int64_t depth, float* to);
  // Sums of products of a row with four others.
  void (*four_dots)(int64_t k, const float* x, const float* const* rows, float* out);
  // Those of four rows with four others, by row of `x`.
  void (*four_by_four)(int64_t k, const float* const* x, const float* const* rows, float* out);
  // out[j] += x * row[j]
  void (*add_scaled)(int64_t n, float x, const float* row, float* out);
  // out[j] += x[j] * y[j]
  void (*add_products)(int64_t n, const float* x, const float* y, float* out);
  // The row becomes its softmax; gives the logarithm of the sum of the exponentials. A row of -inf becomes zeros.
  float (*softmax)(int64_t n, float* row);
  // Heights of tiles of convolutions.
  int64_t tall, low;
  void (*direct)(const DirectTile& tile);
  // to[i] = start + the sum over steps of weights[step] * from[offsets[step] + i]; reads and writes whole vectors.
  void (*weighted)(int64_t n, int64_t steps, const float* weights, const int64_t* offsets, const float* from,
                   float start, float* to);
};

const Kernels& kernels();

// Makes what products keep for the calling thread, so that its first product need not.
void prepare_thread();

}  // namespace torch2cpp::slim
