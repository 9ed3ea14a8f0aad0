#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/random.h>

namespace torch2cpp::slim {
namespace {

constexpr std::size_t kPeriod = 397;

// What PyTorch keeps as bytes; padding included, these are `kStateBytes`.
struct State {
  uint64_t initial_seed;
  int32_t left, seeded;
  uint64_t next;
  uint64_t words[624];
  double normal_x, normal_y, normal_rho;
  int32_t normal_is_valid;
  int32_t padding;
  float next_float_normal;
  bool next_float_normal_is_valid;
};
static_assert(sizeof(State) == Generator::kStateBytes);

}  // namespace

void Generator::seed(uint64_t seed) {
  initial_seed_ = seed;
  words_[0] = static_cast<uint32_t>(seed);
  for (std::size_t i = 1; i < kWords; ++i) {
    words_[i] = 1812433253U * (words_[i - 1] ^ (words_[i - 1] >> 30U)) + static_cast<uint32_t>(i);
  }
  left_ = 1;
  next_ = 0;
  seeded_ = true;
  next_float_normal_.reset();
  next_normal_.reset();
}

void Generator::turn() {
  for (std::size_t i = 0; i < kWords; ++i) {
    const uint32_t mixed = (words_[i] & 0x80000000U) | (words_[(i + 1) % kWords] & 0x7fffffffU);
    words_[i] = words_[(i + kPeriod) % kWords] ^ (mixed >> 1U) ^ ((mixed & 1U) != 0 ? 0x9908b0dfU : 0U);
  }
  left_ = static_cast<int32_t>(kWords);
  next_ = 0;
}

uint32_t Generator::random() {
  if (--left_ == 0) {
    turn();
  }
  uint32_t y = words_[next_++];
  y ^= y >> 11U;
  y ^= (y << 7U) & 0x9d2c5680U;
  y ^= (y << 15U) & 0xefc60000U;
  return y ^ (y >> 18U);
}

uint64_t Generator::random64() {
  const uint64_t high = random();
  return high << 32U | random();
}

float Generator::uniform_float() { return static_cast<float>(random() & 0xffffffU) * 0x1p-24F; }
double Generator::uniform_double() { return static_cast<double>(random64() & 0x1fffffffffffffU) * 0x1p-53; }

double Generator::normal() {
  if (next_normal_) {
    const double kept = *next_normal_;
    next_normal_.reset();
    return kept;
  }
  const double angle = 2 * std::numbers::pi * uniform_double();
  const double radius = std::sqrt(-2 * std::log1p(-uniform_double()));
  next_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void Generator::get_state(std::span<char> to) const {
  State out;
  std::memset(&out, 0, sizeof(out));
  out.initial_seed = initial_seed_;
  out.left = left_;
  out.seeded = seeded_ ? 1 : 0;
  out.next = next_;
  std::copy(words_.begin(), words_.end(), out.words);
  out.normal_is_valid = next_normal_.has_value() ? 1 : 0;
  out.normal_y = next_normal_.value_or(0);
  out.next_float_normal_is_valid = next_float_normal_.has_value();
  out.next_float_normal = next_float_normal_.value_or(0);
  if (to.size() != sizeof(out)) {
    raise_runtime_error("a state of the random number generator has " + std::to_string(sizeof(out)) + " bytes");
  }
  std::memcpy(to.data(), &out, sizeof(out));
}

void Generator::set_state(std::span<const char> from) {
  State in;
  if (from.size() != sizeof(in)) {
    raise_runtime_error("a state of the random number generator has " + std::to_string(sizeof(in)) + " bytes");
  }
  std::memcpy(&in, from.data(), sizeof(in));
  if (in.left < 1 || in.left > static_cast<int32_t>(kWords) || in.next > kWords) {
    raise_runtime_error("Invalid mt19937 state");
  }
  initial_seed_ = in.initial_seed;
  left_ = in.left;
  seeded_ = in.seeded != 0;
  next_ = static_cast<uint32_t>(in.next);
  std::transform(in.words, in.words + kWords, words_.begin(),
                 [](uint64_t word) { return static_cast<uint32_t>(word); });
  next_normal_ = in.normal_is_valid != 0 ? std::optional<double>(in.normal_y) : std::nullopt;
  next_float_normal_ = in.next_float_normal_is_valid ? std::optional<float>(in.next_float_normal) : std::nullopt;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

void manual_seed(uint64_t seed) {
  Generator& generator = default_generator();
  const std::lock_guard lock(generator.mutex);
  generator.seed(seed);
}

}  // namespace torch2cpp::slim
