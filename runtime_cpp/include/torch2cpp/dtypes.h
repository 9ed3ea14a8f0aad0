// Names of dtypes in files.
#pragma once

#include <optional>
#include <string_view>

#include <torch2cpp/tensor.h>

namespace torch2cpp {

// "F32"; "" where safetensors has no such dtype.
std::string_view safetensors_name(ScalarType dtype);
std::optional<ScalarType> dtype_of_safetensors(std::string_view name);
// "f4", without the byte order; "" where numpy has no such dtype.
std::string_view numpy_name(ScalarType dtype);
std::optional<ScalarType> dtype_of_numpy(std::string_view name);
int64_t element_size(ScalarType dtype);

}  // namespace torch2cpp
