// The generator of random numbers: libtorch's default one on the CPU.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <mutex>

#include <torch/csrc/inductor/aoti_torch/utils.h>

#include <torch2cpp/errors.h>
#include <torch2cpp/random.h>

namespace torch2cpp {
namespace {

// Runs `change` on the generator, its errors as Python has them.
template <class F>
auto with_generator(F change) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  try {
    return change(generator);
  } catch (const c10::TypeError& error) {
    raise_type_error(error.what_without_backtrace());
  } catch (const c10::Error& error) {
    raise_runtime_error(error.what_without_backtrace());
  }
}

}  // namespace

void seed_random(int64_t seed) {
  with_generator([&](at::Generator& generator) { generator.set_current_seed(static_cast<uint64_t>(seed)); });
}

Tensor random_state() {
  const at::Tensor state = with_generator([](at::Generator& generator) { return generator.get_state(); });
  return Tensor(torch::aot_inductor::tensor_pointer_to_tensor_handle(new at::Tensor(state)));
}

void set_random_state(const Tensor& state) {
  const at::Tensor& given = *torch::aot_inductor::tensor_handle_to_tensor_pointer(state.get());
  with_generator([&](at::Generator& generator) { generator.set_state(given); });
}

}  // namespace torch2cpp
