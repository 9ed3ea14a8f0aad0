// Set<T>: Python's set of scalars or tuples of them, a reference. Sets of ints, and of tuples of ints, are walked in
// Python's order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include <torch2cpp/errors.h>
#include <torch2cpp/list.h>
#include <torch2cpp/protocols.h>
#include <torch2cpp/set_table.h>
#include <torch2cpp/tuples.h>

namespace torch2cpp {

template <class T>
class Set {
 public:
  using value_type = T;

  // A new, empty set.
  Set() : table_(std::make_shared<Table>()) {}

  template <class... Items>
  static Set of(Items&&... items) {
    Set out;
    (out.add(static_cast<T>(std::forward<Items>(items))), ...);
    return out;
  }

  template <std::input_iterator It, class End>
  static Set from(It begin, End end) {
    Set out;
    for (; begin != end; ++begin) {
      out.add(static_cast<T>(*begin));
    }
    return out;
  }

  int64_t size() const { return static_cast<int64_t>(table_->size()); }
  bool is(const Set& other) const { return table_ == other.table_; }
  void add(const T& x) { table_->add(x); }
  void discard(const T& x) { table_->erase(x); }
  void remove(const T& x) {
    if (!table_->erase(x)) {
      raise_key_error(repr(x));
    }
  }
  bool contains(const T& x) const { return table_->contains(x); }
  void clear() { table_->clear(); }
  Set copy() const {
    Set out;
    out.update(*this);
    return out;
  }
  T pop() {
    if (size() == 0) {
      raise_key_error("'pop from an empty set'");
    }
    return table_->pop();
  }
  void update(const Set& other) { table_->merge(*other.table_); }
  // `update` with a dict that has these keys.
  void update_keys(const List<T>& keys) {
    table_->reserve(keys.items().size());
    for (const T& key : keys.items()) {
      add(key);
    }
  }
  void intersection_update(const Set& other) { table_->keep(*other.table_); }
  void difference_update(const Set& other) { table_->take_out(*other.table_); }
  void symmetric_difference_update(const Set& other) { table_->toggle(*other.table_); }
  // `a | b`, `a & b`, `a - b` and `a ^ b`.
  Set set_union(const Set& other) const {
    Set out = copy();
    if (!is(other)) {
      out.update(other);
    }
    return out;
  }
  Set intersection(const Set& other) const { return Set(table_->common(*other.table_)); }
  Set difference(const Set& other) const { return Set(table_->without(*other.table_)); }
  Set symmetric_difference(const Set& other) const {
    Set out = other.copy();
    out.symmetric_difference_update(*this);
    return out;
  }
  List<T> sorted(bool reverse = false) const {
    List<T> out = members();
    out.sort(reverse);
    return out;
  }
  // The members in Python's order.
  List<T> members() const {
    List<T> out;
    table_->for_each([&](const T& x) { out.append(x); });
    return out;
  }

 private:
  using Table = detail::SetTable<T>;

  explicit Set(Table table) : table_(std::make_shared<Table>(std::move(table))) {}

  std::shared_ptr<Table> table_;
};

template <class T>
int64_t len(const Set<T>& s) {
  return s.size();
}
template <class T>
bool is_same(const Set<T>& a, const Set<T>& b) {
  return a.is(b);
}

template <class T>
struct Truth<Set<T>> {
  static bool of(const Set<T>& s) { return s.size() != 0; }
};
template <class T>
struct Equality<Set<T>, Set<T>> {
  static bool of(const Set<T>& a, const Set<T>& b) {
    if (a.size() != b.size()) {
      return false;
    }
    const List<T> members = a.members();
    return std::all_of(members.items().begin(), members.items().end(), [&](const T& x) { return b.contains(x); });
  }
};
template <class T>
bool operator==(const Set<T>& a, const Set<T>& b) {
  return equal(a, b);
}

}  // namespace torch2cpp
