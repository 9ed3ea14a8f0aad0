// The hash table of a set, laid out as CPython 3.11 does it: its order is the order in which Python walks the set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <torch2cpp/protocols.h>
#include <torch2cpp/tuples.h>

namespace torch2cpp::detail {

// hash(x) of CPython for ints, bools and tuples of them. Others have some hash: Python's own is another in each
// process (strings) or depends on addresses, so that nobody walks sets of those.
template <class T>
struct PythonHash {
  static uint64_t of(const T& x) { return HashOf{}(x); }
};
template <>
struct PythonHash<int64_t> {
  static uint64_t of(int64_t x) {
    constexpr int64_t modulus = (int64_t{1} << 61) - 1;
    const int64_t hash = x % modulus;
    return static_cast<uint64_t>(hash == -1 ? -2 : hash);
  }
};
template <>
struct PythonHash<bool> {
  static uint64_t of(bool x) { return x ? 1 : 0; }
};
template <class... T>
struct PythonHash<std::tuple<T...>> {
  static uint64_t of(const std::tuple<T...>& x) {
    constexpr uint64_t prime1 = 11400714785074694791U, prime2 = 14029467366897019727U, prime5 = 2870177450012600261U;
    uint64_t hash = prime5;
    const auto mix = [&hash](uint64_t lane) {
      hash += lane * prime2;
      hash = (hash << 31) | (hash >> 33);
      hash *= prime1;
    };
    std::apply([&mix](const auto&... items) { (mix(PythonHash<std::decay_t<decltype(items)>>::of(items)), ...); }, x);
    hash += sizeof...(T) ^ (prime5 ^ 3527539U);
    return hash == std::numeric_limits<uint64_t>::max() ? 1546275796U : hash;
  }
};

template <class T>
class SetTable {
 public:
  std::size_t size() const { return used_; }

  bool contains(const T& x) const { return find(x, PythonHash<T>::of(x)).found; }

  void add(const T& x) { add(x, PythonHash<T>::of(x)); }

  // Whether it was there.
  bool erase(const T& x) {
    const Place place = find(x, PythonHash<T>::of(x));
    if (place.found) {
      slots_[place.at].leave();
      --used_;
    }
    return place.found;
  }

  void clear() {
    slots_.assign(smallest, {});
    fill_ = used_ = 0;
  }

  // Makes room for so many more members.
  void reserve(std::size_t more) {
    if (crowded(fill_ + more)) {
      resize((used_ + more) * 2);
    }
  }

  // Takes in all members of another table.
  void merge(const SetTable& other) {
    if (this == &other || other.used_ == 0) {
      return;
    }
    reserve(other.used_);
    const bool same_layout = slots_.size() == other.slots_.size() && other.fill_ == other.used_;
    if (fill_ == 0 && same_layout) {
      slots_ = other.slots_;
      fill_ = used_ = other.used_;
    } else if (fill_ == 0) {
      fill_ = used_ = other.used_;
      other.for_each_slot([this](const Slot& slot) { insert_clean(slot); });
    } else {
      other.for_each_slot([this](const Slot& slot) { add(*slot.key, slot.hash); });
    }
  }

  // What is in both tables.
  SetTable common(const SetTable& other) const {
    SetTable out;
    if (this == &other) {
      out.merge(*this);
      return out;
    }
    const bool swap = other.used_ > used_;
    const SetTable &walked = swap ? *this : other, &asked = swap ? other : *this;
    walked.for_each_slot([&](const Slot& slot) {
      if (asked.find(*slot.key, slot.hash).found) {
        out.add(*slot.key, slot.hash);
      }
    });
    return out;
  }

  // Keeps what is in the other table too.
  void keep(const SetTable& other) {
    SetTable both = common(other);
    slots_.swap(both.slots_);
    fill_ = used_ = both.used_;
  }

  // What is in this table only.
  SetTable without(const SetTable& other) const {
    SetTable out;
    if (used_ >> 2 > other.used_) {
      out.merge(*this);
      out.take_out(other);
      return out;
    }
    for_each_slot([&](const Slot& slot) {
      if (!other.find(*slot.key, slot.hash).found) {
        out.add(*slot.key, slot.hash);
      }
    });
    return out;
  }

  // Takes out what is in another table.
  void take_out(const SetTable& other) {
    if (this == &other) {
      clear();
      return;
    }
    other.for_each([this](const T& x) { erase(x); });
    if (fill_ - used_ > (slots_.size() - 1) / 4) {
      resize(grown());
    }
  }

  // Keeps what is in exactly one of the two tables.
  void toggle(const SetTable& other) {
    if (this == &other) {
      clear();
      return;
    }
    other.for_each([this](const T& x) {
      if (!erase(x)) {
        add(x);
      }
    });
  }

  // Takes the first member from where the last search ended, or from the start; the table is not empty.
  T pop() {
    std::size_t at = finger_ % slots_.size();
    while (!slots_[at].key) {
      at = (at + 1) % slots_.size();
    }
    T out = std::move(*slots_[at].key);
    slots_[at].leave();
    --used_;
    finger_ = at + 1;
    return out;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for_each_slot([&visit](const Slot& slot) { visit(*slot.key); });
  }

 private:
  static constexpr std::size_t smallest = 8, linear_probes = 9, perturb_shift = 5;

  struct Slot {
    std::optional<T> key;
    uint64_t hash = 0;
    // Whether a member was here, so that searches go on.
    bool left = false;

    bool unused() const { return !key && !left; }
    void leave() {
      key.reset();
      left = true;
    }
  };
  // Where a key is, or would be put.
  struct Place {
    std::size_t at;
    bool found;
  };

  // Calls `visit` with the numbers of slots in the order of a search, until it returns true.
  template <class Visit>
  void probe(uint64_t hash, Visit visit) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    uint64_t perturb = hash;
    while (true) {
      const std::size_t last = i + linear_probes <= mask ? i + linear_probes : i;
      for (std::size_t at = i; at <= last; ++at) {
        if (visit(at)) {
          return;
        }
      }
      perturb >>= perturb_shift;
      i = (i * 5 + 1 + perturb) & mask;
    }
  }

  Place find(const T& x, uint64_t hash) const {
    Place out{0, false};
    std::optional<std::size_t> left;
    probe(hash, [&](std::size_t at) {
      const Slot& slot = slots_[at];
      if (slot.left) {
        left = at;
        return false;
      }
      out.at = at;
      out.found = slot.key && slot.hash == hash && EqualTo{}(*slot.key, x);
      return out.found || !slot.key;
    });
    if (!out.found && left) {
      out.at = *left;
    }
    return out;
  }

  void add(const T& x, uint64_t hash) {
    const Place place = find(x, hash);
    if (place.found) {
      return;
    }
    const bool unused = slots_[place.at].unused();
    slots_[place.at] = Slot{x, hash, false};
    ++used_;
    if (unused && crowded(++fill_)) {
      resize(grown());
    }
  }

  void insert_clean(const Slot& slot) {
    probe(slot.hash, [&](std::size_t at) {
      if (slots_[at].key) {
        return false;
      }
      slots_[at] = slot;
      return true;
    });
  }

  bool crowded(std::size_t filled) const { return filled * 5 >= (slots_.size() - 1) * 3; }
  std::size_t grown() const { return used_ > 50000 ? used_ * 2 : used_ * 4; }

  // Makes room for more than `least` members.
  void resize(std::size_t least) {
    std::size_t size = smallest;
    while (size <= least) {
      size *= 2;
    }
    if (size == smallest && slots_.size() == smallest && fill_ == used_) {
      return;
    }
    std::vector<Slot> old(size);
    old.swap(slots_);
    fill_ = used_;
    for (const Slot& slot : old) {
      if (slot.key) {
        insert_clean(slot);
      }
    }
  }

  template <class Visit>
  void for_each_slot(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key) {
        visit(slot);
      }
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(smallest);
  // Slots that are or were in use, and members.
  std::size_t fill_ = 0, used_ = 0;
  // Where pop() goes on.
  std::size_t finger_ = 0;
};

}  // namespace torch2cpp::detail
