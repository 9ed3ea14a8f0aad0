// Between the C ABI's tensors and at::Tensor; only the `aten` regions include it.
#pragma once

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <torch/csrc/inductor/aoti_torch/utils.h>
#include <torch/csrc/stable/tensor.h>

#include <torch2cpp/errors.h>
#include <torch2cpp/list.h>

namespace torch2cpp::aten {

using Ints = at::IntArrayRef;
using OptionalTensors = c10::List<std::optional<at::Tensor>>;
using Tensors = std::vector<at::Tensor>;

// A handle of the C ABI is a pointer to an at::Tensor.
inline const at::Tensor& borrow(const torch::stable::Tensor& tensor) {
  return *torch::aot_inductor::tensor_handle_to_tensor_pointer(tensor.get());
}

inline Tensors borrow(const List<torch::stable::Tensor>& tensors) {
  Tensors out;
  for (const torch::stable::Tensor& tensor : tensors.items()) {
    out.push_back(borrow(tensor));
  }
  return out;
}

template <class... T>
Tensors borrow(const std::tuple<T...>& tensors) {
  return std::apply([](const T&... each) { return Tensors{borrow(each)...}; }, tensors);
}

inline torch::stable::Tensor own(at::Tensor tensor) {
  // Code beyond the C ABI reads the storage as it is.
  if (tensor.is_conj() || tensor.is_neg()) {
    tensor = tensor.resolve_conj().resolve_neg();
  }
  return torch::stable::Tensor(torch::aot_inductor::tensor_pointer_to_tensor_handle(new at::Tensor(std::move(tensor))));
}

inline List<torch::stable::Tensor> own(const Tensors& tensors) {
  List<torch::stable::Tensor> out;
  for (const at::Tensor& tensor : tensors) {
    out.append(own(tensor));
  }
  return out;
}

// Element of a list of tensors, as Python indexes.
inline const at::Tensor& element(const Tensors& tensors, int64_t index) {
  const auto size = static_cast<int64_t>(tensors.size());
  if (index < -size || index >= size) {
    raise_index_error("list index out of range");
  }
  return tensors[static_cast<size_t>(index < 0 ? index + size : index)];
}

// t[..., index], where indexing counts the dimension as `shown`.
inline at::Tensor subscript(const at::Tensor& t, int64_t dim, int64_t index, int64_t shown) {
  const int64_t size = t.size(dim);
  TORCH_CHECK_INDEX(index >= -size && index < size, "index ", index, " is out of bounds for dimension ", shown,
                    " with size ", size);
  return t.select(dim, index);
}

// A Python number where the operator takes a tensor: it does not take part in type promotion.
inline at::Tensor number(const at::Scalar& value) { return at::native::wrapped_scalar_tensor(value); }

// For parameters called `out`, which C++ takes as references to non-constant handles.
inline at::Tensor& writable(const at::Tensor& tensor) { return const_cast<at::Tensor&>(tensor); }

// What `torch.no_grad()` means. Views are tracked as in eager: whether a view of a weight requires gradients
// decides how ATen multiplies, and so the last bits (see torch2cpp/parameter.h).
struct NoGrad {
  at::NoGradGuard no_grad;
};

// The Python statement at work.
struct Place {
  const char* file;
  int line;
};

// Turns the exception being handled into the one that Python would see there.
[[noreturn]] inline void rethrow(const Place& place) {
  const auto raised = [&](const char* type_name, const std::string& message) {
    throw PyError(type_name, message, {}, place.file, place.line);
  };
  try {
    throw;
  } catch (const PyError& error) {
    throw error.at(place.file, place.line);
  } catch (const c10::IndexError& error) {
    raised("IndexError", error.what_without_backtrace());
  } catch (const c10::ValueError& error) {
    raised("ValueError", error.what_without_backtrace());
  } catch (const c10::TypeError& error) {
    raised("TypeError", error.what_without_backtrace());
  } catch (const c10::NotImplementedError& error) {
    raised("NotImplementedError", error.what_without_backtrace());
  } catch (const c10::LinAlgError& error) {
    raised("LinAlgError", error.what_without_backtrace());
  } catch (const c10::OutOfMemoryError& error) {
    raised("OutOfMemoryError", error.what_without_backtrace());
  } catch (const c10::Error& error) {
    raised("RuntimeError", error.what_without_backtrace());
  } catch (const std::exception& error) {
    raised("RuntimeError", error.what());
  }
  std::terminate();
}

}  // namespace torch2cpp::aten
