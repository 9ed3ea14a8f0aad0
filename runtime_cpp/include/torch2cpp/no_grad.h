// torch.no_grad() for the calling thread.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

namespace torch2cpp {

// Until its end no gradients are recorded.
class NoGrad {
 public:
  NoGrad() : before_(aoti_torch_grad_mode_is_enabled()) { aoti_torch_grad_mode_set_enabled(false); }
  ~NoGrad() { aoti_torch_grad_mode_set_enabled(before_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

}  // namespace torch2cpp
