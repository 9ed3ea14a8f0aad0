#include <algorithm>
#include <cstdint>
#include <iterator>

#include <torch2cpp/text.h>
#include <torch2cpp/utf8.h>

#include "code_points.h"

namespace torch2cpp {
namespace {

using code_points::Range, code_points::within;

#include "unicode_tables.inc"

std::string hex(char32_t point, int digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(static_cast<std::size_t>(digits), '0');
  for (auto place = out.rbegin(); place != out.rend(); ++place, point >>= 4) {
    *place = kDigits[point & 15];
  }
  return out;
}

std::string escape(char32_t point) {
  switch (point) {
    case U'\t':
      return "\\t";
    case U'\n':
      return "\\n";
    case U'\r':
      return "\\r";
    case U'\\':
      return "\\\\";
    default:
      return point < 0x100 ? "\\x" + hex(point, 2) : point < 0x10000 ? "\\u" + hex(point, 4) : "\\U" + hex(point, 8);
  }
}

}  // namespace

bool is_printable(char32_t point) { return within(kPrintable, point); }
bool is_space(char32_t point) { return within(kSpace, point); }
bool is_digit(char32_t point) { return within(kDigit, point); }
bool is_decimal(char32_t point) { return within(kDecimal, point); }
bool is_numeric(char32_t point) { return within(kNumeric, point); }
bool is_alpha(char32_t point) { return within(kAlpha, point); }
// What is decimal or a digit is numeric too.
bool is_alnum(char32_t point) { return is_alpha(point) || is_numeric(point); }
bool is_upper(char32_t point) { return within(kUpper, point); }
bool is_lower(char32_t point) { return within(kLower, point); }
bool is_title(char32_t point) { return within(kTitle, point); }

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t more = lead < 0xc0 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    char32_t point = more == 0 ? lead : static_cast<char32_t>(lead & (0x3f >> more));
    for (std::size_t j = 1; j <= more && i + j < text.size(); ++j) {
      point = (point << 6) | (static_cast<unsigned char>(text[i + j]) & 0x3f);
    }
    out += point;
    i += more + 1;
  }
  return out;
}

std::string encode_utf8(std::u32string_view points) {
  std::string out;
  out.reserve(points.size());
  const auto add = [&](char32_t bits) { out += static_cast<char>(static_cast<unsigned char>(bits)); };
  for (const char32_t point : points) {
    if (point < 0x80) {
      add(point);
    } else if (point < 0x800) {
      add(0xc0 | (point >> 6));
      add(0x80 | (point & 0x3f));
    } else if (point < 0x10000) {
      add(0xe0 | (point >> 12));
      add(0x80 | ((point >> 6) & 0x3f));
      add(0x80 | (point & 0x3f));
    } else {
      add(0xf0 | (point >> 18));
      add(0x80 | ((point >> 12) & 0x3f));
      add(0x80 | ((point >> 6) & 0x3f));
      add(0x80 | (point & 0x3f));
    }
  }
  return out;
}

std::string string_repr(std::string_view text) {
  const bool has_single = text.find('\'') != text.npos, has_double = text.find('"') != text.npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (const char32_t point : decode_utf8(text)) {
    if (point == static_cast<char32_t>(quote)) {
      out += '\\';
      out += quote;
    } else if (point != U'\\' && is_printable(point)) {
      out += encode_utf8(std::u32string_view(&point, 1));
    } else {
      out += escape(point);
    }
  }
  return out + quote;
}

}  // namespace torch2cpp
