// repr of strings; literals count as strings.
#pragma once

#include <cstddef>
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
template <std::size_t N>
struct Text<char[N]> {
  static std::string str(const char (&text)[N]) { return text; }
  static std::string repr(const char (&text)[N]) { return string_repr(text); }
};
template <std::size_t N>
struct Truth<char[N]> {
  static bool of(const char (&text)[N]) { return text[0] != '\0'; }
};

}  // namespace torch2cpp
