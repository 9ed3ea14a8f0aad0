// The border to libtorch's C ABI: its error codes become Python exceptions.
#pragma once

#include <torch/csrc/stable/c/shim.h>

#include <torch2cpp/errors.h>

namespace torch2cpp {

// Throws the PyError for the shim's most recent failure in this thread.
[[noreturn]] void raise_shim_error();

// Every call of the C ABI goes through this.
inline void check(AOTITorchError status) {
  if (status != AOTI_TORCH_SUCCESS) {
    raise_shim_error();
  }
}

}  // namespace torch2cpp
