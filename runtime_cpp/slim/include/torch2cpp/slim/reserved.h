// Memory for the calls of one model, taken when it is made.
#pragma once

#include <cstddef>

namespace torch2cpp::slim {

// While it lives, the arena has taken at least so many bytes for each that lives, those for blocks of up to 1024 bytes
// apart. What one leaves behind serves the next. Also makes what the C library and OpenMP keep for the calling thread.
class Reserved {
 public:
  // Raises MemoryError where the C library does not have them.
  Reserved(std::size_t large, std::size_t small);
  ~Reserved();
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

 private:
  std::size_t large_, small_;
};

}  // namespace torch2cpp::slim
