// Products of float matrices: panels packed for the caches, and the narrow products of single rows.
#include <algorithm>
#include <memory>
#include <new>

#include <torch2cpp/slim/arena.h>
#include <torch2cpp/slim/gemm.h>
#include <torch2cpp/slim/kernels.h>

namespace torch2cpp::slim {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx2,fma")
namespace avx512 {
inline constexpr int kLanes = 16, kRows = 12, kVectors = 2;
#include "gemm_kernel.inc"
}  // namespace avx512
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
inline constexpr int kLanes = 8, kRows = 6, kVectors = 2;
#include "gemm_kernel.inc"
}  // namespace avx2
#pragma GCC pop_options
#endif
namespace plain {
inline constexpr int kLanes = 4, kRows = 6, kVectors = 2;
#include "gemm_kernel.inc"
}  // namespace plain

}  // namespace

const Kernels& kernels() {
#if defined(__x86_64__) && defined(__GNUC__)
  static const Kernels& chosen = __builtin_cpu_supports("avx512f")                                 ? avx512::kKernels
                                 : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2::kKernels
                                                                                                   : plain::kKernels;
  return chosen;
#else
  return plain::kKernels;
#endif
}

namespace {

// Memory of one thread that grows and stays.
class Scratch {
 public:
  float* get(int64_t count) {
    if (count > count_) {
      memory_.reset();
      memory_.reset(static_cast<float*>(arena_allocate_aligned(static_cast<std::size_t>(count) * sizeof(float))));
      count_ = memory_ == nullptr ? 0 : count;
      if (memory_ == nullptr) {
        throw std::bad_alloc();
      }
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(float* memory) const { arena_free(memory); }
  };
  std::unique_ptr<float, Free> memory_;
  int64_t count_ = 0;
};

// A thread's own, by what the numbers are for.
struct Scratches {
  Scratch lines, left, right, few;
};
Scratches& scratches() {
  thread_local Scratches own;
  return own;
}

// Rows of the tallest kernel; depth of a panel, rows of a that stay in the second cache, columns of b in the third.
constexpr int64_t kMostHeight = 12, kDepth = 256, kMostRows = 144, kMostColumns = 2048;
// Steps of dot products of a few rows with many: those few stay in the first cache.
constexpr int64_t kLong = 1024;

// `width` neighbours along `across`, step by step along `along`, filled up with zeros.
void pack(const float* from, int64_t across, int64_t along, int64_t count, int64_t width, int64_t depth, float* to,
          const Kernels& use) {
  if (across == 1 && count == width) {
    for (int64_t step = 0; step < depth; ++step) {
      std::copy_n(from + step * along, width, to + step * width);
    }
    return;
  }
  if (count < width) {
    std::fill_n(to, width * depth, 0.0F);
  }
  if (along == 1) {
    use.pack_lines(from, across, count, width, depth, to);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const float* line = from + i * across;
    for (int64_t step = 0; step < depth; ++step) {
      to[step * width + i] = line[step * along];
    }
  }
}

void scale(int64_t m, int64_t n, float beta, Matrix<float> c) {
  if (beta == 1.0F) {
    return;
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float& at = c.data[i * c.row + j * c.column];
      at = beta == 0.0F ? 0.0F : at * beta;
    }
  }
}

// Two to four rows of a, columns of b contiguous: each of these is read once for all rows.
void few_rows_product(int64_t m, int64_t n, int64_t k, float alpha, Matrix<const float> a, Matrix<const float> b,
                      Matrix<float> c, const Kernels& use) {
  float* lines = scratches().lines.get(m * kLong);
  for (int64_t k0 = 0; k0 < k; k0 += kLong) {
    const int64_t depth = std::min(kLong, k - k0);
    const float *left[4], *right[4];
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t row = std::min(i, m - 1);
      const float* from = a.data + row * a.row + k0 * a.column;
      left[i] = a.column == 1 ? from : lines + row * kLong;
      for (int64_t step = 0; step < depth && a.column != 1 && i < m; ++step) {
        lines[i * kLong + step] = from[step * a.column];
      }
    }
    for (int64_t j = 0; j < n; j += 4) {
      for (int64_t r = 0; r < 4; ++r) {
        right[r] = b.data + std::min(j + r, n - 1) * b.column + k0;
      }
      float sums[16];
      use.four_by_four(depth, left, right, sums);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t r = 0; r < std::min<int64_t>(4, n - j); ++r) {
          c.data[i * c.row + (j + r) * c.column] += alpha * sums[i * 4 + r];
        }
      }
    }
  }
}

// Few rows of a: nothing is used often enough to be worth packing.
void narrow_product(int64_t m, int64_t n, int64_t k, float alpha, Matrix<const float> a, Matrix<const float> b,
                    Matrix<float> c, const Kernels& use) {
  float* row = scratches().lines.get(k + n);
  float* sums = row + k;
  for (int64_t i = 0; i < m; ++i) {
    const float* x = a.data + i * a.row;
    if (a.column != 1) {
      for (int64_t step = 0; step < k; ++step) {
        row[step] = x[step * a.column];
      }
      x = row;
    }
    if (b.row == 1) {
      for (int64_t j = 0; j < n; j += 4) {
        const float* rows[4];
        for (int64_t r = 0; r < 4; ++r) {
          rows[r] = b.data + std::min(j + r, n - 1) * b.column;
        }
        float out[4];
        use.four_dots(k, x, rows, out);
        std::copy_n(out, std::min<int64_t>(4, n - j), sums + j);
      }
    } else {
      std::fill_n(sums, n, 0.0F);
      for (int64_t step = 0; step < k; ++step) {
        use.add_scaled(n, x[step], b.data + step * b.row, sums);
      }
    }
    for (int64_t j = 0; j < n; ++j) {
      c.data[i * c.row + j * c.column] += alpha * sums[j];
    }
  }
}

void add_tile(const float* tile, int64_t width, int64_t rows, int64_t columns, float alpha, Matrix<float> c) {
  for (int64_t i = 0; i < rows; ++i) {
    float* to = c.data + i * c.row;
    if (c.column == 1) {
      for (int64_t j = 0; j < columns; ++j) {
        to[j] += alpha * tile[i * width + j];
      }
    } else {
      for (int64_t j = 0; j < columns; ++j) {
        to[j * c.column] += alpha * tile[i * width + j];
      }
    }
  }
}

void blocked_product(int64_t m, int64_t n, int64_t k, float alpha, Matrix<const float> a, Matrix<const float> b,
                     Matrix<float> c, const Kernels& use) {
  const int64_t width = use.columns, height = use.rows;
  float* right = scratches().right.get((std::min(n, kMostColumns) + width) * std::min(k, kDepth));
  float* left = scratches().left.get((std::min(m, kMostRows) + height) * std::min(k, kDepth) + height * width + 16);
  float* tile = left + ((std::min(m, kMostRows) + height) * std::min(k, kDepth) + 15) / 16 * 16;
  for (int64_t j0 = 0; j0 < n; j0 += kMostColumns) {
    const int64_t columns = std::min(kMostColumns, n - j0);
    for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
      const int64_t depth = std::min(kDepth, k - k0);
      for (int64_t j = 0; j < columns; j += width) {
        pack(b.data + k0 * b.row + (j0 + j) * b.column, b.column, b.row, std::min(width, columns - j), width, depth,
             right + j * depth, use);
      }
      for (int64_t i0 = 0; i0 < m; i0 += kMostRows) {
        const int64_t rows = std::min(kMostRows, m - i0);
        for (int64_t i = 0; i < rows; i += height) {
          pack(a.data + (i0 + i) * a.row + k0 * a.column, a.row, a.column, std::min(height, rows - i), height, depth,
               left + i * depth, use);
        }
        for (int64_t j = 0; j < columns; j += width) {
          for (int64_t i = 0; i < rows; i += height) {
            use.panel(depth, left + i * depth, right + j * depth, tile);
            add_tile(tile, width, std::min(height, rows - i), std::min(width, columns - j), alpha,
                     {c.data + (i0 + i) * c.row + (j0 + j) * c.column, c.row, c.column});
          }
        }
      }
    }
  }
}

// Few columns: the values of a are not used often enough to be worth packing, those of b are.
void few_columns_product(int64_t m, int64_t n, int64_t k, float alpha, Matrix<const float> a, Matrix<const float> b,
                         Matrix<float> c, const Kernels& use) {
  const bool narrow = n <= use.narrow;
  const int64_t width = narrow ? use.narrow : use.columns, height = use.rows, panels = (n + width - 1) / width;
  float* right = scratches().few.get(panels * width * std::min(k, kDepth) + height * width);
  float* tile = right + panels * width * std::min(k, kDepth);
  const float* rows[kMostHeight];
  for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, k - k0);
    for (int64_t j = 0; j < n; j += width) {
      pack(b.data + k0 * b.row + j * b.column, b.column, b.row, std::min(width, n - j), width, depth, right + j * depth,
           use);
    }
    for (int64_t i = 0; i < m; i += height) {
      for (int64_t r = 0; r < height; ++r) {
        rows[r] = a.data + std::min(i + r, m - 1) * a.row + k0;
      }
      for (int64_t j = 0; j < n; j += width) {
        (narrow ? use.narrow_of_rows : use.panel_of_rows)(depth, rows, right + j * depth, tile);
        add_tile(tile, width, std::min(height, m - i), std::min(width, n - j), alpha,
                 {c.data + i * c.row + j * c.column, c.row, c.column});
      }
    }
  }
}

constexpr int64_t kFewRows = 4;
// Panels of columns up to which one matrix stays where it is.
constexpr int64_t kFewPanels = 2;
// Products from which on a second thread pays.
constexpr int64_t kWorthThreads = int64_t{1} << 20;

void product(int64_t m, int64_t n, int64_t k, float alpha, Matrix<const float> a, Matrix<const float> b,
             Matrix<float> c) {
  const Kernels& use = kernels();
  if (m > 1 && m <= kFewRows && b.row == 1) {
    few_rows_product(m, n, k, alpha, a, b, c, use);
  } else if (n > 1 && n <= kFewRows && a.column == 1) {
    few_rows_product(n, m, k, alpha, {b.data, b.column, b.row}, {a.data, a.column, a.row}, {c.data, c.column, c.row},
                     use);
  } else if (m <= kFewRows && (b.row == 1 || b.column == 1)) {
    narrow_product(m, n, k, alpha, a, b, c, use);
  } else if (n <= kFewRows && (a.row == 1 || a.column == 1)) {
    narrow_product(n, m, k, alpha, {b.data, b.column, b.row}, {a.data, a.column, a.row}, {c.data, c.column, c.row},
                   use);
  } else if (n <= kFewPanels * use.columns && a.column == 1 && n <= m) {
    few_columns_product(m, n, k, alpha, a, b, c, use);
  } else if (m <= kFewPanels * use.columns && b.row == 1 && m <= n) {
    few_columns_product(n, m, k, alpha, {b.data, b.column, b.row}, {a.data, a.column, a.row}, {c.data, c.column, c.row},
                        use);
  } else {
    blocked_product(m, n, k, alpha, a, b, c, use);
  }
}

}  // namespace

void prepare_thread() { static_cast<void>(scratches()); }

template <>
void gemm<float>(int64_t m, int64_t n, int64_t k, float alpha, Matrix<const float> a, Matrix<const float> b, float beta,
                 Matrix<float> c) {
  scale(m, n, beta, c);
  if (m == 0 || n == 0 || k == 0 || alpha == 0.0F) {
    return;
  }
  // Parts along the longer side; each is a product of its own.
  const int64_t most = std::max(m, n);
  const int64_t parts = m * n * k < kWorthThreads ? 1 : std::min<int64_t>((most + 63) / 64, 64);
  const int64_t part = ((most + parts - 1) / parts + 31) / 32 * 32;
#pragma omp parallel for if (parts > 1)
  for (int64_t start = 0; start < most; start += part) {
    const int64_t size = std::min(part, most - start);
    if (n >= m) {
      product(m, size, k, alpha, a, {b.data + start * b.column, b.row, b.column},
              {c.data + start * c.column, c.row, c.column});
    } else {
      product(size, n, k, alpha, {a.data + start * a.row, a.row, a.column}, b,
              {c.data + start * c.row, c.row, c.column});
    }
  }
}

}  // namespace torch2cpp::slim
