// List<T>: Python's list (and deque), a reference: copies of the handle see each other's changes.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <torch2cpp/arithmetic.h>
#include <torch2cpp/compare.h>
#include <torch2cpp/convert.h>
#include <torch2cpp/errors.h>
#include <torch2cpp/protocols.h>
#include <torch2cpp/slice.h>
#include <torch2cpp/sorting.h>
#include <torch2cpp/text.h>

namespace torch2cpp {

// sum(list): `static auto of(const List<T>&)`.
template <class T>
struct Sum;

template <class T>
class List {
 public:
  using value_type = T;
  // A vector of bools has no elements to refer to.
  using Storage = std::conditional_t<std::same_as<T, bool>, std::deque<bool>, std::vector<T>>;

  // A new, empty list.
  List() : items_(std::make_shared<Storage>()) {}
  List(std::initializer_list<T> items) : items_(std::make_shared<Storage>(items)) {}

  template <class... Items>
  static List of(Items&&... items) {
    List out;
    if constexpr (std::same_as<Storage, std::vector<T>>) {
      out.items_->reserve(sizeof...(items));
    }
    (out.items_->push_back(static_cast<T>(std::forward<Items>(items))), ...);
    return out;
  }
  template <std::input_iterator It, class End>
  static List from(It begin, End end) {
    List out;
    for (; begin != end; ++begin) {
      out.items_->push_back(static_cast<T>(*begin));
    }
    return out;
  }

  int64_t size() const { return static_cast<int64_t>(items_->size()); }
  bool is(const List& other) const { return items_ == other.items_; }
  // The elements, for C++ code; not to be changed while they are iterated.
  const Storage& items() const& { return *items_; }
  const Storage& items() const&& = delete;

  T get(int64_t index) const { return (*items_)[position(index, "list index out of range")]; }
  // Of what Python calls by another name, such as a tuple.
  T get(int64_t index, std::string_view noun) const {
    const int64_t at = index < 0 ? index + size() : index;
    if (at < 0 || at >= size()) {
      raise_index_error(std::string(noun) + " index out of range");
    }
    return (*items_)[static_cast<std::size_t>(at)];
  }
  void set(int64_t index, T value) {
    (*items_)[position(index, "list assignment index out of range")] = std::move(value);
  }

  void append(T value) { items_->push_back(std::move(value)); }
  void extend(const List& other) {
    // The other list may be this one.
    const auto count = other.items_->size();
    for (std::size_t i = 0; i < count; ++i) {
      items_->push_back((*other.items_)[i]);
    }
  }
  void insert(int64_t index, T value) {
    const int64_t at = std::clamp<int64_t>(index < 0 ? index + size() : index, 0, size());
    items_->insert(items_->begin() + at, std::move(value));
  }
  T pop(int64_t index = -1) {
    if (items_->empty()) {
      raise_index_error("pop from empty list");
    }
    const auto at = position(index, "pop index out of range");
    T out = std::move((*items_)[at]);
    items_->erase(items_->begin() + static_cast<std::ptrdiff_t>(at));
    return out;
  }
  template <class V>
  void remove(const V& value) {
    const int64_t at = find(value);
    if (at < 0) {
      raise_value_error("list.remove(x): x not in list");
    }
    items_->erase(items_->begin() + at);
  }
  void erase(int64_t index) {
    items_->erase(items_->begin() + static_cast<std::ptrdiff_t>(position(index, "list assignment index out of range")));
  }
  void clear() { items_->clear(); }

  List slice(Bound start, Bound stop, Bound step = {}) const {
    const Slice s = Slice::of(size(), start, stop, step);
    List out;
    for (int64_t i = 0; i < s.count; ++i) {
      out.append((*items_)[static_cast<std::size_t>(s.start + i * s.step)]);
    }
    return out;
  }
  // xs[start:stop:step] = values
  void set_slice(Bound start, Bound stop, Bound step, const List& values) {
    const Slice s = Slice::of(size(), start, stop, step);
    const List source = values.is(*this) ? values.copy() : values;
    if (step.value_or(1) == 1) {
      items_->erase(items_->begin() + s.start, items_->begin() + s.start + s.count);
      items_->insert(items_->begin() + s.start, source.items_->begin(), source.items_->end());
      return;
    }
    if (source.size() != s.count) {
      raise_value_error("attempt to assign sequence of size " + std::to_string(source.size()) +
                        " to extended slice of size " + std::to_string(s.count));
    }
    for (int64_t i = 0; i < s.count; ++i) {
      (*items_)[static_cast<std::size_t>(s.start + i * s.step)] = (*source.items_)[static_cast<std::size_t>(i)];
    }
  }
  void erase_slice(Bound start, Bound stop, Bound step = {}) {
    const Slice s = Slice::of(size(), start, stop, step);
    // From the end, so that the other positions stay.
    for (int64_t i = s.count; i-- > 0;) {
      const int64_t from_end = s.step > 0 ? i : s.count - 1 - i;
      items_->erase(items_->begin() + (s.start + from_end * s.step));
    }
  }

  List copy() const { return from(items_->begin(), items_->end()); }
  List concat(const List& other) const {
    List out = copy();
    out.extend(other);
    return out;
  }
  List repeat(int64_t times) const {
    List out;
    for (int64_t i = 0; i < times; ++i) {
      out.extend(*this);
    }
    return out;
  }
  void reverse() { std::reverse(items_->begin(), items_->end()); }
  List reversed() const { return from(items_->rbegin(), items_->rend()); }

  template <class V>
  bool contains(const V& value) const {
    return find(value) >= 0;
  }
  template <class V>
  int64_t index(const V& value) const {
    const int64_t at = find(value);
    if (at < 0) {
      raise_value_error(not_in_list(value));
    }
    return at;
  }
  template <class V>
  int64_t count(const V& value) const {
    int64_t out = 0;
    for (std::size_t i = 0; i < items_->size(); ++i) {
      out += equal(T((*items_)[i]), value) ? 1 : 0;
    }
    return out;
  }

  // Stable, as Python's; `reverse` keeps the order of equals.
  void sort(bool reverse = false) { sort_by(*this, reverse); }
  // Sorts by keys, one per element.
  template <class K>
  void sort_by(const List<K>& keys, bool reverse = false) {
    const std::vector<std::size_t> order = sorted_order(keys.items(), reverse);
    Storage out;
    for (const std::size_t i : order) {
      out.push_back(std::move((*items_)[i]));
    }
    *items_ = std::move(out);
  }
  List sorted(bool reverse = false) const {
    List out = copy();
    out.sort(reverse);
    return out;
  }

  auto sum() const { return Sum<T>::of(*this); }
  T min() const {
    return extreme("min", [](const T& a, const T& b) { return Order<T>::less(a, b); });
  }
  T max() const {
    return extreme("max", [](const T& a, const T& b) { return Order<T>::less(b, a); });
  }
  bool any() const {
    return std::any_of(items_->begin(), items_->end(), [](const T& x) { return truth(x); });
  }
  bool all() const {
    return std::all_of(items_->begin(), items_->end(), [](const T& x) { return truth(x); });
  }

  // Iterates as Python does: elements appended meanwhile are reached too.
  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    Iterator() = default;
    explicit Iterator(std::shared_ptr<const Storage> items) : items_(std::move(items)) {}
    T operator*() const { return (*items_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    void operator++(int) { ++at_; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.at_ >= it.items_->size(); }

   private:
    std::shared_ptr<const Storage> items_;
    std::size_t at_ = 0;
  };
  Iterator begin() const { return Iterator(items_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::size_t position(int64_t index, const char* message) const {
    const int64_t at = index < 0 ? index + size() : index;
    if (at < 0 || at >= size()) {
      raise_index_error(message);
    }
    return static_cast<std::size_t>(at);
  }

  template <class V>
  int64_t find(const V& value) const {
    for (std::size_t i = 0; i < items_->size(); ++i) {
      if (equal(T((*items_)[i]), value)) {
        return static_cast<int64_t>(i);
      }
    }
    return -1;
  }

  template <class V>
  static std::string not_in_list(const V& value) {
    if constexpr (requires { Text<V>::repr(value); }) {
      return torch2cpp::repr(value) + " is not in list";
    } else if constexpr (std::convertible_to<const V&, T> && requires(const T& x) { Text<T>::repr(x); }) {
      return torch2cpp::repr(T(value)) + " is not in list";
    } else {
      return "x is not in list";
    }
  }

  template <class Before>
  T extreme(const char* name, Before before) const {
    if (items_->empty()) {
      raise_value_error(std::string(name) + "() arg is an empty sequence");
    }
    T best = (*items_)[0];
    for (std::size_t i = 1; i < items_->size(); ++i) {
      if (before((*items_)[i], best)) {
        best = (*items_)[i];
      }
    }
    return best;
  }

  std::shared_ptr<Storage> items_;
};

template <class T>
int64_t len(const List<T>& xs) {
  return xs.size();
}
template <class T>
bool is_same(const List<T>& a, const List<T>& b) {
  return a.is(b);
}

// list(range(start, stop, step))
inline List<int64_t> range(int64_t start, int64_t stop, int64_t step) {
  List<int64_t> out;
  const int64_t count = range_length(start, stop, step);
  for (int64_t i = 0; i < count; ++i) {
    out.append(start + i * step);
  }
  return out;
}
inline List<int64_t> range(int64_t start, int64_t stop) { return range(start, stop, 1); }
inline List<int64_t> range(int64_t stop) { return range(0, stop, 1); }

template <Number T>
struct Sum<T> {
  static auto of(const List<T>& xs) {
    std::conditional_t<Real<T>, double, int64_t> total = 0;
    for (const T x : xs) {
      total = add(total, x);
    }
    return total;
  }
};
template <class T>
struct Sum<List<T>> {
  static List<T> of(const List<List<T>>& xs) {
    List<T> total;
    for (const List<T>& x : xs) {
      total.extend(x);
    }
    return total;
  }
};

template <class T>
struct Truth<List<T>> {
  static bool of(const List<T>& xs) { return xs.size() != 0; }
};
template <class A, class B>
struct Equality<List<A>, List<B>> {
  static bool of(const List<A>& a, const List<B>& b) {
    if (a.size() != b.size()) {
      return false;
    }
    for (int64_t i = 0; i < a.size(); ++i) {
      if (!equal(a.get(i), b.get(i))) {
        return false;
      }
    }
    return true;
  }
};
template <class T>
bool operator==(const List<T>& a, const List<T>& b) {
  return equal(a, b);
}
template <class T>
bool operator<(const List<T>& a, const List<T>& b) {
  for (int64_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!equal(a.get(i), b.get(i))) {
      return Order<T>::less(a.get(i), b.get(i));
    }
  }
  return a.size() < b.size();
}
template <class T>
bool list_less(const List<T>& a, const List<T>& b) {
  return a < b;
}
// A tuple of run-time length is a list that nobody changes: it may be a key.
template <class T>
struct Hash<List<T>> {
  static std::size_t of(const List<T>& xs) {
    std::size_t seed = static_cast<std::size_t>(xs.size());
    for (const T& x : xs.items()) {
      seed = combine_hashes(seed, HashOf{}(x));
    }
    return seed;
  }
};
template <class T>
struct Unordered<List<T>> {
  static bool of(const List<T>& xs) {
    return std::any_of(xs.items().begin(), xs.items().end(), [](const T& x) { return Unordered<T>::of(x); });
  }
};
template <class T>
struct Text<List<T>> {
  static std::string repr(const List<T>& xs) {
    std::string out = "[";
    for (int64_t i = 0; i < xs.size(); ++i) {
      out += (i == 0 ? "" : ", ") + torch2cpp::repr(xs.get(i));
    }
    return out + "]";
  }
};

}  // namespace torch2cpp
