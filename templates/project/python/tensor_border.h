// Tensors between Python and C++ over libtorch: both have the same tensor, handed over as a pointer.
#pragma once

#include <pybind11/pybind11.h>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/tensor.h>

#include <torch2cpp/shim.h>

namespace torch2cpp::python {

namespace pb = pybind11;

// PyTorch's own hand-over of tensors as pointers.
struct TorchBorder {
  pb::object to_pointer, from_pointer, tensor_class;

  static const TorchBorder& get() {
    // Never destroyed: the interpreter may be gone by then.
    static const TorchBorder* const border = [] {
      const pb::module_ torch = pb::module_::import("torch");
      const pb::object aoti = torch.attr("_C").attr("_aoti");
      return new TorchBorder{aoti.attr("unsafe_alloc_void_ptr_from_tensor"),
                             aoti.attr("alloc_tensor_by_stealing_from_void_ptr"), torch.attr("Tensor")};
    }();
    return *border;
  }

  torch::stable::Tensor from_python(pb::handle value) const {
    const pb::object capsule = to_pointer(value);
    return torch::stable::Tensor(reinterpret_cast<AtenTensorHandle>(PyCapsule_GetPointer(capsule.ptr(), nullptr)));
  }
  pb::object to_python(const torch::stable::Tensor& tensor) const {
    AtenTensorHandle owned = nullptr;
    check(aoti_torch_new_tensor_handle(tensor.get(), &owned));
    const auto capsule = pb::reinterpret_steal<pb::object>(PyCapsule_New(owned, nullptr, nullptr));
    return from_pointer(capsule);
  }
};

}  // namespace torch2cpp::python
