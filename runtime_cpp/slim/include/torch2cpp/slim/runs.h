// Walks several strided operands of one shape together, a run of equal strides at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <torch2cpp/slim/tensor_impl.h>

namespace torch2cpp::slim {

// The sizes that operands broadcast to. RuntimeError with eager's text where they do not.
Extents broadcast(std::initializer_list<const Impl*> operands);
// RuntimeError unless `from` broadcasts to `to`.
void check_expandable(Shape from, Shape to);

// N operands over one shape; dimensions that all operands run through evenly are joined.
template <std::size_t N>
class Runs {
 public:
  Runs(Shape sizes, const std::array<const Impl*, N>& operands) {
    empty_ = element_count(sizes) == 0;
    for (std::size_t k = 0; k < N; ++k) {
      base_[k] = operands[k]->data();
      width_[k] = static_cast<int64_t>(operands[k]->width());
    }
    for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
      if (sizes[dim] == 1) {
        continue;
      }
      std::array<int64_t, N> steps;
      for (std::size_t k = 0; k < N; ++k) {
        steps[k] = step(*operands[k], sizes, dim);
      }
      if (rank_ != 0 && joins(steps, sizes[dim])) {
        sizes_[rank_ - 1] *= sizes[dim];
        strides_[rank_ - 1] = steps;
      } else {
        sizes_[rank_] = sizes[dim];
        strides_[rank_++] = steps;
      }
    }
  }

  // Calls `visit(pointers, strides in elements, count)` for each run, in the order of the elements.
  template <class Visit>
  void each(Visit visit) const {
    if (empty_) {
      return;
    }
    if (rank_ == 0) {
      visit(base_, std::array<int64_t, N>{}, int64_t{1});
      return;
    }
    std::array<int64_t, kMaxRank> at{};
    std::array<char*, N> now = base_;
    const std::size_t inner = rank_ - 1;
    while (true) {
      visit(now, strides_[inner], sizes_[inner]);
      std::size_t dim = inner;
      while (true) {
        if (dim == 0) {
          return;
        }
        --dim;
        const bool more = ++at[dim] < sizes_[dim];
        for (std::size_t k = 0; k < N; ++k) {
          now[k] += strides_[dim][k] * width_[k] * (more ? 1 : 1 - sizes_[dim]);
        }
        if (more) {
          break;
        }
        at[dim] = 0;
      }
    }
  }

 private:
  static int64_t step(const Impl& t, Shape sizes, std::size_t dim) {
    const std::size_t missing = sizes.size() - static_cast<std::size_t>(t.rank());
    if (dim < missing || t.sizes()[dim - missing] == 1) {
      return 0;
    }
    return t.strides()[dim - missing];
  }
  bool joins(const std::array<int64_t, N>& steps, int64_t size) const {
    for (std::size_t k = 0; k < N; ++k) {
      if (strides_[rank_ - 1][k] != steps[k] * size) {
        return false;
      }
    }
    return true;
  }

  bool empty_ = false;
  std::size_t rank_ = 0;
  std::array<char*, N> base_;
  std::array<int64_t, N> width_;
  std::array<int64_t, kMaxRank> sizes_;
  std::array<std::array<int64_t, N>, kMaxRank> strides_;
};

}  // namespace torch2cpp::slim
