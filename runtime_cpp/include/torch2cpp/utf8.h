// Strings are UTF-8; Python counts code points.
#pragma once

#include <string>
#include <string_view>

namespace torch2cpp {

std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view points);

inline bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      return false;
    }
  }
  return true;
}

// Of CPython's Unicode database.
bool is_printable(char32_t point);
bool is_space(char32_t point);
bool is_digit(char32_t point);
bool is_decimal(char32_t point);
bool is_numeric(char32_t point);
bool is_alpha(char32_t point);
bool is_alnum(char32_t point);
bool is_upper(char32_t point);
bool is_lower(char32_t point);
bool is_title(char32_t point);

}  // namespace torch2cpp
