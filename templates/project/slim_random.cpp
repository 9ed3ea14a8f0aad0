// The generator of random numbers: the one that the operators of runtime/slim draw from.
#include <mutex>
#include <string>

#include <torch2cpp/errors.h>
#include <torch2cpp/random.h>
#include <torch2cpp/slim/random.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp {

void seed_random(int64_t seed) { slim::manual_seed(static_cast<uint64_t>(seed)); }

Tensor random_state() {
  Tensor out = empty({static_cast<int64_t>(slim::Generator::kStateBytes)}, ScalarType::Byte);
  slim::Generator& generator = slim::default_generator();
  const std::scoped_lock lock(generator.mutex);
  generator.get_state({static_cast<char*>(out.mutable_data_ptr()), slim::Generator::kStateBytes});
  return out;
}

void set_random_state(const Tensor& state) {
  if (state.scalar_type() != ScalarType::Byte || !state.is_contiguous()) {
    raise_type_error("RNG state must be a torch.ByteTensor");
  }
  slim::Generator& generator = slim::default_generator();
  const std::scoped_lock lock(generator.mutex);
  generator.set_state({static_cast<const char*>(state.const_data_ptr()), static_cast<std::size_t>(state.numel())});
}

}  // namespace torch2cpp
