// A region as an ONNX graph, run by ONNX Runtime.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <torch/csrc/stable/tensor.h>

namespace torch2cpp::onnxruntime {

// A graph whose weights are outside of it.
struct Model {
  std::string_view graph;
  std::span<const char* const> inputs, outputs, weights;
};

// One session a region and set of weights; all sessions share one pool of threads.
class Session {
 public:
  // Raises std::runtime_error with ONNX Runtime's words.
  Session(const Model& model, const std::vector<torch::stable::Tensor>& weights);

  // Reads contiguous inputs where they are and writes where the outputs are; an output that is not defined yet gets
  // its storage here. Safe to call from several threads at once.
  void run(std::span<const torch::stable::Tensor> in, std::span<torch::stable::Tensor> out) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace torch2cpp::onnxruntime
