#include <algorithm>
#include <limits>

#include <torch2cpp/errors.h>
#include <torch2cpp/slice.h>

namespace torch2cpp {
namespace {

// Elements from start up to stop, in steps; the difference may not fit in 63 bits.
int64_t count_between(int64_t start, int64_t stop, int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) {
    return 0;
  }
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t count = (distance - 1) / stride + 1;
  if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    raise_overflow("Python int too large to convert to C ssize_t");
  }
  return static_cast<int64_t>(count);
}

}  // namespace

Slice Slice::of(int64_t length, Bound start, Bound stop, Bound step) {
  const int64_t by = step.value_or(1);
  if (by == 0) {
    raise_value_error("slice step cannot be zero");
  }
  // A slice with a negative step runs from the last element to just before the first.
  const int64_t low = by < 0 ? -1 : 0, high = by < 0 ? length - 1 : length;
  const auto clamp = [&](Bound bound, int64_t otherwise) {
    if (!bound) {
      return otherwise;
    }
    return *bound < 0 ? std::max(*bound + length, low) : std::min(*bound, high);
  };
  const int64_t from = clamp(start, by < 0 ? high : low), to = clamp(stop, by < 0 ? low : high);
  return {from, by, count_between(from, to, by)};
}

int64_t range_length(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) {
    raise_value_error("range() arg 3 must not be zero");
  }
  return count_between(start, stop, step);
}

}  // namespace torch2cpp
