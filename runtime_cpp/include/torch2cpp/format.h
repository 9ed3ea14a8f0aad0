// format(value, spec): Python's format mini-language for ints, floats, bools and strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <torch2cpp/protocols.h>

namespace torch2cpp {

std::string format_int(int64_t value, std::string_view spec);
std::string format_float(double value, std::string_view spec);
std::string format_bool(bool value, std::string_view spec);
std::string format_string(std::string_view value, std::string_view spec);

template <Number T>
std::string format(T value, std::string_view spec = {}) {
  if constexpr (std::same_as<T, bool>) {
    return format_bool(value, spec);
  } else if constexpr (Integer<T>) {
    return format_int(static_cast<int64_t>(value), spec);
  } else {
    return format_float(static_cast<double>(value), spec);
  }
}
inline std::string format(std::string_view value, std::string_view spec = {}) { return format_string(value, spec); }
inline std::string format(const std::string& value, std::string_view spec = {}) { return format_string(value, spec); }
inline std::string format(const char* value, std::string_view spec = {}) { return format_string(value, spec); }

}  // namespace torch2cpp
