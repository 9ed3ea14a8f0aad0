// Tensors between Python's torch and a program that has tensors of its own: the memory is shared, never copied.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

#include <torch/csrc/stable/c/shim.h>
#include <torch/csrc/stable/tensor.h>

#include <torch2cpp/shim.h>
#include <torch2cpp/tensor.h>

namespace torch2cpp::python {

namespace pb = pybind11;

// The DLPack exchange format, version 0: what torch.from_dlpack takes.
struct DlDevice {
  int32_t type, index;
};
struct DlType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t rank;
  DlType type;
  int64_t *sizes, *strides;
  uint64_t offset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};

struct TorchBorder {
  pb::object tensor_class, from_dlpack, strided;
  // By number of the dtype: torch's own object.
  std::vector<std::pair<int32_t, pb::object>> dtypes;

  static const TorchBorder& get() {
    // Never destroyed: the interpreter may be gone by then.
    static const TorchBorder* const border = [] {
      const pb::module_ torch = pb::module_::import("torch");
      auto* made = new TorchBorder{torch.attr("Tensor"), torch.attr("from_dlpack"), torch.attr("strided"), {}};
      for (const ScalarType type : kTypes) {
        made->dtypes.emplace_back(static_cast<int32_t>(type), torch.attr(std::string(dtype_name(type)).c_str()));
      }
      return made;
    }();
    return *border;
  }

  torch::stable::Tensor from_python(pb::handle given) const {
    const pb::object layout = given.attr("layout");
    if (!layout.is(strided) || given.attr("device").attr("type").cast<std::string>() != "cpu") {
      throw pb::type_error("a tensor that is not strided or not on the CPU");
    }
    // Marks of conjugates and negatives are not in the memory.
    const pb::object value = given.attr("resolve_conj")().attr("resolve_neg")();
    const auto sizes = ints(value.attr("shape"));
    const auto strides = ints(value.attr("stride")());
    auto* const data = reinterpret_cast<void*>(value.attr("data_ptr")().cast<uintptr_t>());
    auto owner = std::make_unique<pb::object>(value);
    AtenTensorHandle out = nullptr;
    check(torch_from_blob(data, static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(), 0, number_of(value),
                          aoti_torch_device_type_cpu(), -1, &out, aoti_torch_layout_strided(), nullptr, 0, release,
                          owner.get()));
    owner.release();
    return torch::stable::Tensor(out);
  }

  pb::object to_python(const torch::stable::Tensor& tensor) const {
    struct Owner {
      DlManaged managed;
      torch::stable::Tensor tensor;
      std::vector<int64_t> sizes, strides;
    };
    auto owner = std::make_unique<Owner>(Owner{{}, tensor, {}, {}});
    const auto sizes = torch2cpp::sizes(tensor), strides = torch2cpp::strides(tensor);
    owner->sizes.assign(sizes.begin(), sizes.end());
    owner->strides.assign(strides.begin(), strides.end());
    owner->managed.tensor = {tensor.data_ptr(),
                             {1, 0},
                             static_cast<int32_t>(sizes.size()),
                             type_of(tensor.scalar_type()),
                             owner->sizes.data(),
                             owner->strides.data(),
                             0};
    owner->managed.context = owner.get();
    owner->managed.deleter = [](DlManaged* managed) { delete static_cast<Owner*>(managed->context); };
    const auto capsule = pb::reinterpret_steal<pb::object>(PyCapsule_New(&owner->managed, "dltensor", [](PyObject* c) {
      // Taken over by torch, it has another name.
      if (PyCapsule_IsValid(c, "dltensor") != 0) {
        auto* const managed = static_cast<DlManaged*>(PyCapsule_GetPointer(c, "dltensor"));
        managed->deleter(managed);
      }
    }));
    owner.release();
    return from_dlpack(capsule);
  }

 private:
  static constexpr std::array kTypes{ScalarType::Bool,   ScalarType::Byte,         ScalarType::Char,
                                     ScalarType::Short,  ScalarType::Int,          ScalarType::Long,
                                     ScalarType::UInt16, ScalarType::UInt32,       ScalarType::UInt64,
                                     ScalarType::Half,   ScalarType::BFloat16,     ScalarType::Float,
                                     ScalarType::Double, ScalarType::ComplexFloat, ScalarType::ComplexDouble};

  // Called wherever the last tensor on the memory goes.
  static void release(void*, void* owner) {
    const pb::gil_scoped_acquire gil;
    delete static_cast<pb::object*>(owner);
  }

  static std::vector<int64_t> ints(const pb::object& sequence) {
    std::vector<int64_t> out;
    for (const pb::handle item : sequence) {
      out.push_back(item.cast<int64_t>());
    }
    return out;
  }

  int32_t number_of(pb::handle value) const {
    const pb::object dtype = value.attr("dtype");
    for (const auto& [number, object] : dtypes) {
      if (object.is(dtype)) {
        return number;
      }
    }
    throw pb::type_error("a tensor of dtype " + std::string(pb::str(dtype)));
  }

  static DlType type_of(ScalarType type) {
    constexpr uint8_t kInt = 0, kUnsigned = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6;
    switch (type) {
      case ScalarType::Bool:
        return {kBool, 8, 1};
      case ScalarType::Byte:
        return {kUnsigned, 8, 1};
      case ScalarType::Char:
        return {kInt, 8, 1};
      case ScalarType::Short:
        return {kInt, 16, 1};
      case ScalarType::Int:
        return {kInt, 32, 1};
      case ScalarType::Long:
        return {kInt, 64, 1};
      case ScalarType::UInt16:
        return {kUnsigned, 16, 1};
      case ScalarType::UInt32:
        return {kUnsigned, 32, 1};
      case ScalarType::UInt64:
        return {kUnsigned, 64, 1};
      case ScalarType::Half:
        return {kFloat, 16, 1};
      case ScalarType::BFloat16:
        return {kBfloat, 16, 1};
      case ScalarType::Float:
        return {kFloat, 32, 1};
      case ScalarType::Double:
        return {kFloat, 64, 1};
      case ScalarType::ComplexFloat:
        return {kComplex, 64, 1};
      case ScalarType::ComplexDouble:
        return {kComplex, 128, 1};
      default:
        throw pb::type_error("a tensor of dtype " + std::string(dtype_name(type)));
    }
  }
};

}  // namespace torch2cpp::python
