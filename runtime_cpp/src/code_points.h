// Tables of code points, which both files with Unicode data look things up in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace torch2cpp::code_points {

struct Range {
  char32_t first, last;
};

// The last entry that begins at the code point or before; null where all begin after it.
template <typename Entry, std::size_t Size>
const Entry* last_before(const Entry (&entries)[Size], char32_t point) {
  const Entry* after = std::upper_bound(std::begin(entries), std::end(entries), point,
                                        [](char32_t p, const Entry& entry) { return p < entry.first; });
  return after == std::begin(entries) ? nullptr : std::prev(after);
}

template <std::size_t Size>
bool within(const Range (&ranges)[Size], char32_t point) {
  const Range* range = last_before(ranges, point);
  return range != nullptr && point <= range->last;
}

}  // namespace torch2cpp::code_points
