#include <array>
#include <string>
#include <utility>

#include <torch2cpp/shim.h>

namespace torch2cpp {
namespace {

// The C ABI hands over the message only; eager gives these beginnings another class than RuntimeError.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kClasses{{
    {"Dimension out of range", "IndexError"},
    {"Dimension specified as", "IndexError"},
    {"torch.cat(): expected a non-empty list", "ValueError"},
    {"index out of range", "IndexError"},
}};

}  // namespace

void raise_shim_error() {
  std::string message = torch_exception_get_what_without_backtrace();
  while (!message.empty() && message.back() == '\n') {
    message.pop_back();
  }
  for (const auto& [prefix, type_name] : kClasses) {
    if (message.starts_with(prefix)) {
      raise_error(type_name, std::move(message));
    }
  }
  raise_runtime_error(std::move(message));
}

}  // namespace torch2cpp
