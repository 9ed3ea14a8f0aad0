// Files in the safetensors format: an index in JSON, then the bytes of all tensors.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch2cpp/mapped_file.h>
#include <torch2cpp/tensor.h>

namespace torch2cpp {

// Where one tensor lies in the file.
struct SafetensorsEntry {
  ScalarType dtype;
  std::vector<int64_t> sizes;
  // Byte offsets from the end of the header.
  std::size_t begin, end;
};

class Safetensors {
 public:
  // Maps the file and checks its index; InputError, naming the weight where one is concerned, for a file
  // that is missing, truncated or not of this format.
  explicit Safetensors(const std::string& path);

  // By name, in alphabetical order.
  const std::map<std::string, SafetensorsEntry, std::less<>>& entries() const { return entries_; }

  // A tensor on the mapped memory, which lives as long as the tensor. Where the file places it at another address
  // than a multiple of 64 bytes, a copy: kernels then give the same bits as on a tensor of PyTorch's own.
  Tensor get(std::string_view name) const;

 private:
  std::string path_;
  std::shared_ptr<MappedFile> file_;
  std::size_t data_start_ = 0;
  std::map<std::string, SafetensorsEntry, std::less<>> entries_;
};

}  // namespace torch2cpp
