// A region as TorchScript: its text becomes a frozen module when the program starts. What libtorch declares beyond
// the C ABI is seen by script.cpp alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <torch/csrc/stable/tensor.h>

#include <torch2cpp/list.h>

namespace torch2cpp::torchscript {

// A parameter or result.
using Value = std::variant<torch::stable::Tensor, int64_t, double, bool, std::string, List<torch::stable::Tensor>,
                           List<int64_t>, List<double>, List<bool>>;

class Script {
 public:
  // `source` defines `forward` and reads the weights as self.w0, self.w1, ... Raises std::exception where libtorch
  // does not take it.
  Script(const char* source, const std::vector<torch::stable::Tensor>& weights);

  // Safe to call from several threads at once.
  std::vector<Value> operator()(const std::vector<Value>& arguments) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace torch2cpp::torchscript
