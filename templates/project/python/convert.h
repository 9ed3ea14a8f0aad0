// Values between Python and C++, by kind: tensors are shared, never copied.
#pragma once

#include <array>
#include <cstddef>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <torch/csrc/stable/tensor.h>

#include <torch2cpp/kinds.h>
#include <torch2cpp/shim.h>

#include "tensor_border.h"

namespace torch2cpp::python {

namespace pb = pybind11;

inline std::string type_name(pb::handle value) { return pb::str(pb::type::of(value).attr("__name__")); }

[[noreturn]] inline void unexpected(const std::string& where, const char* expected, pb::handle value) {
  throw pb::type_error(where + ": expected " + expected + ", got " + type_name(value));
}

template <class K>
struct Convert;

template <class K>
typename K::type from_python(pb::handle value, const std::string& where) {
  return Convert<K>::from(value, where);
}
template <class K>
pb::object to_python(const typename K::type& value) {
  return Convert<K>::to(value);
}
// Whether from_python can take a value; tells the members of a union apart.
template <class K>
bool fits(pb::handle value) {
  return Convert<K>::fits(value);
}

template <>
struct Convert<kind::Tensor> {
  static bool fits(pb::handle value) { return pb::isinstance(value, TorchBorder::get().tensor_class); }
  static torch::stable::Tensor from(pb::handle value, const std::string& where) {
    if (!fits(value)) {
      unexpected(where, "a tensor", value);
    }
    return TorchBorder::get().from_python(value);
  }
  static pb::object to(const torch::stable::Tensor& tensor) { return TorchBorder::get().to_python(tensor); }
};

template <>
struct Convert<kind::Bool> {
  static bool fits(pb::handle value) { return pb::isinstance<pb::bool_>(value); }
  static bool from(pb::handle value, const std::string& where) {
    if (!fits(value)) {
      unexpected(where, "bool", value);
    }
    return value.ptr() == Py_True;
  }
  static pb::object to(bool value) { return pb::bool_(value); }
};

// An Enum stands for its value, as it does in the transpiled program.
inline pb::object plain(pb::handle value) {
  return pb::hasattr(value, "_value_") && pb::hasattr(value, "_name_") ? pb::object(value.attr("value"))
                                                                       : pb::reinterpret_borrow<pb::object>(value);
}

template <>
struct Convert<kind::Int> {
  static bool fits(pb::handle value) {
    const pb::object x = plain(value);
    return pb::isinstance<pb::int_>(x) && !pb::isinstance<pb::bool_>(x);
  }
  static int64_t from(pb::handle value, const std::string& where) {
    const pb::object x = plain(value);
    if (!pb::isinstance<pb::int_>(x)) {
      unexpected(where, "int", value);
    }
    const int64_t out = PyLong_AsLongLong(x.ptr());
    if (PyErr_Occurred() != nullptr) {
      throw pb::error_already_set();
    }
    return out;
  }
  static pb::object to(int64_t value) { return pb::int_(value); }
};

template <>
struct Convert<kind::Float> {
  static bool fits(pb::handle value) { return pb::isinstance<pb::float_>(plain(value)); }
  static double from(pb::handle value, const std::string& where) {
    const pb::object x = plain(value);
    if (!pb::isinstance<pb::float_>(x) && !pb::isinstance<pb::int_>(x)) {
      unexpected(where, "float", value);
    }
    return x.cast<double>();
  }
  static pb::object to(double value) { return pb::float_(value); }
};

template <>
struct Convert<kind::Str> {
  static bool fits(pb::handle value) { return pb::isinstance<pb::str>(plain(value)); }
  static std::string from(pb::handle value, const std::string& where) {
    if (!fits(value)) {
      unexpected(where, "str", value);
    }
    return plain(value).cast<std::string>();
  }
  static pb::object to(const std::string& value) { return pb::str(value); }
};

template <>
struct Convert<kind::Complex> {
  static bool fits(pb::handle value) { return PyComplex_Check(value.ptr()) != 0; }
  static std::complex<double> from(pb::handle value, const std::string&) { return value.cast<std::complex<double>>(); }
  static pb::object to(std::complex<double> value) { return pb::cast(value); }
};

template <>
struct Convert<kind::None> {
  static bool fits(pb::handle value) { return value.is_none(); }
  static std::monostate from(pb::handle value, const std::string& where) {
    if (!fits(value)) {
      unexpected(where, "None", value);
    }
    return {};
  }
  static pb::object to(std::monostate) { return pb::none(); }
};

template <class E>
struct Convert<kind::Optional<E>> {
  using T = typename kind::Optional<E>::type;
  static bool fits(pb::handle value) { return value.is_none() || Convert<E>::fits(value); }
  static T from(pb::handle value, const std::string& where) {
    return value.is_none() ? T{} : T(Convert<E>::from(value, where));
  }
  static pb::object to(const T& value) { return value.has_value() ? Convert<E>::to(*value) : pb::object(pb::none()); }
};

// What structs of dicts do with a missing key; where it is there, its value is as any other.
template <class E>
struct Convert<kind::Absent<E>> {
  using T = typename kind::Absent<E>::type;
  static bool fits(pb::handle value) { return Convert<E>::fits(value); }
  static T from(pb::handle value, const std::string& where) { return T(Convert<E>::from(value, where)); }
};
template <class K>
struct Held;
template <class E>
struct Held<kind::Absent<E>> {
  using kind = E;
};
template <class K>
inline constexpr bool may_be_absent = false;
template <class E>
inline constexpr bool may_be_absent<kind::Absent<E>> = true;

// Lists and deques keep their elements in order; the C++ list is a copy, its tensors are shared.
template <class E, bool Deque>
struct ConvertList {
  using T = torch2cpp::List<typename E::type>;
  static bool fits(pb::handle value) {
    if (!pb::isinstance<pb::sequence>(value) || pb::isinstance<pb::str>(value) ||
        (!Deque && !pb::isinstance<pb::list>(value) && !pb::isinstance<pb::tuple>(value))) {
      return false;
    }
    for (const pb::handle item : value) {
      if (!Convert<E>::fits(item)) {
        return false;
      }
    }
    return true;
  }
  static T from(pb::handle value, const std::string& where) {
    if (!pb::isinstance<pb::sequence>(value) || pb::isinstance<pb::str>(value)) {
      unexpected(where, Deque ? "a deque" : "a list", value);
    }
    T out;
    std::size_t i = 0;
    for (const pb::handle item : value) {
      out.append(Convert<E>::from(item, where + "[" + std::to_string(i++) + "]"));
    }
    return out;
  }
  static pb::object to(const T& value) {
    pb::list out;
    for (const auto& item : value.items()) {
      out.append(Convert<E>::to(item));
    }
    return Deque ? pb::module_::import("collections").attr("deque")(out) : pb::object(out);
  }
};
template <class E>
struct Convert<kind::List<E>> : ConvertList<E, false> {};
template <class E>
struct Convert<kind::Deque<E>> : ConvertList<E, true> {};
template <class E>
struct Convert<kind::LongTuple<E>> : ConvertList<E, false> {
  using T = typename kind::LongTuple<E>::type;
  static bool fits(pb::handle value) { return pb::isinstance<pb::tuple>(value) && ConvertList<E, false>::fits(value); }
  static pb::object to(const T& value) { return pb::tuple(ConvertList<E, false>::to(value)); }
};

// Tuples, and lists of known length.
template <bool List, class... E>
struct ConvertTuple {
  using T = std::tuple<typename E::type...>;
  static bool fits(pb::handle value) {
    if ((!pb::isinstance<pb::list>(value) && !pb::isinstance<pb::tuple>(value)) || pb::len(value) != sizeof...(E)) {
      return false;
    }
    const auto items = pb::reinterpret_borrow<pb::sequence>(value);
    std::size_t i = 0;
    return (Convert<E>::fits(pb::object(items[i++])) && ...);
  }
  static T from(pb::handle value, const std::string& where) {
    if (!pb::isinstance<pb::sequence>(value) || pb::len(value) != sizeof...(E)) {
      throw pb::type_error(where + ": expected " + std::to_string(sizeof...(E)) + " values, got " + type_name(value));
    }
    const auto items = pb::reinterpret_borrow<pb::sequence>(value);
    [[maybe_unused]] std::size_t i = 0;
    const auto next = [&]<class K>(K*) {
      const std::size_t at = i++;
      return Convert<K>::from(pb::object(items[at]), where + "[" + std::to_string(at) + "]");
    };
    return T{next(static_cast<E*>(nullptr))...};
  }
  static pb::object to(const T& value) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> pb::object {
      if constexpr (List) {
        pb::list out;
        (out.append(Convert<E>::to(std::get<I>(value))), ...);
        return out;
      } else {
        return pb::make_tuple(Convert<E>::to(std::get<I>(value))...);
      }
    }(std::index_sequence_for<E...>{});
  }
};
template <class... E>
struct Convert<kind::Tuple<E...>> : ConvertTuple<false, E...> {};
template <class... E>
struct Convert<kind::FixedList<E...>> : ConvertTuple<true, E...> {};

template <class K, class V>
struct Convert<kind::Dict<K, V>> {
  using T = typename kind::Dict<K, V>::type;
  static bool fits(pb::handle value) {
    if (!pb::isinstance<pb::dict>(value)) {
      return false;
    }
    for (const auto& [key, item] : pb::reinterpret_borrow<pb::dict>(value)) {
      if (!Convert<K>::fits(key) || !Convert<V>::fits(item)) {
        return false;
      }
    }
    return true;
  }
  static T from(pb::handle value, const std::string& where) {
    if (!pb::isinstance<pb::dict>(value)) {
      unexpected(where, "a dict", value);
    }
    T out;
    for (const auto& [key, item] : pb::reinterpret_borrow<pb::dict>(value)) {
      const std::string name = where + "[" + std::string(pb::repr(key)) + "]";
      out.set(Convert<K>::from(key, name), Convert<V>::from(item, name));
    }
    return out;
  }
  static pb::object to(const T& value) {
    pb::dict out;
    const auto entries = value.items();
    for (const auto& [key, item] : entries.items()) {
      out[Convert<K>::to(key)] = Convert<V>::to(item);
    }
    return out;
  }
};

template <class E>
struct Convert<kind::Set<E>> {
  using T = typename kind::Set<E>::type;
  static bool fits(pb::handle value) { return pb::isinstance<pb::set>(value) || pb::isinstance<pb::frozenset>(value); }
  static T from(pb::handle value, const std::string& where) {
    if (!fits(value)) {
      unexpected(where, "a set", value);
    }
    T out;
    for (const pb::handle item : value) {
      out.add(Convert<E>::from(item, "an element of " + where));
    }
    return out;
  }
  static pb::object to(const T& value) {
    pb::set out;
    const auto members = value.members();
    for (const auto& item : members.items()) {
      out.add(Convert<E>::to(item));
    }
    return out;
  }
};

// What a result of a user's class comes back as: a NamedTuple or a plain class of that name and its fields.
pb::object python_class(const std::string& name, const std::string& form, const pb::list& fields);

template <class S>
struct ConvertStruct {
  using F = Fields<S>;
  using Kinds = typename F::kinds;
  static constexpr std::size_t count = F::names.size();

  static pb::object field(pb::handle value, const char* name) {
    return pb::isinstance<pb::dict>(value) ? pb::object(pb::reinterpret_borrow<pb::dict>(value)[name])
                                           : pb::object(value.attr(name));
  }
  static bool has(pb::handle value, const char* name) {
    return pb::isinstance<pb::dict>(value) ? pb::reinterpret_borrow<pb::dict>(value).contains(name)
                                           : pb::hasattr(value, name);
  }
  static bool fits(pb::handle value) {
    const bool is_dict = std::string_view(F::form) == "dict";
    if (is_dict && !pb::isinstance<pb::dict>(value)) {
      return false;
    }
    std::size_t found = 0;
    const bool all = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (one_fits<std::tuple_element_t<I, Kinds>>(value, F::names[I], found) && ...);
    }(std::make_index_sequence<count>{});
    return all && (!is_dict || pb::len(value) == found);
  }
  template <class K>
  static bool one_fits(pb::handle value, const char* name, std::size_t& found) {
    if (!has(value, name)) {
      return may_be_absent<K>;
    }
    ++found;
    return Convert<K>::fits(field(value, name));
  }
  static S from(pb::handle value, const std::string& where) {
    if (pb::isinstance<pb::dict>(value) && pb::len(value) > count) {
      throw pb::type_error(where + ": a dict with further keys");
    }
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return S{one<std::tuple_element_t<I, Kinds>>(value, F::names[I], where)...};
    }(std::make_index_sequence<count>{});
  }
  template <class K>
  static typename K::type one(pb::handle value, const char* name, const std::string& where) {
    if (!has(value, name)) {
      if constexpr (may_be_absent<K>) {
        return {};
      } else {
        throw pb::type_error(where + ": " + type_name(value) + " lacks " + name);
      }
    }
    return Convert<K>::from(field(value, name), where + "." + name);
  }
  template <class K>
  static void put(pb::dict& out, const char* name, const typename K::type& value) {
    if constexpr (may_be_absent<K>) {
      if (value.has_value()) {
        out[name] = Convert<typename Held<K>::kind>::to(*value);
      }
    } else {
      out[name] = Convert<K>::to(value);
    }
  }
  static pb::object to(const S& value) {
    auto fields = F::tie(const_cast<S&>(value));  // read only
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> pb::object {
      if constexpr (std::string_view(F::form) == "dict") {
        pb::dict out;
        (put<std::tuple_element_t<I, Kinds>>(out, F::names[I], std::get<I>(fields)), ...);
        return out;
      } else {
        // An object that lacks a field is one of a class without it.
        pb::dict held;
        (put<std::tuple_element_t<I, Kinds>>(held, F::names[I], std::get<I>(fields)), ...);
        pb::list names;
        pb::list values;
        for (const auto& [name, item] : held) {
          names.append(name);
          values.append(item);
        }
        return python_class(F::python_name, F::form, names)(*values);
      }
    }(std::make_index_sequence<count>{});
  }
};
template <class S>
struct Convert<kind::Record<S>> : ConvertStruct<S> {};

template <class S>
struct Convert<kind::Object<S>> {
  static bool fits(pb::handle value) { return ConvertStruct<S>::fits(value); }
  static std::shared_ptr<S> from(pb::handle value, const std::string& where) {
    return std::make_shared<S>(ConvertStruct<S>::from(value, where));
  }
  static pb::object to(const std::shared_ptr<S>& value) { return ConvertStruct<S>::to(*value); }
};

template <class... E>
struct Convert<kind::Union<E...>> {
  using T = std::variant<typename E::type...>;
  static bool fits(pb::handle value) { return (Convert<E>::fits(value) || ...); }
  static T from(pb::handle value, const std::string& where) { return pick<0, E...>(value, where); }
  template <std::size_t I, class First, class... Rest>
  static T pick(pb::handle value, const std::string& where) {
    if (Convert<First>::fits(value)) {
      return T(std::in_place_index<I>, Convert<First>::from(value, where));
    }
    if constexpr (sizeof...(Rest) == 0) {
      unexpected(where, "another type", value);
    } else {
      return pick<I + 1, Rest...>(value, where);
    }
  }
  static pb::object to(const T& value) {
    pb::object out;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((value.index() == I ? void(out = Convert<E>::to(*std::get_if<I>(&value))) : void()), ...);
    }(std::index_sequence_for<E...>{});
    return out;
  }
};

// PyError and InputError become the Python exceptions they stand for.
void register_errors(pb::module_& module);

}  // namespace torch2cpp::python
