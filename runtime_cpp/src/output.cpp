#include <cstdio>

#include <torch2cpp/output.h>

namespace torch2cpp {

void print(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

}  // namespace torch2cpp
