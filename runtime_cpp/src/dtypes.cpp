#include <array>

#include <torch/csrc/stable/stableivalue_conversions.h>

#include <torch2cpp/dtypes.h>

namespace torch2cpp {
namespace {

struct Row {
  ScalarType dtype;
  std::string_view safetensors, numpy;
};

constexpr std::array<Row, 17> kRows{{
    {ScalarType::Bool, "BOOL", "b1"},
    {ScalarType::Byte, "U8", "u1"},
    {ScalarType::Char, "I8", "i1"},
    {ScalarType::Short, "I16", "i2"},
    {ScalarType::Int, "I32", "i4"},
    {ScalarType::Long, "I64", "i8"},
    {ScalarType::UInt16, "U16", "u2"},
    {ScalarType::UInt32, "U32", "u4"},
    {ScalarType::UInt64, "U64", "u8"},
    {ScalarType::Half, "F16", "f2"},
    {ScalarType::BFloat16, "BF16", ""},
    {ScalarType::Float, "F32", "f4"},
    {ScalarType::Double, "F64", "f8"},
    {ScalarType::ComplexFloat, "C64", "c8"},
    {ScalarType::ComplexDouble, "", "c16"},
    {ScalarType::Float8_e4m3fn, "F8_E4M3", ""},
    {ScalarType::Float8_e5m2, "F8_E5M2", ""},
}};

std::optional<ScalarType> find(std::string_view Row::* column, std::string_view name) {
  for (const Row& row : kRows) {
    if (!name.empty() && row.*column == name) {
      return row.dtype;
    }
  }
  return std::nullopt;
}

std::string_view name_in(std::string_view Row::* column, ScalarType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) {
      return row.*column;
    }
  }
  return {};
}

}  // namespace

std::string_view safetensors_name(ScalarType dtype) { return name_in(&Row::safetensors, dtype); }
std::optional<ScalarType> dtype_of_safetensors(std::string_view name) { return find(&Row::safetensors, name); }
std::string_view numpy_name(ScalarType dtype) { return name_in(&Row::numpy, dtype); }
std::optional<ScalarType> dtype_of_numpy(std::string_view name) { return find(&Row::numpy, name); }

int64_t element_size(ScalarType dtype) {
  const auto code = torch::stable::detail::to<int32_t>(torch::stable::detail::from(dtype));
  return static_cast<int64_t>(aoti_torch_dtype_element_size(code));
}

}  // namespace torch2cpp
