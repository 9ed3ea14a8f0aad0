// OpenVINO below the regions: models with the program's weights, requests, tensors over the host's memory.
#include <array>
#include <cstring>
#include <mutex>
#include <openvino/core/graph_util.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/openvino.hpp>
#include <stdexcept>
#include <string>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <torch2cpp/shim.h>

#include "compiled_border.h"
#include "openvino_compiled_model.h"

namespace torch2cpp::openvino {
namespace {

using Tensor = torch::stable::Tensor;

ov::Core& core() {
  // It lives as long as the process: its threads may outlast static objects.
  static ov::Core* shared = new ov::Core();
  return *shared;
}

// Numbers of dtypes in the C ABI, and OpenVINO's element types in the same order.
constexpr std::array<int32_t, 9> kDtypes{0, 1, 2, 3, 4, 5, 6, 11, 15};
constexpr std::array<ov::element::Type_t, 9> kElementTypes{
    ov::element::Type_t::u8,  ov::element::Type_t::i8,      ov::element::Type_t::i16,
    ov::element::Type_t::i32, ov::element::Type_t::i64,     ov::element::Type_t::f16,
    ov::element::Type_t::f32, ov::element::Type_t::boolean, ov::element::Type_t::bf16};

ov::element::Type element_type(int32_t dtype) {
  for (size_t i = 0; i < kDtypes.size(); ++i) {
    if (kDtypes[i] == dtype) {
      return kElementTypes[i];
    }
  }
  throw std::runtime_error("a dtype that OpenVINO does not take");
}

int32_t dtype_of(const ov::element::Type& type) {
  for (size_t i = 0; i < kDtypes.size(); ++i) {
    if (type == kElementTypes[i]) {
      return kDtypes[i];
    }
  }
  throw std::runtime_error("a result of a dtype that libtorch does not have");
}

// OpenVINO's view of a contiguous tensor's storage.
ov::Tensor over(const Tensor& tensor) {
  static char nothing[64] = {};
  int32_t dtype = 0;
  int64_t rank = 0;
  int64_t* sizes = nullptr;
  void* data = nullptr;
  check(aoti_torch_get_dtype(tensor.get(), &dtype));
  check(aoti_torch_get_dim(tensor.get(), &rank));
  check(aoti_torch_get_sizes(tensor.get(), &sizes));
  check(aoti_torch_get_data_ptr(tensor.get(), &data));
  return ov::Tensor(element_type(dtype), ov::Shape(sizes, sizes + rank), data == nullptr ? nothing : data);
}

Tensor copy_of(const ov::Tensor& tensor) {
  const ov::Shape shape = tensor.get_shape();
  const std::vector<int64_t> sizes(shape.begin(), shape.end());
  Tensor out = compiled::empty(sizes.data(), static_cast<int64_t>(sizes.size()), dtype_of(tensor.get_element_type()));
  void* data = nullptr;
  check(aoti_torch_get_data_ptr(out.get(), &data));
  if (tensor.get_size() > 0) {
    std::memcpy(data, tensor.data(), tensor.get_byte_size());
  }
  return out;
}

}  // namespace

struct CompiledModel::Impl {
  // The model's constants are in their storage.
  std::vector<Tensor> weights;
  mutable ov::CompiledModel model;
  // Requests at rest: one is made for each thread that runs at the same time as others.
  mutable std::mutex mutex;
  mutable std::vector<ov::InferRequest> idle;

  ov::InferRequest take() const {
    const std::lock_guard<std::mutex> lock(mutex);
    if (idle.empty()) {
      return model.create_infer_request();
    }
    ov::InferRequest out = std::move(idle.back());
    idle.pop_back();
    return out;
  }

  void give_back(ov::InferRequest request) const {
    const std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(std::move(request));
  }
};

CompiledModel::CompiledModel(const Model& model, const std::vector<Tensor>& weights) {
  ov::Tensor constants(ov::element::u8, {model.constants.size()});
  std::memcpy(constants.data(), model.constants.data(), model.constants.size());
  const std::shared_ptr<ov::Model> graph = core().read_model(std::string(model.graph), constants);
  const ov::ParameterVector parameters = graph->get_parameters();
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto& parameter = parameters.at(parameters.size() - weights.size() + i);
    ov::replace_node(parameter, std::make_shared<ov::op::v0::Constant>(over(weights[i])));
    graph->remove_parameter(parameter);
  }
  graph->validate_nodes_and_infer_types();
  uint32_t threads = 1;
  check(torch_get_num_threads(&threads));
  const auto impl = std::make_shared<Impl>();
  impl->weights = weights;
  impl->model =
      core().compile_model(graph, "CPU", ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY),
                           ov::num_streams(1), ov::inference_num_threads(static_cast<int>(threads)),
                           // What Python computes in float32 stays float32 where bfloat16 would be faster.
                           ov::hint::inference_precision(ov::element::f32), ov::hint::enable_cpu_pinning(false));
  impl->idle.push_back(impl->model.create_infer_request());
  impl_ = impl;
}

void CompiledModel::run(std::span<const Tensor> in, std::span<Tensor> out) const {
  ov::InferRequest request = impl_->take();
  for (size_t i = 0; i < in.size(); ++i) {
    request.set_input_tensor(i, over(in[i]));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].defined()) {
      request.set_output_tensor(i, over(out[i]));
    }
  }
  request.infer();
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) {
      out[i] = copy_of(request.get_output_tensor(i));
    }
  }
  impl_->give_back(std::move(request));
}

}  // namespace torch2cpp::openvino
