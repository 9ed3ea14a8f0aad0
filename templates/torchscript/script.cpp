// TorchScript regions through libtorch's own C++ interface.
#include <ATen/core/grad_mode.h>

#include <torch/csrc/inductor/aoti_torch/utils.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/resolver.h>

#include "torchscript_script.h"

namespace torch2cpp::torchscript {
namespace {

using Stable = torch::stable::Tensor;

const at::Tensor& borrow(const Stable& tensor) {
  return *torch::aot_inductor::tensor_handle_to_tensor_pointer(tensor.get());
}

Stable own(at::Tensor tensor) {
  return Stable(torch::aot_inductor::tensor_pointer_to_tensor_handle(new at::Tensor(std::move(tensor))));
}

c10::IValue to_ivalue(const Stable& tensor) { return borrow(tensor); }
template <class T>
c10::IValue to_ivalue(const T& scalar) {
  return scalar;
}
c10::IValue to_ivalue(const List<Stable>& tensors) {
  c10::List<at::Tensor> out;
  for (const Stable& tensor : tensors.items()) {
    out.push_back(borrow(tensor));
  }
  return out;
}
template <class T>
c10::IValue to_ivalue(const List<T>& scalars) {
  c10::List<T> out;
  for (const T scalar : scalars.items()) {
    out.push_back(scalar);
  }
  return out;
}

Value from_ivalue(c10::IValue value) {
  if (value.isTensor()) {
    return own(std::move(value).toTensor());
  }
  if (value.isInt()) {
    return value.toInt();
  }
  if (value.isDouble()) {
    return value.toDouble();
  }
  if (value.isBool()) {
    return value.toBool();
  }
  List<Stable> out;
  for (at::Tensor& tensor : value.toTensorVector()) {
    out.append(own(std::move(tensor)));
  }
  return out;
}

}  // namespace

struct Script::Impl {
  explicit Impl(torch::jit::Module frozen) : module(std::move(frozen)), forward(module.get_method("forward")) {}

  torch::jit::Module module;
  torch::jit::Method forward;
};

Script::Script(const char* source, const std::vector<Stable>& weights) {
  torch::jit::Module module("region");
  for (size_t i = 0; i < weights.size(); ++i) {
    module.register_buffer("w" + std::to_string(i), borrow(weights[i]));
  }
  module.define(source, torch::jit::nativeResolver());
  module.eval();
  // Batch norms go into the convolutions before them: the weights are known now.
  impl_ = std::make_shared<const Impl>(torch::jit::freeze(module));
}

std::vector<Value> Script::operator()(const std::vector<Value>& arguments) const {
  const at::NoGradGuard no_grad;
  torch::jit::Stack stack;
  stack.reserve(arguments.size() + 1);
  for (const Value& argument : arguments) {
    stack.push_back(std::visit([](const auto& value) { return to_ivalue(value); }, argument));
  }
  c10::IValue result = impl_->forward(std::move(stack));
  std::vector<Value> out;
  if (!result.isTuple()) {
    out.push_back(from_ivalue(std::move(result)));
    return out;
  }
  for (const c10::IValue& each : result.toTupleRef().elements()) {
    out.push_back(from_ivalue(each));
  }
  return out;
}

}  // namespace torch2cpp::torchscript
