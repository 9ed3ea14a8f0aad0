// Random numbers: PyTorch's generator on the CPU, draw for draw.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

namespace torch2cpp::slim {

// The Mersenne twister of 32 bits, and what is left over from normal numbers, which come in pairs.
class Generator {
 public:
  // PyTorch's own first seed.
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  // Bytes of a state, as `torch.get_rng_state()` gives it.
  static constexpr std::size_t kStateBytes = 5056;

  Generator() { seed(kDefaultSeed); }
  void seed(uint64_t seed);
  uint64_t initial_seed() const { return initial_seed_; }

  uint32_t random();
  uint64_t random64();
  // In [0, 1).
  float uniform_float();
  double uniform_double();
  // Of mean 0 and standard deviation 1.
  double normal();

  // The state in the layout that PyTorch reads and writes on this machine. RuntimeError for one that is none.
  void get_state(std::span<char> to) const;
  void set_state(std::span<const char> from);

  // Held while numbers are drawn.
  std::mutex mutex;

 private:
  static constexpr std::size_t kWords = 624;
  void turn();

  uint64_t initial_seed_ = 0;
  int32_t left_ = 1;
  bool seeded_ = true;
  uint32_t next_ = 0;
  std::array<uint32_t, kWords> words_{};
  std::optional<float> next_float_normal_;
  std::optional<double> next_normal_;
};

// The one that operators draw from; its functions may be called while no operator runs.
Generator& default_generator();

// As `torch.manual_seed`.
void manual_seed(uint64_t seed);

}  // namespace torch2cpp::slim
