// A region as an OpenVINO model, run on the CPU.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <torch/csrc/stable/tensor.h>

namespace torch2cpp::openvino {

// A graph in OpenVINO's own format and its small constants; the last parameters are the weights.
struct Model {
  std::string_view graph, constants;
};

class CompiledModel {
 public:
  // Raises std::exception with OpenVINO's words.
  CompiledModel(const Model& model, const std::vector<torch::stable::Tensor>& weights);

  // Reads contiguous inputs where they are and writes where the outputs are; an output that is not defined yet gets
  // its storage here. Safe to call from several threads at once.
  void run(std::span<const torch::stable::Tensor> in, std::span<torch::stable::Tensor> out) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace torch2cpp::openvino
