// Tuples as structs with named fields.
#pragma once

#include <tuple>
#include <utility>

namespace torch2cpp {

// The struct S made of a tuple's values, in order.
template <class S, class... T>
S as_struct(std::tuple<T...>&& values) {
  return std::apply([](T&... each) { return S{std::move(each)...}; }, values);
}

}  // namespace torch2cpp
