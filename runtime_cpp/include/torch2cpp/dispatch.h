// Calls of any ATen operator through the stable dispatcher, except those with `Scalar` arguments.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <torch/csrc/stable/stableivalue_conversions.h>

#include <torch2cpp/shim.h>

namespace torch2cpp {

// `args` are all arguments of the schema, defaults included; the one result comes back as Result.
// Arguments: Tensor, std::vector of Tensor or int64_t, int64_t, double, bool, std::optional of these, dtypes.
template <class Result, class... Args>
Result dispatch(const char* name, const char* overload, const Args&... args) {
  std::array<StableIValue, std::max<std::size_t>(sizeof...(Args), 1)> stack{torch::stable::detail::from(args)...};
  check(torch_call_dispatcher(name, overload, stack.data(), TORCH_ABI_VERSION));
  return torch::stable::detail::to<Result>(stack[0]);
}

}  // namespace torch2cpp
