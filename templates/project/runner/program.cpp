#include "program.h"

#include <torch2cpp/dtypes.h>

namespace torch2cpp::runner {

Flat call(const Program& program, const std::string& entry, const Flat& inputs) {
  const std::string& name = entry.empty() ? program.entries.front().name : entry;
  std::vector<const Entry*> variants;
  for (const Entry& each : program.entries) {
    if (each.name == name) {
      variants.push_back(&each);
    }
  }
  if (variants.empty()) {
    throw InputError("input", "entry", "one of the entries", name);
  }
  for (std::size_t i = 0; i + 1 < variants.size(); ++i) {
    try {
      return variants[i]->call(inputs);
    } catch (const InputError&) {
      continue;
    }
  }
  return variants.back()->call(inputs);
}

Tensor tensor_of(const std::string& dtype, const std::vector<int64_t>& sizes, const void* data) {
  constexpr ScalarType kAll[] = {
      ScalarType::Bool,   ScalarType::Byte,   ScalarType::Char,   ScalarType::Short,        ScalarType::Int,
      ScalarType::Long,   ScalarType::Half,   ScalarType::Float,  ScalarType::Double,       ScalarType::BFloat16,
      ScalarType::UInt16, ScalarType::UInt32, ScalarType::UInt64, ScalarType::ComplexFloat, ScalarType::ComplexDouble,
  };
  // Far below where the number of bytes would overflow.
  constexpr int64_t kMost = int64_t{1} << 48;
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || size > kMost || (count > 0 && size > kMost / count)) {
      throw InputError("input", "sizes", "sizes of a tensor", std::to_string(size));
    }
    count *= size;
  }
  for (const ScalarType candidate : kAll) {
    if (dtype_name(candidate) == dtype) {
      const auto bytes = static_cast<std::size_t>(count * element_size(candidate));
      return tensor_of_bytes({static_cast<const char*>(data), bytes}, Ints(sizes), candidate);
    }
  }
  throw InputError("input", "dtype", "a dtype of PyTorch", dtype);
}

}  // namespace torch2cpp::runner
