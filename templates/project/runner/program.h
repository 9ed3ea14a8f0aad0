// A model's entries, called by name with named values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flat.h"

namespace torch2cpp::runner {

// One entry; its results are named "out", "out.0", ...
struct Entry {
  std::string name;
  // "x: float32 [?, 3]", one line per parameter.
  std::vector<std::string> parameters;
  std::function<Flat(const Flat& inputs)> call;
};

// Bytes that were asked of the C library so far: for large blocks, and for small ones.
struct Taken {
  std::size_t large = 0, small = 0;
};

// The model behind the entries. Variants of an entry for several kinds of input have the same name.
struct Program {
  std::string name;
  // Loads the model; empty for the weights built in.
  std::function<void(const std::string& weights)> load;
  std::function<void()> reset;
  // None over libtorch, which has allocators of its own.
  std::function<Taken()> taken;
  std::vector<Entry> entries;
};

// Calls the first entry of the name that takes the inputs; the first entry of all for an empty name.
// InputError where there is none, PyError for what the model raises.
Flat call(const Program& program, const std::string& entry, const Flat& inputs);

// A tensor with a copy of contiguous data; `dtype` as PyTorch names it, such as "float32".
Tensor tensor_of(const std::string& dtype, const std::vector<int64_t>& sizes, const void* data);

}  // namespace torch2cpp::runner
