#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <torch/csrc/stable/stableivalue_conversions.h>

#include <torch2cpp/dispatch.h>
#include <torch2cpp/tensor.h>

namespace torch2cpp {
namespace {

namespace st = torch::headeronly;

// Calls `visit` with a null pointer of the C++ type of the elements.
template <class Visit>
auto with_type(ScalarType dtype, Visit visit) {
  switch (dtype) {
    case ScalarType::Bool:
      return visit(static_cast<bool*>(nullptr));
    case ScalarType::Byte:
      return visit(static_cast<uint8_t*>(nullptr));
    case ScalarType::Char:
      return visit(static_cast<int8_t*>(nullptr));
    case ScalarType::Short:
      return visit(static_cast<int16_t*>(nullptr));
    case ScalarType::Int:
      return visit(static_cast<int32_t*>(nullptr));
    case ScalarType::Long:
      return visit(static_cast<int64_t*>(nullptr));
    case ScalarType::UInt16:
      return visit(static_cast<uint16_t*>(nullptr));
    case ScalarType::UInt32:
      return visit(static_cast<uint32_t*>(nullptr));
    case ScalarType::UInt64:
      return visit(static_cast<uint64_t*>(nullptr));
    case ScalarType::Half:
      return visit(static_cast<st::Half*>(nullptr));
    case ScalarType::BFloat16:
      return visit(static_cast<st::BFloat16*>(nullptr));
    case ScalarType::Float:
      return visit(static_cast<float*>(nullptr));
    case ScalarType::Double:
      return visit(static_cast<double*>(nullptr));
    case ScalarType::Float8_e5m2:
      return visit(static_cast<st::Float8_e5m2*>(nullptr));
    case ScalarType::Float8_e4m3fn:
      return visit(static_cast<st::Float8_e4m3fn*>(nullptr));
    case ScalarType::Float8_e5m2fnuz:
      return visit(static_cast<st::Float8_e5m2fnuz*>(nullptr));
    case ScalarType::Float8_e4m3fnuz:
      return visit(static_cast<st::Float8_e4m3fnuz*>(nullptr));
    case ScalarType::ComplexFloat:
      return visit(static_cast<c10::complex<float>*>(nullptr));
    case ScalarType::ComplexDouble:
      return visit(static_cast<c10::complex<double>*>(nullptr));
    default:
      raise_not_implemented("elements of dtype " + std::string(dtype_name(dtype)) + " on the host");
  }
}

template <class E>
constexpr bool is_complex = std::is_same_v<E, c10::complex<float>> || std::is_same_v<E, c10::complex<double>>;

// An element as a double; integers and narrow floats all fit or round as Python's float() does.
template <class E>
double as_double(E element) {
  if constexpr (std::is_arithmetic_v<E>) {
    return static_cast<double>(element);
  } else {
    return static_cast<double>(static_cast<float>(element));
  }
}

[[noreturn]] void does_not_fit(ScalarType dtype) {
  raise_runtime_error("value cannot be converted to type " + std::string(dtype_name(dtype)) + " without overflow");
}

// Eager lets negative numbers wrap into unsigned types where their size fits.
template <class E>
bool int_fits(int64_t value) {
  if constexpr (std::is_same_v<E, uint64_t>) {
    if (value < 0) {
      raise_overflow("can't convert negative int to unsigned");
    }
    return true;
  } else if constexpr (std::is_unsigned_v<E>) {
    const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    return size <= std::numeric_limits<E>::max();
  } else {
    return value >= std::numeric_limits<E>::min() && value <= std::numeric_limits<E>::max();
  }
}

template <class E>
bool float_fits(double value) {
  // One more than the largest is exact in a double for every width.
  const double past = std::ldexp(1.0, std::numeric_limits<E>::digits);
  return value >= static_cast<double>(std::numeric_limits<E>::min()) && value < past;
}

template <class E>
bool float_in_range(double value) {
  // Eager compares before it truncates: 255.5 is too much for uint8, -0.5 too.
  if constexpr (std::numeric_limits<E>::digits < 53) {
    return value >= static_cast<double>(std::numeric_limits<E>::min()) &&
           value <= static_cast<double>(std::numeric_limits<E>::max());
  } else {
    return float_fits<E>(value);
  }
}

template <class Value>
void store_number(void* at, ScalarType dtype, Value value) {
  with_type(dtype, [&]<class E>(E*) {
    E out{};
    if constexpr (std::is_same_v<E, bool>) {
      out = value != Value{};
    } else if constexpr (std::is_integral_v<E>) {
      bool fits = false;
      if constexpr (std::is_same_v<Value, double>) {
        fits = float_in_range<E>(value);
      } else {
        fits = int_fits<E>(value);
      }
      if (!fits) {
        does_not_fit(dtype);
      }
      out = static_cast<E>(value);
    } else if constexpr (is_complex<E>) {
      out = E(static_cast<typename E::value_type>(static_cast<double>(value)));
    } else if constexpr (std::is_same_v<E, double>) {
      out = static_cast<double>(value);
    } else {
      out = static_cast<E>(static_cast<float>(static_cast<double>(value)));
    }
    *static_cast<E*>(at) = out;
  });
}

Tensor compare_elements(const char* name, const Tensor& a, const Tensor& b) {
  return dispatch<Tensor>(name, "Tensor", a, b);
}

}  // namespace

std::string_view dtype_name(ScalarType dtype) {
  constexpr std::array<std::pair<ScalarType, std::string_view>, 20> kNames{{
      {ScalarType::Bool, "bool"},
      {ScalarType::Byte, "uint8"},
      {ScalarType::Char, "int8"},
      {ScalarType::Short, "int16"},
      {ScalarType::Int, "int32"},
      {ScalarType::Long, "int64"},
      {ScalarType::UInt16, "uint16"},
      {ScalarType::UInt32, "uint32"},
      {ScalarType::UInt64, "uint64"},
      {ScalarType::Half, "float16"},
      {ScalarType::BFloat16, "bfloat16"},
      {ScalarType::Float, "float32"},
      {ScalarType::Double, "float64"},
      {ScalarType::Float8_e5m2, "float8_e5m2"},
      {ScalarType::Float8_e4m3fn, "float8_e4m3fn"},
      {ScalarType::Float8_e5m2fnuz, "float8_e5m2fnuz"},
      {ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz"},
      {ScalarType::ComplexHalf, "complex32"},
      {ScalarType::ComplexFloat, "complex64"},
      {ScalarType::ComplexDouble, "complex128"},
  }};
  for (const auto& [type, name] : kNames) {
    if (type == dtype) {
      return name;
    }
  }
  return "another dtype";
}

std::string shape_text(std::span<const int64_t> sizes) {
  std::string out = "[";
  for (const int64_t size : sizes) {
    out += (out.size() == 1 ? "" : ", ") + std::to_string(size);
  }
  return out + "]";
}

std::span<const int64_t> sizes(const Tensor& t) {
  int64_t* data = nullptr;
  check(aoti_torch_get_sizes(t.get(), &data));
  return {data, static_cast<std::size_t>(t.dim())};
}

std::span<const int64_t> strides(const Tensor& t) {
  int64_t* data = nullptr;
  check(aoti_torch_get_strides(t.get(), &data));
  return {data, static_cast<std::size_t>(t.dim())};
}

int64_t wrap_dim(int64_t dim, int64_t rank) {
  if (rank == 0) {
    raise_index_error("Dimension specified as " + std::to_string(dim) + " but tensor has no dimensions");
  }
  if (dim < -rank || dim >= rank) {
    raise_index_error("Dimension out of range (expected to be in range of [" + std::to_string(-rank) + ", " +
                      std::to_string(rank - 1) + "], but got " + std::to_string(dim) + ")");
  }
  return dim < 0 ? dim + rank : dim;
}

int64_t size(const Tensor& t, int64_t dim) {
  const auto all = sizes(t);
  return all[static_cast<std::size_t>(wrap_dim(dim, static_cast<int64_t>(all.size())))];
}

int64_t len(const Tensor& t) {
  const auto all = sizes(t);
  if (all.empty()) {
    raise_type_error("len() of a 0-d tensor");
  }
  return all[0];
}

bool Truth<Tensor>::of(const Tensor& t) {
  const int64_t count = t.numel();
  if (count != 1) {
    raise_runtime_error(count == 0 ? "Boolean value of Tensor with no values is ambiguous"
                                   : "Boolean value of Tensor with more than one value is ambiguous");
  }
  return detail::Reader(t).load<bool>(0);
}

bool Equality<Tensor, Tensor>::of(const Tensor& a, const Tensor& b) {
  return is_same(a, b) || truth(compare_elements("aten::eq", a, b));
}

bool Order<Tensor>::less(const Tensor& a, const Tensor& b) { return truth(compare_elements("aten::lt", a, b)); }

Tensor empty(Ints sizes, ScalarType dtype) {
  const auto shape = sizes.get();
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i] > 1 ? shape[i] : 1;
  }
  const auto type = torch::stable::detail::to<int32_t>(torch::stable::detail::from(dtype));
  AtenTensorHandle out = nullptr;
  check(aoti_torch_empty_strided(static_cast<int64_t>(shape.size()), shape.data(), strides.data(), type,
                                 aoti_torch_device_type_cpu(), 0, &out));
  return Tensor(out);
}

namespace detail {

Reader::Reader(const Tensor& t) : tensor(t), data(nullptr), dtype(t.scalar_type()) {
  if (!t.is_cpu()) {
    raise_not_implemented("reading a tensor that is not on the CPU");
  }
  if (dtype == ScalarType::ComplexFloat || dtype == ScalarType::ComplexDouble) {
    // A conjugate may be no more than a mark on the tensor.
    tensor = dispatch<Tensor>("aten::resolve_conj", "", t);
  }
  data = static_cast<const char*>(tensor.const_data_ptr());
  element_size = static_cast<int64_t>(tensor.element_size());
  sizes = torch2cpp::sizes(tensor);
  strides = torch2cpp::strides(tensor);
}

Reader single(const Tensor& t) {
  if (const int64_t count = t.numel(); count != 1) {
    raise_runtime_error("a Tensor with " + std::to_string(count) + " elements cannot be converted to Scalar");
  }
  return Reader(t);
}

template <>
bool Reader::load<bool>(int64_t offset) const {
  return with_type(dtype, [&]<class E>(E*) -> bool {
    const E element = reinterpret_cast<const E*>(data)[offset];
    if constexpr (is_complex<E>) {
      return element.real() != 0 || element.imag() != 0;
    } else {
      return as_double(element) != 0.0;
    }
  });
}

template <>
int64_t Reader::load<int64_t>(int64_t offset) const {
  return with_type(dtype, [&]<class E>(E*) -> int64_t {
    if constexpr (std::is_integral_v<E>) {
      const E element = reinterpret_cast<const E*>(data)[offset];
      if constexpr (std::is_same_v<E, uint64_t>) {
        if (element > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
          raise_int_overflow();
        }
      }
      return static_cast<int64_t>(element);
    } else {
      raise_runtime_error("an element of dtype " + std::string(dtype_name(dtype)) + " read as an int");
    }
  });
}

template <>
double Reader::load<double>(int64_t offset) const {
  return with_type(dtype, [&]<class E>(E*) -> double {
    if constexpr (is_complex<E>) {
      raise_runtime_error("an element of dtype " + std::string(dtype_name(dtype)) + " read as a float");
    } else {
      return as_double(reinterpret_cast<const E*>(data)[offset]);
    }
  });
}

template <>
std::complex<double> Reader::load<std::complex<double>>(int64_t offset) const {
  return with_type(dtype, [&]<class E>(E*) -> std::complex<double> {
    const E element = reinterpret_cast<const E*>(data)[offset];
    if constexpr (is_complex<E>) {
      return {static_cast<double>(element.real()), static_cast<double>(element.imag())};
    } else {
      return as_double(element);
    }
  });
}

void store(void* at, ScalarType dtype, bool value) { store_number(at, dtype, static_cast<int64_t>(value)); }
void store(void* at, ScalarType dtype, int64_t value) { store_number(at, dtype, value); }
void store(void* at, ScalarType dtype, double value) { store_number(at, dtype, value); }

void store(void* at, ScalarType dtype, std::complex<double> value) {
  with_type(dtype, [&]<class E>(E*) {
    if constexpr (is_complex<E>) {
      using Part = typename E::value_type;
      *static_cast<E*>(at) = E(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
    } else {
      raise_type_error("can't convert complex to " + std::string(dtype_name(dtype)));
    }
  });
}

void store(void* at, ScalarType dtype, const Tensor& value) {
  if (value.numel() != 1) {
    raise_value_error("only one element tensors can be converted to Python scalars");
  }
  const Reader reader(value);
  with_type(reader.dtype, [&]<class E>(E*) {
    if constexpr (std::is_same_v<E, bool>) {
      store(at, dtype, reader.load<bool>(0));
    } else if constexpr (std::is_integral_v<E>) {
      store(at, dtype, reader.load<int64_t>(0));
    } else if constexpr (is_complex<E>) {
      store(at, dtype, reader.load<std::complex<double>>(0));
    } else {
      store(at, dtype, reader.load<double>(0));
    }
  });
}

Builder::Builder(std::vector<int64_t> sizes, ScalarType dtype)
    : sizes_(std::move(sizes)),
      dtype_(dtype),
      tensor_(empty(sizes_, dtype)),
      next_(static_cast<char*>(tensor_.data_ptr())),
      element_size_(static_cast<int64_t>(tensor_.element_size())) {}

void Builder::enter(std::size_t dim, int64_t length) const {
  if (dim >= sizes_.size()) {
    raise_type_error("a sequence where torch.tensor() expects a number");
  }
  if (sizes_[dim] != length) {
    raise_value_error("expected sequence of length " + std::to_string(sizes_[dim]) + " at dim " + std::to_string(dim) +
                      " (got " + std::to_string(length) + ")");
  }
}

void Builder::leaf(std::size_t dim) const {
  if (dim != sizes_.size()) {
    raise_type_error("not a sequence");
  }
}

}  // namespace detail
}  // namespace torch2cpp
