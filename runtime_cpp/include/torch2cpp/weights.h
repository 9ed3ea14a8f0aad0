// The weights of a model: a mapped safetensors file that holds just what the program was built for.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <torch2cpp/tensor.h>

namespace torch2cpp {

// One weight that a program needs.
struct WeightSpec {
  std::string name;
  ScalarType dtype;
  std::vector<int64_t> sizes;
};

class Weights {
 public:
  // Opens the file and checks it. InputError for a weight that is missing, not known to the program, truncated, or of
  // another dtype or size. Entries whose names begin with "__" only align the others.
  Weights(const std::string& path, const std::vector<WeightSpec>& expected);

  // The same tensor at every call, without a copy; InputError for a name the program does not know.
  Tensor get(std::string_view name) const;

 private:
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace torch2cpp
