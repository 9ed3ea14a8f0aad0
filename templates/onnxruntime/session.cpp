// ONNX Runtime below the regions: one environment, sessions, tensors over the host's memory.
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <torch2cpp/shim.h>

#include "compiled_border.h"
#include "onnxruntime_functions.h"
#include "onnxruntime_session.h"

namespace torch2cpp::onnxruntime {

Functions::Functions(void* const* t)
    : get_error_message(t),
      create_session(t),
      run(t),
      create_session_options(t),
      set_optimization(t),
      create_tensor_over(t),
      get_data(t),
      get_rank(t),
      get_sizes(t),
      get_element_type(t),
      get_shape(t),
      create_cpu_memory_info(t),
      release_status(t),
      release_session(t),
      release_value(t),
      release_shape(t),
      release_session_options(t),
      create_environment(t),
      use_shared_threads(t),
      create_threading_options(t),
      release_threading_options(t),
      set_threads(t),
      set_threads_across_operators(t),
      add_external_weights(t) {}

namespace {

using Tensor = torch::stable::Tensor;

// What lives as long as the process: releasing it while threads end is not safe.
class Runtime {
 public:
  static const Runtime& get() {
    static const Runtime* runtime = new Runtime();
    return *runtime;
  }

  const Functions& operator*() const { return functions_; }
  const Functions* operator->() const { return &functions_; }

  void check(Status* status) const {
    if (status != nullptr) {
      const std::string message = functions_.get_error_message(status);
      functions_.release_status(status);
      throw std::runtime_error(message);
    }
  }

  const Environment* environment() const { return environment_; }
  const MemoryInfo* memory() const { return memory_; }

 private:
  Runtime() : functions_(table()) {
    ThreadingOptions* threading = nullptr;
    check(functions_.create_threading_options(&threading));
    // As many threads as libtorch uses, in one pool for all sessions.
    uint32_t threads = 1;
    torch2cpp::check(torch_get_num_threads(&threads));
    check(functions_.set_threads(threading, static_cast<int>(threads)));
    check(functions_.set_threads_across_operators(threading, 1));
    check(functions_.create_environment(LogLevel::kError, "torch2cpp", threading, &environment_));
    functions_.release_threading_options(threading);
    check(functions_.create_cpu_memory_info(Allocator::kDevice, Memory::kDefault, &memory_));
  }

  static void* const* table() {
    void* const* out = OrtGetApiBase()->get_api(kApiVersion);
    if (out == nullptr) {
      throw std::runtime_error(std::string("ONNX Runtime 1.16 or later is needed, this one is ") +
                               OrtGetApiBase()->get_version());
    }
    return out;
  }

  Functions functions_;
  Environment* environment_ = nullptr;
  MemoryInfo* memory_ = nullptr;
};

struct ReleaseValue {
  void operator()(Value* value) const { Runtime::get()->release_value(value); }
};
using OwnedValue = std::unique_ptr<Value, ReleaseValue>;

// Numbers of dtypes in the C ABI -> in ONNX, by place; 0 where ONNX Runtime has none.
constexpr std::array<int, 16> kElementTypes{2, 3, 5, 6, 7, 10, 1, 11, 0, 0, 0, 9, 0, 0, 0, 16};

int element_type(int32_t dtype) {
  const int out = dtype >= 0 && dtype < static_cast<int32_t>(kElementTypes.size()) ? kElementTypes[dtype] : 0;
  if (out == 0) {
    throw std::runtime_error("a dtype that ONNX Runtime does not take");
  }
  return out;
}

int32_t dtype_of(int element_type) {
  for (size_t dtype = 0; dtype < kElementTypes.size(); ++dtype) {
    if (kElementTypes[dtype] == element_type) {
      return static_cast<int32_t>(dtype);
    }
  }
  throw std::runtime_error("a result of a dtype that libtorch does not have");
}

// ONNX Runtime's handle to the storage of a contiguous tensor.
OwnedValue over(const Tensor& tensor) {
  static char nothing = 0;
  int32_t dtype = 0;
  int64_t rank = 0, elements = 0;
  int64_t* sizes = nullptr;
  void* data = nullptr;
  torch2cpp::check(aoti_torch_get_dtype(tensor.get(), &dtype));
  torch2cpp::check(aoti_torch_get_dim(tensor.get(), &rank));
  torch2cpp::check(aoti_torch_get_numel(tensor.get(), &elements));
  torch2cpp::check(aoti_torch_get_sizes(tensor.get(), &sizes));
  torch2cpp::check(aoti_torch_get_data_ptr(tensor.get(), &data));
  const size_t bytes = static_cast<size_t>(elements) * aoti_torch_dtype_element_size(dtype);
  const Runtime& runtime = Runtime::get();
  Value* out = nullptr;
  runtime.check(runtime->create_tensor_over(runtime.memory(), data == nullptr ? &nothing : data, bytes, sizes,
                                            static_cast<size_t>(rank), element_type(dtype), &out));
  return OwnedValue(out);
}

// A copy of a result that ONNX Runtime allocated, since its size was not known before.
Tensor copy_of(Value* value) {
  const Runtime& runtime = Runtime::get();
  ShapeInfo* found = nullptr;
  runtime.check(runtime->get_shape(value, &found));
  const std::unique_ptr<ShapeInfo, void (*)(ShapeInfo*)> shape(
      found, [](ShapeInfo* info) { Runtime::get()->release_shape(info); });
  size_t rank = 0;
  int type = 0;
  runtime.check(runtime->get_rank(shape.get(), &rank));
  runtime.check(runtime->get_element_type(shape.get(), &type));
  std::vector<int64_t> sizes(rank);
  runtime.check(runtime->get_sizes(shape.get(), sizes.data(), rank));
  const int32_t dtype = dtype_of(type);
  Tensor out = compiled::empty(sizes.data(), static_cast<int64_t>(rank), dtype);
  int64_t elements = 0;
  void *from = nullptr, *to = nullptr;
  torch2cpp::check(aoti_torch_get_numel(out.get(), &elements));
  torch2cpp::check(aoti_torch_get_data_ptr(out.get(), &to));
  runtime.check(runtime->get_data(value, &from));
  if (elements > 0) {
    std::memcpy(to, from, static_cast<size_t>(elements) * aoti_torch_dtype_element_size(dtype));
  }
  return out;
}

}  // namespace

struct Session::Impl {
  explicit Impl(const Model& names, std::vector<Tensor> tensors) : model(names), weights(std::move(tensors)) {}
  Impl(const Impl&) = delete;
  ~Impl() {
    if (session != nullptr) {
      Runtime::get()->release_session(session);
    }
  }

  Model model;
  // The session reads them where they are.
  std::vector<Tensor> weights;
  std::vector<OwnedValue> weight_values;
  SessionHandle* session = nullptr;
};

Session::Session(const Model& model, const std::vector<Tensor>& weights) {
  const Runtime& runtime = Runtime::get();
  const auto impl = std::make_shared<Impl>(model, weights);
  SessionOptions* made = nullptr;
  runtime.check(runtime->create_session_options(&made));
  const std::unique_ptr<SessionOptions, void (*)(SessionOptions*)> options(
      made, [](SessionOptions* each) { Runtime::get()->release_session_options(each); });
  runtime.check(runtime->use_shared_threads(options.get()));
  runtime.check(runtime->set_optimization(options.get(), Optimization::kAll));
  std::vector<const Value*> values;
  for (const Tensor& weight : impl->weights) {
    impl->weight_values.push_back(over(weight));
    values.push_back(impl->weight_values.back().get());
  }
  if (!values.empty()) {
    runtime.check(runtime->add_external_weights(options.get(), model.weights.data(), values.data(), values.size()));
  }
  runtime.check(runtime->create_session(runtime.environment(), model.graph.data(), model.graph.size(), options.get(),
                                        &impl->session));
  impl_ = impl;
}

void Session::run(std::span<const Tensor> in, std::span<Tensor> out) const {
  const Runtime& runtime = Runtime::get();
  std::vector<OwnedValue> owned;
  owned.reserve(in.size() + out.size());
  std::vector<const Value*> given;
  given.reserve(in.size());
  for (const Tensor& tensor : in) {
    owned.push_back(over(tensor));
    given.push_back(owned.back().get());
  }
  std::vector<Value*> made(out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].defined()) {
      owned.push_back(over(out[i]));
      made[i] = owned.back().get();
    }
  }
  const Model& model = impl_->model;
  runtime.check(runtime->run(impl_->session, nullptr, model.inputs.data(), given.data(), given.size(),
                             model.outputs.data(), made.size(), made.data()));
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) {
      const OwnedValue result(made[i]);
      out[i] = copy_of(result.get());
    }
  }
}

}  // namespace torch2cpp::onnxruntime
