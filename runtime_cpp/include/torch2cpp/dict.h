// Dict<K, V>: Python's dict, a reference, in order of insertion.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <torch2cpp/errors.h>
#include <torch2cpp/list.h>
#include <torch2cpp/ordered_table.h>
#include <torch2cpp/protocols.h>
#include <torch2cpp/tuples.h>

namespace torch2cpp {

template <class K, class V>
class Dict {
 public:
  using key_type = K;
  using mapped_type = V;

  // A new, empty dict.
  Dict() : table_(std::make_shared<Table>()) {}

  // Keys and values in turn.
  template <class... Items>
  static Dict of(Items&&... items) {
    static_assert(sizeof...(Items) % 2 == 0);
    Dict out;
    out.fill(std::forward<Items>(items)...);
    return out;
  }

  // From pairs of a key and a value.
  template <std::input_iterator It, class End>
  static Dict from(It begin, End end) {
    Dict out;
    for (; begin != end; ++begin) {
      out.set(static_cast<K>(begin->first), static_cast<V>(begin->second));
    }
    return out;
  }

  int64_t size() const { return static_cast<int64_t>(table_->size()); }
  bool is(const Dict& other) const { return table_ == other.table_; }

  V get(const K& key) const {
    const V* value = table_->find(key);
    if (value == nullptr) {
      missing(key);
    }
    return *value;
  }
  std::optional<V> find(const K& key) const {
    const V* value = table_->find(key);
    return value == nullptr ? std::optional<V>{} : std::optional<V>{*value};
  }
  V get_or(const K& key, V otherwise) const {
    const V* value = table_->find(key);
    return value == nullptr ? std::move(otherwise) : *value;
  }
  void set(const K& key, V value) { table_->set(key, std::move(value)); }
  bool contains(const K& key) const { return table_->find(key) != nullptr; }
  V pop(const K& key) {
    V* value = table_->find(key);
    if (value == nullptr) {
      missing(key);
    }
    V out = std::move(*value);
    table_->erase(key);
    return out;
  }
  void erase(const K& key) {
    if (!table_->erase(key)) {
      missing(key);
    }
  }
  void update(const Dict& other) {
    if (!is(other)) {
      other.table_->for_each([&](const K& key, const V& value) { set(key, value); });
    }
  }
  void clear() { table_->clear(); }
  Dict copy() const {
    Dict out;
    out.update(*this);
    return out;
  }

  List<K> keys() const {
    List<K> out;
    table_->for_each([&](const K& key, const V&) { out.append(key); });
    return out;
  }
  List<V> values() const {
    List<V> out;
    table_->for_each([&](const K&, const V& value) { out.append(value); });
    return out;
  }
  List<std::tuple<K, V>> items() const {
    List<std::tuple<K, V>> out;
    table_->for_each([&](const K& key, const V& value) { out.append({key, value}); });
    return out;
  }

 private:
  using Table = detail::OrderedTable<K, V>;

  void fill() {}
  template <class Key, class Value, class... Items>
  void fill(Key&& key, Value&& value, Items&&... items) {
    set(static_cast<K>(std::forward<Key>(key)), static_cast<V>(std::forward<Value>(value)));
    fill(std::forward<Items>(items)...);
  }
  [[noreturn]] static void missing(const K& key) {
    if constexpr (requires { Text<K>::repr(key); }) {
      raise_key_error(torch2cpp::repr(key));
    } else {
      raise_key_error("key");
    }
  }

  std::shared_ptr<Table> table_;
};

template <class K, class V>
int64_t len(const Dict<K, V>& d) {
  return d.size();
}
template <class K, class V>
bool is_same(const Dict<K, V>& a, const Dict<K, V>& b) {
  return a.is(b);
}

template <class K, class V>
struct Truth<Dict<K, V>> {
  static bool of(const Dict<K, V>& d) { return d.size() != 0; }
};
template <class K, class V>
struct Equality<Dict<K, V>, Dict<K, V>> {
  static bool of(const Dict<K, V>& a, const Dict<K, V>& b) {
    if (a.size() != b.size()) {
      return false;
    }
    for (const auto& [key, value] : a.items()) {
      const std::optional<V> other = b.find(key);
      if (!other || !equal(value, *other)) {
        return false;
      }
    }
    return true;
  }
};
template <class K, class V>
bool operator==(const Dict<K, V>& a, const Dict<K, V>& b) {
  return equal(a, b);
}
template <class K, class V>
struct Text<Dict<K, V>> {
  static std::string repr(const Dict<K, V>& d) {
    std::string out = "{";
    for (const auto& [key, value] : d.items()) {
      out += (out.size() == 1 ? "" : ", ") + torch2cpp::repr(key) + ": " + torch2cpp::repr(value);
    }
    return out + "}";
  }
};

}  // namespace torch2cpp
