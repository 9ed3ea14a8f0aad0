// The generator that operators draw random numbers from. A project that uses these functions has their
// definitions in src/random.cpp, since what lies below the C ABI decides where the generator is.
#pragma once

#include <cstdint>

#include <torch2cpp/tensor.h>

namespace torch2cpp {

// As `torch.manual_seed`; a negative seed stands for the unsigned one with the same bits.
void seed_random(int64_t seed);

// As `torch.get_rng_state`: a new tensor of bytes.
Tensor random_state();

// As `torch.set_rng_state`: TypeError and RuntimeError for what is no state, as in Python.
void set_random_state(const Tensor& state);

}  // namespace torch2cpp
