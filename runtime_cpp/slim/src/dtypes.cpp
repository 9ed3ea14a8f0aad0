#include <cstring>
#include <type_traits>

#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

#include <torch2cpp/slim/dtypes.h>
#include <torch2cpp/tensor.h>

namespace torch2cpp::slim {
namespace {

namespace st = torch::headeronly;

[[noreturn]] void no_such(ScalarType dtype, const char* what) {
  raise_not_implemented(std::string(what) + " of dtype " + std::string(dtype_name(dtype)) + " without libtorch");
}

// Calls `visit` with an element of the dtype.
template <class Visit>
void with_element(ScalarType dtype, Visit visit) {
  switch (dtype) {
    case ScalarType::Bool:
      return visit(bool{});
    case ScalarType::Byte:
      return visit(uint8_t{});
    case ScalarType::Char:
      return visit(int8_t{});
    case ScalarType::Short:
      return visit(int16_t{});
    case ScalarType::Int:
      return visit(int32_t{});
    case ScalarType::Long:
      return visit(int64_t{});
    case ScalarType::UInt16:
      return visit(uint16_t{});
    case ScalarType::UInt32:
      return visit(uint32_t{});
    case ScalarType::UInt64:
      return visit(uint64_t{});
    case ScalarType::Half:
      return visit(st::Half{});
    case ScalarType::BFloat16:
      return visit(st::BFloat16{});
    case ScalarType::Float:
      return visit(float{});
    case ScalarType::Double:
      return visit(double{});
    default:
      no_such(dtype, "computing with elements");
  }
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (!std::is_arithmetic_v<From>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (!std::is_arithmetic_v<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Through the widest int, as eager does on this machine: what does not fit wraps.
    constexpr From kPast = static_cast<From>(9223372036854775808.0);
    if (!(value >= -kPast && value < kPast)) {
      return static_cast<To>(INT64_MIN);
    }
    return static_cast<To>(static_cast<int64_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

int rank_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
      return 0;
    case ScalarType::Byte:
      return 1;
    case ScalarType::Char:
      return 2;
    case ScalarType::Short:
      return 3;
    case ScalarType::Int:
      return 4;
    case ScalarType::Long:
      return 5;
    case ScalarType::Half:
      return 6;
    case ScalarType::BFloat16:
      return 7;
    case ScalarType::Float:
      return 8;
    case ScalarType::Double:
      return 9;
    case ScalarType::ComplexFloat:
      return 10;
    case ScalarType::ComplexDouble:
      return 11;
    default:
      no_such(dtype, "promotion");
  }
}

int category(ScalarType dtype) {
  return dtype == ScalarType::Bool ? 0 : is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : 1;
}

}  // namespace

std::size_t dtype_width(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e5m2fnuz:
    case ScalarType::Float8_e4m3fnuz:
      return 1;
    case ScalarType::Short:
    case ScalarType::UInt16:
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return 2;
    case ScalarType::Int:
    case ScalarType::UInt32:
    case ScalarType::Float:
    case ScalarType::ComplexHalf:
      return 4;
    case ScalarType::Long:
    case ScalarType::UInt64:
    case ScalarType::Double:
    case ScalarType::ComplexFloat:
      return 8;
    case ScalarType::ComplexDouble:
      return 16;
    default:
      no_such(dtype, "elements");
  }
}

bool is_floating(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::Float:
    case ScalarType::Double:
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e5m2fnuz:
    case ScalarType::Float8_e4m3fnuz:
      return true;
    default:
      return false;
  }
}

bool is_complex(ScalarType dtype) {
  return dtype == ScalarType::ComplexHalf || dtype == ScalarType::ComplexFloat || dtype == ScalarType::ComplexDouble;
}

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == b) {
    return a;
  }
  const auto low = rank_of(a) < rank_of(b) ? a : b, high = rank_of(a) < rank_of(b) ? b : a;
  if (low == ScalarType::Byte && high == ScalarType::Char) {
    return ScalarType::Short;
  }
  if (low == ScalarType::Half && high == ScalarType::BFloat16) {
    return ScalarType::Float;
  }
  if (low == ScalarType::Double && high == ScalarType::ComplexFloat) {
    return ScalarType::ComplexDouble;
  }
  return high;
}

ScalarType result_type(std::span<const Impl* const> tensors) {
  // By what they are: with dimensions, without, Python numbers. A later kind counts only in a higher category.
  ScalarType found[3] = {ScalarType::Undefined, ScalarType::Undefined, ScalarType::Undefined};
  for (const Impl* t : tensors) {
    const int kind = t->is_number ? 2 : t->rank() == 0 ? 1 : 0;
    ScalarType dtype = t->dtype;
    if (kind == 2 && dtype == ScalarType::Double) {
      dtype = ScalarType::Float;
    }
    found[kind] = found[kind] == ScalarType::Undefined ? dtype : promote(found[kind], dtype);
  }
  ScalarType out = ScalarType::Undefined;
  for (const ScalarType each : found) {
    if (each == ScalarType::Undefined) {
      continue;
    }
    if (out == ScalarType::Undefined) {
      out = each;
    } else if (category(each) > category(out)) {
      out = promote(out, each);
    }
  }
  return out;
}

ScalarType result_type(std::initializer_list<const Impl*> tensors) {
  return result_type(std::span<const Impl* const>(tensors.begin(), tensors.size()));
}

Compute compute_type(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::Float:
      return Compute::Float;
    case ScalarType::Double:
      return Compute::Double;
    case ScalarType::Bool:
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Short:
    case ScalarType::Int:
    case ScalarType::Long:
    case ScalarType::UInt16:
    case ScalarType::UInt32:
    case ScalarType::UInt64:
      return Compute::Int;
    default:
      no_such(dtype, "computing with elements");
  }
}

template <class T>
void load(const void* from, ScalarType dtype, int64_t stride, int64_t count, T* to) {
  with_element(dtype, [&]<class E>(E) {
    const E* source = static_cast<const E*>(from);
    if (stride == 1) {
      if constexpr (std::is_same_v<E, T>) {
        std::memcpy(to, source, static_cast<std::size_t>(count) * sizeof(T));
      } else {
        for (int64_t i = 0; i < count; ++i) {
          to[i] = converted<T>(source[i]);
        }
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        to[i] = converted<T>(source[i * stride]);
      }
    }
  });
}

template <class T>
void store(const T* from, void* to, ScalarType dtype, int64_t stride, int64_t count) {
  with_element(dtype, [&]<class E>(E) {
    E* target = static_cast<E*>(to);
    for (int64_t i = 0; i < count; ++i) {
      target[i * stride] = converted<E>(from[i]);
    }
  });
}

template void load<float>(const void*, ScalarType, int64_t, int64_t, float*);
template void load<double>(const void*, ScalarType, int64_t, int64_t, double*);
template void load<int64_t>(const void*, ScalarType, int64_t, int64_t, int64_t*);
template void load<bool>(const void*, ScalarType, int64_t, int64_t, bool*);
template void store<float>(const float*, void*, ScalarType, int64_t, int64_t);
template void store<double>(const double*, void*, ScalarType, int64_t, int64_t);
template void store<int64_t>(const int64_t*, void*, ScalarType, int64_t, int64_t);
template void store<bool>(const bool*, void*, ScalarType, int64_t, int64_t);

}  // namespace torch2cpp::slim
