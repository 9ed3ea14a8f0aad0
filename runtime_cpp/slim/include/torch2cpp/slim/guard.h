// Errors at the C border: what a function of the C ABI throws becomes a code and a message of the thread.
#pragma once

#include <exception>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

namespace torch2cpp::slim {

// Keeps the message of the exception being handled.
void keep_error() noexcept;

template <class F>
AOTITorchError guarded(F body) noexcept {
  try {
    body();
    return AOTI_TORCH_SUCCESS;
  } catch (...) {
    keep_error();
    return AOTI_TORCH_FAILURE;
  }
}

}  // namespace torch2cpp::slim
