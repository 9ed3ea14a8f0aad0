// Python's slices: which elements start:stop:step means for a length.
#pragma once

#include <cstdint>
#include <optional>

namespace torch2cpp {

using Bound = std::optional<int64_t>;

// `count` elements at start, start + step, ...; bounds are clamped, a zero step raises ValueError.
struct Slice {
  int64_t start, step, count;
  static Slice of(int64_t length, Bound start, Bound stop, Bound step);
};

// Number of elements of range(start, stop, step); a zero step raises ValueError.
int64_t range_length(int64_t start, int64_t stop, int64_t step);

}  // namespace torch2cpp
