// repr of strings.
#pragma once

#include <string>
#include <string_view>

#include <torch2cpp/protocols.h>

namespace torch2cpp {

// In quotes, with escapes, as Python chooses them.
std::string string_repr(std::string_view text);

template <>
struct Text<std::string> {
  static const std::string& str(const std::string& text) { return text; }
  static std::string repr(const std::string& text) { return string_repr(text); }
};

}  // namespace torch2cpp
