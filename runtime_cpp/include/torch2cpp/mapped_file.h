// A file mapped into memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace torch2cpp {

// Pages are private: what a program writes into them never reaches the file.
class MappedFile {
 public:
  // std::runtime_error where the file cannot be read.
  static std::shared_ptr<MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  MappedFile(char* data, std::size_t size) : data_(data), size_(size) {}
  char* data_;
  std::size_t size_;
};

}  // namespace torch2cpp
