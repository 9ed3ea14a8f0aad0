// Random numbers of a program that has tensors of its own: drawn from Python's generator, which moves on.
#pragma once

#include <array>
#include <cstring>
#include <mutex>
#include <pybind11/pybind11.h>
#include <string>

#include <torch2cpp/slim/random.h>

namespace torch2cpp::python {

namespace pb = pybind11;

// While it lives, the program's generator is where `torch.get_rng_state()` was; then Python goes on from there.
// Made and destroyed with the interpreter's lock.
class SharedRandom {
 public:
  SharedRandom() : torch_(pb::module_::import("torch")), state_(torch_.attr("get_rng_state")()) {
    slim::default_generator().set_state({data(), slim::Generator::kStateBytes});
  }
  SharedRandom(const SharedRandom&) = delete;
  SharedRandom& operator=(const SharedRandom&) = delete;
  ~SharedRandom() {
    try {
      slim::default_generator().get_state({data(), slim::Generator::kStateBytes});
      torch_.attr("set_rng_state")(state_);
    } catch (...) {
      // Python's generator stays where it was: there is nobody to tell.
      PyErr_Clear();
    }
  }

 private:
  // A contiguous tensor of bytes.
  char* data() const {
    if (state_.attr("numel")().cast<std::size_t>() != slim::Generator::kStateBytes) {
      throw pb::value_error("the state of torch's random number generator is not the one of this release");
    }
    return reinterpret_cast<char*>(state_.attr("data_ptr")().cast<uintptr_t>());
  }

  pb::module_ torch_;
  pb::object state_;
};

}  // namespace torch2cpp::python
