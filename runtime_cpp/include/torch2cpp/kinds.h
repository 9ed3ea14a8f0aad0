// What a parameter or result is in Python, as a C++ type: tells apart what C++ types leave open,
// such as a list of known length and a tuple. Bindings, runner and C API convert values by kind.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include <torch/csrc/stable/tensor.h>

#include <torch2cpp/containers.h>

namespace torch2cpp {

// Fields of an emitted struct; specialised by emitted code:
//   static constexpr const char* python_name, *form ("dict", "namedtuple" or "object");
//   static constexpr std::array<const char*, N> names;   using kinds = std::tuple<kind::...>;
//   static auto tie(S& s);                                references to the fields, in order
template <class S>
struct Fields;

namespace kind {

struct Tensor {
  using type = torch::stable::Tensor;
};
struct Bool {
  using type = bool;
};
struct Int {
  using type = int64_t;
};
struct Float {
  using type = double;
};
struct Str {
  using type = std::string;
};
struct Complex {
  using type = std::complex<double>;
};
struct None {
  using type = std::monostate;
};
template <class E>
struct Optional {
  using type = std::optional<typename E::type>;
};
// A value of a dict whose key may be missing: nullopt where it is.
template <class E>
struct Absent {
  using type = std::optional<typename E::type>;
};
template <class E>
struct List {
  using type = torch2cpp::List<typename E::type>;
};
// collections.deque
template <class E>
struct Deque {
  using type = torch2cpp::List<typename E::type>;
};
// A tuple whose length is decided at run time.
template <class E>
struct LongTuple {
  using type = torch2cpp::List<typename E::type>;
};
template <class... E>
struct Tuple {
  using type = std::tuple<typename E::type...>;
};
// A list of known length.
template <class... E>
struct FixedList {
  using type = std::tuple<typename E::type...>;
};
template <class K, class V>
struct Dict {
  using type = torch2cpp::Dict<typename K::type, typename V::type>;
};
template <class E>
struct Set {
  using type = torch2cpp::Set<typename E::type>;
};
// A dict with known keys, a NamedTuple or a dataclass: a struct held by value.
template <class S>
struct Record {
  using type = S;
};
// An object of a user class: a struct held by reference.
template <class S>
struct Object {
  using type = std::shared_ptr<S>;
};
template <class... E>
struct Union {
  using type = std::variant<typename E::type...>;
};

}  // namespace kind
}  // namespace torch2cpp
