// Checks of what the caller hands in, before the program runs.
#pragma once

#include <cstdint>
#include <string_view>

#include <torch2cpp/tensor.h>

namespace torch2cpp {

// Throws InputError unless `t` is a CPU tensor of this dtype and these sizes; -1 is any size.
void check_tensor(std::string_view name, const Tensor& t, ScalarType dtype, Ints dims, std::string_view kind = "input");

// Throws InputError unless `got`, a size of input `name`, equals `expected`, the size `other` names (such as
// "x.size(0)").
void check_size(std::string_view name, int64_t dim, int64_t got, int64_t expected, std::string_view other);

// "float32 [2, ?]"
std::string describe(ScalarType dtype, Ints dims);
std::string describe(const Tensor& t);

}  // namespace torch2cpp
