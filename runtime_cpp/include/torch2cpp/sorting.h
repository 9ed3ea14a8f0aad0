// The order of a stable sort, as Python's list.sort gives it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include <torch2cpp/errors.h>
#include <torch2cpp/protocols.h>

namespace torch2cpp {
namespace detail {

// Python's sort for fewer than 64 elements, comparison by comparison: with a NaN among the keys
// the result depends on which comparisons are made.
template <class Less>
void binary_insertion_sort(std::vector<std::size_t>& order, Less less) {
  const std::size_t count = order.size();
  if (count < 2) {
    return;
  }
  std::size_t run = 2;
  if (less(order[1], order[0])) {
    while (run < count && less(order[run], order[run - 1])) {
      ++run;
    }
    std::reverse(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(run));
  } else {
    while (run < count && !less(order[run], order[run - 1])) {
      ++run;
    }
  }
  for (; run < count; ++run) {
    const std::size_t pivot = order[run];
    std::size_t low = 0, high = run;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (less(pivot, order[middle])) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    for (std::size_t i = run; i > low; --i) {
      order[i] = order[i - 1];
    }
    order[low] = pivot;
  }
}

}  // namespace detail

// Positions of the keys in sorted order. With NaNs, up to 63 keys are sorted as Python does; more raise.
template <class Keys>
std::vector<std::size_t> sorted_order(const Keys& keys, bool reverse) {
  using Key = typename Keys::value_type;
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto less = [&](std::size_t a, std::size_t b) { return Order<Key>::less(keys[a], keys[b]); };
  // Reversing before and after keeps equal elements in their order.
  if (reverse) {
    std::reverse(order.begin(), order.end());
  }
  if (std::any_of(keys.begin(), keys.end(), [](const Key& key) { return Unordered<Key>::of(key); })) {
    constexpr std::size_t kShort = 64;
    if (keys.size() >= kShort) {
      raise_not_implemented("sorting 64 or more values with NaN among them");
    }
    detail::binary_insertion_sort(order, less);
  } else {
    std::stable_sort(order.begin(), order.end(), less);
  }
  if (reverse) {
    std::reverse(order.begin(), order.end());
  }
  return order;
}

}  // namespace torch2cpp
