// Tensors as Python sees them from outside: sizes, reading and making values, truth, identity.
//
// A Tensor is a handle; copies are the same tensor. All of it rests on the stable C ABI.
#pragma once

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <torch/csrc/stable/tensor.h>

#include <torch2cpp/list.h>
#include <torch2cpp/protocols.h>
#include <torch2cpp/shim.h>
#include <torch2cpp/tuples.h>

namespace torch2cpp {

using Tensor = torch::stable::Tensor;
using ScalarType = torch::headeronly::ScalarType;

// Sizes or dimensions, from a braced list, a vector or a run-time List.
class Ints {
 public:
  Ints(std::initializer_list<int64_t> items) : items_(items.begin(), items.size()) {}
  Ints(const std::vector<int64_t>& items) : items_(items) {}
  Ints(const List<int64_t>& items) : items_(items.items()) {}
  Ints(std::span<const int64_t> items) : items_(items) {}
  std::span<const int64_t> get() const { return items_; }

 private:
  std::span<const int64_t> items_;
};

// "float32", as Python prints it after "torch.".
std::string_view dtype_name(ScalarType dtype);
// "[2, 3]"
std::string shape_text(std::span<const int64_t> sizes);

std::span<const int64_t> sizes(const Tensor& t);
std::span<const int64_t> strides(const Tensor& t);
inline int64_t numel(const Tensor& t) { return t.numel(); }
inline int64_t rank(const Tensor& t) { return t.dim(); }
// Size of one dimension; a negative one counts from the end. IndexError where there is none.
int64_t size(const Tensor& t, int64_t dim);
// len(t): TypeError for a tensor without dimensions.
int64_t len(const Tensor& t);
// The dimension counted from the front, checked with eager's message against `rank` dimensions.
int64_t wrap_dim(int64_t dim, int64_t rank);
inline bool is_same(const Tensor& a, const Tensor& b) { return a.get() == b.get(); }

namespace detail {

// Elements in place, read through sizes and strides. CPU tensors only.
struct Reader {
  explicit Reader(const Tensor& t);
  // One element as T: bool, int64_t, double or std::complex<double>.
  template <class T>
  T load(int64_t offset) const;

  Tensor tensor;  // keeps the memory
  const char* data;
  ScalarType dtype;
  int64_t element_size;
  std::span<const int64_t> sizes, strides;
};
template <>
bool Reader::load<bool>(int64_t offset) const;
template <>
int64_t Reader::load<int64_t>(int64_t offset) const;
template <>
double Reader::load<double>(int64_t offset) const;
template <>
std::complex<double> Reader::load<std::complex<double>>(int64_t offset) const;

// The reader of a tensor that must have one element.
Reader single(const Tensor& t);

template <class T>
struct NestedReader {
  static T read(const Reader& reader, std::size_t, int64_t offset) { return reader.load<T>(offset); }
};
template <class T>
struct NestedReader<List<T>> {
  static List<T> read(const Reader& reader, std::size_t dim, int64_t offset) {
    List<T> out;
    for (int64_t i = 0; i < reader.sizes[dim]; ++i) {
      out.append(NestedReader<T>::read(reader, dim + 1, offset + i * reader.strides[dim]));
    }
    return out;
  }
};
template <class T>
struct Depth : std::integral_constant<std::size_t, 0> {};
template <class T>
struct Depth<List<T>> : std::integral_constant<std::size_t, 1 + Depth<T>::value> {};

}  // namespace detail

// t.item(): RuntimeError unless there is exactly one element.
template <class T>
T item(const Tensor& t) {
  return detail::single(t).load<T>(0);
}

// t.tolist() as nested lists, or one scalar for a tensor without dimensions.
template <class T>
T to_list(const Tensor& t) {
  const detail::Reader reader(t);
  if (reader.sizes.size() != detail::Depth<T>::value) {
    raise_runtime_error("tolist() of a tensor of another rank than the program was built for");
  }
  return detail::NestedReader<T>::read(reader, 0, 0);
}

// bool(t), with eager's errors.
template <>
struct Truth<Tensor> {
  static bool of(const Tensor& t);
};
// x == y in a container: the same tensor, or bool(x == y).
template <>
struct Equality<Tensor, Tensor> {
  static bool of(const Tensor& a, const Tensor& b);
};
template <>
struct Order<Tensor> {
  static bool less(const Tensor& a, const Tensor& b);
};
template <>
struct Hash<Tensor> {
  static std::size_t of(const Tensor& t) { return std::hash<const void*>{}(t.get()); }
};

// An uninitialized, contiguous CPU tensor.
Tensor empty(Ints sizes, ScalarType dtype);

namespace detail {

// Converts one Python scalar and stores it; raises where the dtype cannot hold it.
void store(void* at, ScalarType dtype, bool value);
void store(void* at, ScalarType dtype, int64_t value);
void store(void* at, ScalarType dtype, double value);
void store(void* at, ScalarType dtype, std::complex<double> value);
void store(void* at, ScalarType dtype, const Tensor& value);

// Fills a new tensor from nested sequences: first the sizes, then the elements in order.
class Builder {
 public:
  template <class T>
  static void measure(std::vector<int64_t>& sizes, const T& x) {
    if constexpr (is_sequence<T>) {
      sizes.push_back(len(x));
      visit_first(x, [&](const auto& first) { measure(sizes, first); });
    }
  }

  Builder(std::vector<int64_t> sizes, ScalarType dtype);

  template <class T>
  void put(const T& x, std::size_t dim = 0) {
    if constexpr (is_sequence<T>) {
      enter(dim, len(x));
      visit_each(x, [&](const auto& item) { put(item, dim + 1); });
    } else {
      leaf(dim);
      if constexpr (Integer<T> && !std::same_as<T, bool>) {
        store(next_, dtype_, static_cast<int64_t>(x));
      } else if constexpr (Real<T>) {
        store(next_, dtype_, static_cast<double>(x));
      } else {
        store(next_, dtype_, x);
      }
      next_ += element_size_;
    }
  }

  const Tensor& tensor() const { return tensor_; }
  bool is_empty() const { return tensor_.numel() == 0; }

 private:
  template <class T>
  struct IsSequence : std::false_type {};
  template <class T>
  struct IsSequence<List<T>> : std::true_type {};
  template <class... T>
  struct IsSequence<std::tuple<T...>> : std::true_type {};
  template <class T>
  static constexpr bool is_sequence = IsSequence<T>::value;

  template <class T, class Visit>
  static void visit_each(const List<T>& xs, Visit visit) {
    for (const T& x : xs.items()) {
      visit(x);
    }
  }
  template <class... T, class Visit>
  static void visit_each(const std::tuple<T...>& xs, Visit visit) {
    std::apply([&](const auto&... items) { (visit(items), ...); }, xs);
  }
  template <class T, class Visit>
  static void visit_first(const List<T>& xs, Visit visit) {
    if (xs.size() != 0) {
      visit(xs.items().front());
    }
  }
  template <class... T, class Visit>
  static void visit_first(const std::tuple<T...>& xs, Visit visit) {
    if constexpr (sizeof...(T) != 0) {
      visit(std::get<0>(xs));
    }
  }

  void enter(std::size_t dim, int64_t length) const;
  void leaf(std::size_t dim) const;

  std::vector<int64_t> sizes_;
  ScalarType dtype_;
  Tensor tensor_;
  char* next_;
  int64_t element_size_;
};

}  // namespace detail

// torch.tensor(data, dtype=dtype) of a scalar or of nested lists of scalars.
template <class T>
Tensor make_tensor(const T& data, ScalarType dtype) {
  std::vector<int64_t> sizes;
  detail::Builder::measure(sizes, data);
  detail::Builder builder(std::move(sizes), dtype);
  if (!builder.is_empty()) {
    builder.put(data);
  }
  return builder.tensor();
}

}  // namespace torch2cpp
