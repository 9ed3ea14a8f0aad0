// Nested values as named tensors and texts, the way they stand in .npz and .safetensors files.
//
//   a tensor x             x          a list or tuple x      x.0, x.1, ...
//   a scalar               a tensor without dimensions       a dict or object x     x.key
//   a string               x:str, its UTF-8 bytes            None                   x:none
//   a dict with other keys x.0.key, x.0.value                which member of a union x:member
//   a key that is missing  nothing
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <torch2cpp/errors.h>
#include <torch2cpp/io.h>
#include <torch2cpp/kinds.h>
#include <torch2cpp/tensor.h>

namespace torch2cpp::runner {

// Named values; texts are what the command line gave for scalars and strings.
struct Flat {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> texts;

  // Whether anything belongs to `name`.
  bool has(const std::string& name) const {
    if (texts.count(name) != 0) {
      return true;
    }
    const auto found = tensors.lower_bound(name);
    for (auto it = found; it != tensors.end() && it->first.starts_with(name); ++it) {
      if (it->first.size() == name.size() || it->first[name.size()] == '.' || it->first[name.size()] == ':') {
        return true;
      }
    }
    return false;
  }
  // The next parts of the names below `name`.
  std::set<std::string> children(const std::string& name) const {
    std::set<std::string> out;
    const std::string prefix = name + ".";
    for (const auto& names : {keys(tensors), keys(texts)}) {
      for (const std::string& full : names) {
        if (full.starts_with(prefix)) {
          const std::string rest = full.substr(prefix.size());
          out.insert(rest.substr(0, rest.find_first_of(".:")));
        }
      }
    }
    return out;
  }

 private:
  template <class Map>
  static std::set<std::string> keys(const Map& map) {
    std::set<std::string> out;
    for (const auto& entry : map) {
      out.insert(entry.first);
    }
    return out;
  }
};

template <class K>
struct Flatten;

template <class K>
void flatten(const typename K::type& value, const std::string& name, Flat& out) {
  Flatten<K>::put(value, name, out);
}
// InputError for what is missing or has another form.
template <class K>
typename K::type unflatten(const Flat& flat, const std::string& name) {
  return Flatten<K>::get(flat, name);
}

[[noreturn]] inline void missing(const std::string& name, const char* expected) {
  throw InputError("input", name, expected, "nothing");
}

template <>
struct Flatten<kind::Tensor> {
  static void put(const Tensor& value, const std::string& name, Flat& out) {
    out.tensors.insert_or_assign(name, value);
  }
  static Tensor get(const Flat& flat, const std::string& name) {
    const auto found = flat.tensors.find(name);
    if (found == flat.tensors.end()) {
      missing(name, "a tensor");
    }
    return found->second;
  }
};

inline bool parse(const std::string& text, const std::string& name, bool*) {
  if (text == "true" || text == "True" || text == "1") {
    return true;
  }
  if (text == "false" || text == "False" || text == "0") {
    return false;
  }
  throw InputError("input", name, "True or False", text);
}
inline int64_t parse(const std::string& text, const std::string&, int64_t*) { return to_int(text); }
inline double parse(const std::string& text, const std::string&, double*) { return to_float(text); }
inline std::complex<double> parse(const std::string& text, const std::string&, std::complex<double>*) {
  return {to_float(text), 0.0};
}

template <class T, ScalarType Dtype>
struct FlattenScalar {
  static void put(T value, const std::string& name, Flat& out) {
    out.tensors.insert_or_assign(name, make_tensor(value, Dtype));
  }
  static T get(const Flat& flat, const std::string& name) {
    if (const auto text = flat.texts.find(name); text != flat.texts.end()) {
      return parse(text->second, name, static_cast<T*>(nullptr));
    }
    const auto found = flat.tensors.find(name);
    if (found == flat.tensors.end()) {
      missing(name, "a scalar");
    }
    return item<T>(found->second);
  }
};
template <>
struct Flatten<kind::Bool> : FlattenScalar<bool, ScalarType::Bool> {};
template <>
struct Flatten<kind::Int> : FlattenScalar<int64_t, ScalarType::Long> {};
template <>
struct Flatten<kind::Float> : FlattenScalar<double, ScalarType::Double> {};
template <>
struct Flatten<kind::Complex> : FlattenScalar<std::complex<double>, ScalarType::ComplexDouble> {};

template <>
struct Flatten<kind::Str> {
  static void put(const std::string& value, const std::string& name, Flat& out) {
    out.tensors.insert_or_assign(name + ":str",
                                 tensor_of_bytes(value, Ints({static_cast<int64_t>(value.size())}), ScalarType::Byte));
  }
  static std::string get(const Flat& flat, const std::string& name) {
    if (const auto text = flat.texts.find(name); text != flat.texts.end()) {
      return text->second;
    }
    const auto found = flat.tensors.find(name + ":str");
    if (found == flat.tensors.end()) {
      missing(name, "a string");
    }
    return element_bytes(found->second);
  }
};

template <>
struct Flatten<kind::None> {
  static void put(std::monostate, const std::string& name, Flat& out) {
    out.tensors.insert_or_assign(name + ":none", make_tensor(true, ScalarType::Bool));
  }
  static std::monostate get(const Flat&, const std::string&) { return {}; }
};

template <class E>
struct Flatten<kind::Optional<E>> {
  using T = typename kind::Optional<E>::type;
  static void put(const T& value, const std::string& name, Flat& out) {
    if (value.has_value()) {
      flatten<E>(*value, name, out);
    } else {
      flatten<kind::None>({}, name, out);
    }
  }
  static T get(const Flat& flat, const std::string& name) {
    const bool none = flat.tensors.count(name + ":none") != 0 || !flat.has(name);
    return none ? T{} : T(unflatten<E>(flat, name));
  }
};

template <class E>
struct Flatten<kind::Absent<E>> {
  using T = typename kind::Absent<E>::type;
  static void put(const T& value, const std::string& name, Flat& out) {
    if (value.has_value()) {
      flatten<E>(*value, name, out);
    }
  }
  static T get(const Flat& flat, const std::string& name) { return flat.has(name) ? T(unflatten<E>(flat, name)) : T{}; }
};

inline std::string child(const std::string& name, std::size_t i) { return name + "." + std::to_string(i); }

template <class E>
struct FlattenList {
  using T = torch2cpp::List<typename E::type>;
  static void put(const T& value, const std::string& name, Flat& out) {
    std::size_t i = 0;
    for (const auto& item : value.items()) {
      flatten<E>(item, child(name, i++), out);
    }
  }
  static T get(const Flat& flat, const std::string& name) {
    T out;
    for (std::size_t i = 0; flat.has(child(name, i)); ++i) {
      out.append(unflatten<E>(flat, child(name, i)));
    }
    return out;
  }
};
template <class E>
struct Flatten<kind::List<E>> : FlattenList<E> {};
template <class E>
struct Flatten<kind::Deque<E>> : FlattenList<E> {};
template <class E>
struct Flatten<kind::LongTuple<E>> : FlattenList<E> {};

template <class... E>
struct FlattenTuple {
  using T = std::tuple<typename E::type...>;
  static void put(const T& value, const std::string& name, Flat& out) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (flatten<E>(std::get<I>(value), child(name, I), out), ...);
    }(std::index_sequence_for<E...>{});
  }
  static T get(const Flat& flat, const std::string& name) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return T{unflatten<E>(flat, child(name, I))...};
    }(std::index_sequence_for<E...>{});
  }
};
template <class... E>
struct Flatten<kind::Tuple<E...>> : FlattenTuple<E...> {};
template <class... E>
struct Flatten<kind::FixedList<E...>> : FlattenTuple<E...> {};

template <class K, class V>
struct Flatten<kind::Dict<K, V>> {
  using T = typename kind::Dict<K, V>::type;
  static constexpr bool by_name = std::is_same_v<K, kind::Str>;
  static void put(const T& value, const std::string& name, Flat& out) {
    std::size_t i = 0;
    const auto entries = value.items();
    for (const auto& [key, item] : entries.items()) {
      if constexpr (by_name) {
        flatten<V>(item, name + "." + key, out);
      } else {
        flatten<K>(key, child(name, i) + ".key", out);
        flatten<V>(item, child(name, i) + ".value", out);
      }
      ++i;
    }
  }
  static T get(const Flat& flat, const std::string& name) {
    T out;
    if constexpr (by_name) {
      for (const std::string& key : flat.children(name)) {
        out.set(key, unflatten<V>(flat, name + "." + key));
      }
    } else {
      for (std::size_t i = 0; flat.has(child(name, i)); ++i) {
        out.set(unflatten<K>(flat, child(name, i) + ".key"), unflatten<V>(flat, child(name, i) + ".value"));
      }
    }
    return out;
  }
};

template <class E>
struct Flatten<kind::Set<E>> {
  using T = typename kind::Set<E>::type;
  static void put(const T& value, const std::string& name, Flat& out) {
    flatten<kind::List<E>>(value.sorted(), name, out);
  }
  static T get(const Flat& flat, const std::string& name) {
    T out;
    const auto members = unflatten<kind::List<E>>(flat, name);
    for (const auto& item : members.items()) {
      out.add(item);
    }
    return out;
  }
};

template <class S>
struct FlattenStruct {
  using F = Fields<S>;
  using Kinds = typename F::kinds;
  static constexpr std::size_t count = F::names.size();
  static void put(const S& value, const std::string& name, Flat& out) {
    [[maybe_unused]] auto fields = F::tie(const_cast<S&>(value));  // read only
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (flatten<std::tuple_element_t<I, Kinds>>(std::get<I>(fields), name + "." + F::names[I], out), ...);
    }(std::make_index_sequence<count>{});
  }
  static S get(const Flat& flat, const std::string& name) {
    if (flat.children(name).size() > count) {
      throw InputError("input", name, std::to_string(count) + " values", "more");
    }
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return S{unflatten<std::tuple_element_t<I, Kinds>>(flat, name + "." + F::names[I])...};
    }(std::make_index_sequence<count>{});
  }
};
template <class S>
struct Flatten<kind::Record<S>> : FlattenStruct<S> {};
template <class S>
struct Flatten<kind::Object<S>> {
  static void put(const std::shared_ptr<S>& value, const std::string& name, Flat& out) {
    FlattenStruct<S>::put(*value, name, out);
  }
  static std::shared_ptr<S> get(const Flat& flat, const std::string& name) {
    return std::make_shared<S>(FlattenStruct<S>::get(flat, name));
  }
};

template <class... E>
struct Flatten<kind::Union<E...>> {
  using T = std::variant<typename E::type...>;
  static void put(const T& value, const std::string& name, Flat& out) {
    flatten<kind::Int>(static_cast<int64_t>(value.index()), name + ":member", out);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((value.index() == I ? flatten<E>(*std::get_if<I>(&value), name, out) : void()), ...);
    }(std::index_sequence_for<E...>{});
  }
  static T get(const Flat& flat, const std::string& name) {
    const auto index = static_cast<std::size_t>(unflatten<kind::Int>(flat, name + ":member"));
    T out;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((index == I ? void(out = T(std::in_place_index<I>, unflatten<E>(flat, name))) : void()), ...);
    }(std::index_sequence_for<E...>{});
    return out;
  }
};

}  // namespace torch2cpp::runner
