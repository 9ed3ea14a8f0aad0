// Python's tuples, optionals and unions: std::tuple, std::optional, std::variant, std::shared_ptr of structs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include <torch2cpp/compare.h>
#include <torch2cpp/convert.h>
#include <torch2cpp/protocols.h>
#include <torch2cpp/text.h>

namespace torch2cpp {

// A new object of a user class: fields in the order of the struct.
template <class S, class... Fields>
std::shared_ptr<S> make(Fields&&... fields) {
  return std::make_shared<S>(S{std::forward<Fields>(fields)...});
}

// The same optional with a wider type inside.
template <class To, class From>
To optional_cast(const std::optional<From>& x) {
  return x ? To(typename To::value_type(*x)) : To();
}

// The number of the member that a union holds.
template <class... T>
int64_t union_index(const std::variant<T...>& u) {
  return static_cast<int64_t>(u.index());
}

// Member I of a union, nothing unless it is the one that is there.
template <std::size_t I, class... T>
auto union_get(const std::variant<T...>& u) {
  const auto* member = std::get_if<I>(&u);
  using Member = std::variant_alternative_t<I, std::variant<T...>>;
  return member ? std::optional<Member>(*member) : std::optional<Member>();
}

// Known objects and modules are numbers among those that can be there.
inline bool is_same(int64_t a, int64_t b) { return a == b; }
template <class S>
bool is_same(const std::shared_ptr<S>& a, const std::shared_ptr<S>& b) {
  return a == b;
}
template <class T>
bool is_same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || is_same(*a, *b));
}
template <class... T>
int64_t len(const std::tuple<T...>&) {
  return sizeof...(T);
}

template <class... T>
struct Truth<std::tuple<T...>> {
  static bool of(const std::tuple<T...>&) { return sizeof...(T) != 0; }
};
template <class... A, class... B>
struct Equality<std::tuple<A...>, std::tuple<B...>> {
  static bool of(const std::tuple<A...>& a, const std::tuple<B...>& b) {
    if constexpr (sizeof...(A) == sizeof...(B)) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return (equal(std::get<I>(a), std::get<I>(b)) && ...);
      }(std::index_sequence_for<A...>{});
    } else {
      return false;
    }
  }
};
// The first items that differ decide.
template <class... T>
struct Order<std::tuple<T...>> {
  static bool less(const std::tuple<T...>& a, const std::tuple<T...>& b) { return from<0>(a, b); }

 private:
  template <std::size_t I>
  static bool from(const std::tuple<T...>& a, const std::tuple<T...>& b) {
    if constexpr (I == sizeof...(T)) {
      return false;
    } else if (equal(std::get<I>(a), std::get<I>(b))) {
      return from<I + 1>(a, b);
    } else {
      return Order<std::tuple_element_t<I, std::tuple<T...>>>::less(std::get<I>(a), std::get<I>(b));
    }
  }
};
template <class... T>
struct Hash<std::tuple<T...>> {
  static std::size_t of(const std::tuple<T...>& x) {
    std::size_t seed = sizeof...(T);
    std::apply([&](const auto&... items) { ((seed = combine_hashes(seed, HashOf{}(items))), ...); }, x);
    return seed;
  }
};
template <class... T>
struct Unordered<std::tuple<T...>> {
  static bool of(const std::tuple<T...>& x) {
    return std::apply([](const auto&... items) { return (Unordered<std::decay_t<decltype(items)>>::of(items) || ...); },
                      x);
  }
};
template <class... T>
struct Text<std::tuple<T...>> {
  static std::string repr(const std::tuple<T...>& x) { return "(" + inner(x) + (sizeof...(T) == 1 ? ",)" : ")"); }
  // Items with commas between, for lists of known length.
  static std::string inner(const std::tuple<T...>& x) {
    std::string out;
    [[maybe_unused]] const auto add = [&](const auto& item) {
      out += (out.empty() ? "" : ", ") + torch2cpp::repr(item);
    };
    std::apply([&](const auto&... items) { (add(items), ...); }, x);
    return out;
  }
};
// repr of a Python list whose length is known, which is a std::tuple here.
template <class... T>
std::string list_repr(const std::tuple<T...>& x) {
  return "[" + Text<std::tuple<T...>>::inner(x) + "]";
}

template <class T>
struct Truth<std::optional<T>> {
  static bool of(const std::optional<T>& x) { return x.has_value() && truth(*x); }
};
template <class A, class B>
struct Equality<std::optional<A>, std::optional<B>> {
  static bool of(const std::optional<A>& a, const std::optional<B>& b) {
    return a.has_value() == b.has_value() && (!a.has_value() || equal(*a, *b));
  }
};
template <class A, class B>
struct Equality<std::optional<A>, B> {
  static bool of(const std::optional<A>& a, const B& b) { return a.has_value() && equal(*a, b); }
};
template <class A, class B>
struct Equality<A, std::optional<B>> {
  static bool of(const A& a, const std::optional<B>& b) { return b.has_value() && equal(a, *b); }
};
template <class A>
struct Equality<std::optional<A>, std::monostate> {
  static bool of(const std::optional<A>& a, std::monostate) { return !a.has_value(); }
};
template <class B>
struct Equality<std::monostate, std::optional<B>> {
  static bool of(std::monostate, const std::optional<B>& b) { return !b.has_value(); }
};
template <class T>
struct Hash<std::optional<T>> {
  static std::size_t of(const std::optional<T>& x) { return x ? HashOf{}(*x) : 0; }
};
template <class T>
struct Unordered<std::optional<T>> {
  static bool of(const std::optional<T>& x) { return x && Unordered<T>::of(*x); }
};
template <class T>
struct Text<std::optional<T>> {
  static std::string repr(const std::optional<T>& x) { return x ? torch2cpp::repr(*x) : "None"; }
  static std::string str(const std::optional<T>& x) { return x ? torch2cpp::str(*x) : "None"; }
};

template <class... T>
struct Truth<std::variant<T...>> {
  static bool of(const std::variant<T...>& x) {
    return std::visit([](const auto& item) { return truth(item); }, x);
  }
};
template <class... T>
struct Equality<std::variant<T...>, std::variant<T...>> {
  static bool of(const std::variant<T...>& a, const std::variant<T...>& b) {
    return std::visit(
        []<class X, class Y>(const X& x, const Y& y) {
          if constexpr (std::same_as<X, Y> || (Number<X> && Number<Y>)) {
            return equal(x, y);
          } else {
            return false;
          }
        },
        a, b);
  }
};
// Numbers of several types are ordered by value.
template <Number... T>
struct Order<std::variant<T...>> {
  static bool less(const std::variant<T...>& a, const std::variant<T...>& b) {
    return std::visit([](const auto x, const auto y) { return lt(x, y); }, a, b);
  }
};
template <class... T>
struct Unordered<std::variant<T...>> {
  static bool of(const std::variant<T...>& x) {
    return std::visit([](const auto& item) { return Unordered<std::decay_t<decltype(item)>>::of(item); }, x);
  }
};
template <class... T>
struct Hash<std::variant<T...>> {
  static std::size_t of(const std::variant<T...>& x) {
    return std::visit([](const auto& item) { return HashOf{}(item); }, x);
  }
};
template <class... T>
struct Text<std::variant<T...>> {
  static std::string repr(const std::variant<T...>& x) {
    return std::visit([](const auto& item) { return torch2cpp::repr(item); }, x);
  }
  static std::string str(const std::variant<T...>& x) {
    return std::visit([](const auto& item) { return torch2cpp::str(item); }, x);
  }
};

}  // namespace torch2cpp
