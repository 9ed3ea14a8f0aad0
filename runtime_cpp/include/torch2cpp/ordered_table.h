// A hash table that keeps the order of insertion; dicts and sets are made of it.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch2cpp/protocols.h>

namespace torch2cpp::detail {

template <class K, class V>
class OrderedTable {
 public:
  using Entry = std::pair<K, V>;

  std::size_t size() const { return index_.size(); }

  V* find(const K& key) {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &entries_[found->second]->second;
  }

  // A new key goes to the end; a known one keeps its place, and its first spelling.
  void set(const K& key, V value) {
    const auto [found, is_new] = index_.try_emplace(key, entries_.size());
    if (is_new) {
      entries_.emplace_back(Entry(key, std::move(value)));
    } else {
      entries_[found->second]->second = std::move(value);
    }
  }

  // Whether the key was there.
  bool erase(const K& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) {
      return false;
    }
    entries_[found->second].reset();
    index_.erase(found);
    // Empty places are taken out once they are the majority, so a pass over the entries stays linear in size().
    if (entries_.size() > 16 && entries_.size() > 2 * index_.size()) {
      compact();
    }
    return true;
  }

  void clear() {
    entries_.clear();
    index_.clear();
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const std::optional<Entry>& entry : entries_) {
      if (entry) {
        visit(entry->first, entry->second);
      }
    }
  }

 private:
  void compact() {
    std::vector<std::optional<Entry>> kept;
    kept.reserve(index_.size());
    for (std::optional<Entry>& entry : entries_) {
      if (entry) {
        index_[entry->first] = kept.size();
        kept.push_back(std::move(entry));
      }
    }
    entries_ = std::move(kept);
  }

  std::vector<std::optional<Entry>> entries_;
  std::unordered_map<K, std::size_t, HashOf, EqualTo> index_;
};

}  // namespace torch2cpp::detail
