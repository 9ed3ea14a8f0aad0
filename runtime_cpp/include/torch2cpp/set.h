// Set<T>: Python's set of scalars or tuples of them, a reference.
//
// Python iterates a set in an order of its own; only what does not depend on that order is here.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include <torch2cpp/errors.h>
#include <torch2cpp/list.h>
#include <torch2cpp/ordered_table.h>
#include <torch2cpp/protocols.h>
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

  int64_t size() const { return static_cast<int64_t>(table_->size()); }
  bool is(const Set& other) const { return table_ == other.table_; }
  void add(const T& x) {
    if (!contains(x)) {
      table_->set(x, {});
    }
  }
  void discard(const T& x) { table_->erase(x); }
  void remove(const T& x) {
    if (!table_->erase(x)) {
      raise_key_error(repr(x));
    }
  }
  bool contains(const T& x) const { return table_->find(x) != nullptr; }
  void clear() { table_->clear(); }
  Set copy() const {
    Set out;
    out.update(*this);
    return out;
  }
  void update(const Set& other) {
    if (!is(other)) {
      other.table_->for_each([&](const T& x, std::monostate) { add(x); });
    }
  }
  List<T> sorted(bool reverse = false) const {
    List<T> out = unordered();
    out.sort(reverse);
    return out;
  }
  // The members in no order that a result may depend on.
  List<T> unordered() const {
    List<T> out;
    table_->for_each([&](const T& x, std::monostate) { out.append(x); });
    return out;
  }

 private:
  using Table = detail::OrderedTable<T, std::monostate>;
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
    const List<T> members = a.unordered();
    return std::all_of(members.items().begin(), members.items().end(), [&](const T& x) { return b.contains(x); });
  }
};
template <class T>
bool operator==(const Set<T>& a, const Set<T>& b) {
  return equal(a, b);
}

}  // namespace torch2cpp
