#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include <torch2cpp/convert.h>
#include <torch2cpp/errors.h>
#include <torch2cpp/format.h>
#include <torch2cpp/utf8.h>

namespace torch2cpp {
namespace {

// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
struct Spec {
  char32_t fill = U' ';
  char32_t align = 0;
  char32_t sign = 0;
  bool no_negative_zero = false;
  bool alternate = false;
  // The alignment '=' comes from a 0 before the width.
  bool zero_padded = false;
  int64_t width = -1;
  char32_t grouping = 0;
  int64_t precision = -1;
  char32_t type = 0;
};

bool is_align(char32_t c) { return c == U'<' || c == U'>' || c == U'=' || c == U'^'; }
bool is_decimal(char32_t c) { return c >= U'0' && c <= U'9'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : points_(decode_utf8(text)) {}

  Spec parse(std::string_view text, std::string_view type_name) {
    Spec spec;
    if (is_align(peek(1))) {
      spec.fill = take();
      spec.align = take();
    } else if (is_align(peek())) {
      spec.align = take();
    }
    const bool own_fill = position_ == 2;
    const bool own_align = spec.align != 0;
    if (peek() == U'+' || peek() == U'-' || peek() == U' ') {
      spec.sign = take();
    }
    spec.no_negative_zero = skip(U'z');
    spec.alternate = skip(U'#');
    if (!own_fill && skip(U'0')) {
      spec.fill = U'0';
      if (!own_align) {
        spec.zero_padded = true;
        spec.align = U'=';
      }
    }
    spec.width = number();
    take_grouping(spec);
    if (skip(U'.')) {
      spec.precision = number();
      if (spec.precision < 0) {
        raise_value_error("Format specifier missing precision");
      }
    }
    if (points_.size() - position_ > 1) {
      raise_value_error("Invalid format specifier '" + std::string(text) + "' for object of type '" +
                        std::string(type_name) + "'");
    }
    if (position_ < points_.size()) {
      spec.type = take();
    }
    return spec;
  }

 private:
  char32_t peek(std::size_t ahead = 0) const {
    return position_ + ahead < points_.size() ? points_[position_ + ahead] : U'\0';
  }
  char32_t take() { return points_[position_++]; }
  bool skip(char32_t c) {
    const bool found = position_ < points_.size() && points_[position_] == c;
    position_ += found ? 1 : 0;
    return found;
  }

  void take_grouping(Spec& spec) {
    if (skip(U',')) {
      spec.grouping = U',';
    }
    if (skip(U'_')) {
      if (spec.grouping != 0) {
        raise_value_error("Cannot specify both ',' and '_'.");
      }
      spec.grouping = U'_';
    }
    if (peek() == U',' && spec.grouping == U'_') {
      raise_value_error("Cannot specify both ',' and '_'.");
    }
  }

  // -1 where there are no digits.
  int64_t number() {
    if (!is_decimal(peek())) {
      return -1;
    }
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    int64_t out = 0;
    while (is_decimal(peek())) {
      out = out * 10 + static_cast<int64_t>(take() - U'0');
      if (out > kMost) {
        raise_value_error("Too many decimal digits in format string");
      }
    }
    return out;
  }

  std::u32string points_;
  std::size_t position_ = 0;
};

std::string point_text(char32_t point) { return encode_utf8(std::u32string_view(&point, 1)); }

[[noreturn]] void unknown_type(char32_t type, std::string_view name) {
  const bool shown = type > 32 && type < 128;
  std::string code = point_text(type);
  if (!shown) {
    std::array<char, 16> hex{};
    code = "\\x" + std::string(hex.data(),
                               std::to_chars(hex.data(), hex.data() + hex.size(), static_cast<uint32_t>(type), 16).ptr);
  }
  raise_value_error("Unknown format code '" + code + "' for object of type '" + std::string(name) + "'");
}

void check_grouping(const Spec& spec) {
  if (spec.grouping == 0) {
    return;
  }
  constexpr std::u32string_view kBoth = U"defgEG%F", kUnderscore = U"boxX";
  const bool fine = spec.type == 0 || kBoth.find(spec.type) != kBoth.npos ||
                    (spec.grouping == U'_' && kUnderscore.find(spec.type) != kUnderscore.npos);
  if (!fine) {
    raise_value_error("Cannot specify '" + point_text(spec.grouping) + "' with '" + point_text(spec.type) + "'.");
  }
}

std::string repeat(char32_t fill, int64_t times) {
  return encode_utf8(std::u32string(static_cast<std::size_t>(std::max<int64_t>(times, 0)), fill));
}

std::string group(const std::string& digits, const std::string& separator, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % size == 0) {
      out += separator;
    }
    out += digits[i];
  }
  return out;
}

// A number in parts: sign, prefix such as 0x, digits that may be grouped, and the rest.
struct Parts {
  std::string sign, prefix, digits, rest;
};

std::string assemble(const Spec& spec, Parts parts, std::size_t group_size) {
  const char32_t align = spec.align == 0 ? U'>' : spec.align;
  const auto around = static_cast<int64_t>(parts.sign.size() + parts.prefix.size() + parts.rest.size());
  if (spec.grouping != 0) {
    const std::string separator = point_text(spec.grouping);
    std::string digits = parts.digits;
    std::string grouped = group(digits, separator, group_size);
    // Padding zeros are grouped with the digits.
    const bool zeros = spec.fill == U'0' && align == U'=';
    while (zeros && around + static_cast<int64_t>(grouped.size()) < spec.width) {
      digits.insert(0, 1, '0');
      grouped = group(digits, separator, group_size);
    }
    parts.digits = grouped;
  }
  const int64_t padding = spec.width - around - static_cast<int64_t>(parts.digits.size());
  const std::string head = parts.sign + parts.prefix, tail = parts.digits + parts.rest;
  switch (align) {
    case U'<':
      return head + tail + repeat(spec.fill, padding);
    case U'^':
      return repeat(spec.fill, padding / 2) + head + tail + repeat(spec.fill, padding - padding / 2);
    case U'=':
      return head + repeat(spec.fill, padding) + tail;
    default:
      return repeat(spec.fill, padding) + head + tail;
  }
}

std::string sign_text(const Spec& spec, bool negative) {
  return negative ? "-" : spec.sign == U'+' ? "+" : spec.sign == U' ' ? " " : "";
}

std::string fixed_text(double size, std::chars_format style, int64_t precision) {
  if (precision > std::numeric_limits<int>::max() - 400) {
    raise_value_error("precision too big");
  }
  std::string out(static_cast<std::size_t>(precision) + 350, '\0');
  const auto end = std::to_chars(out.data(), out.data() + out.size(), size, style, static_cast<int>(precision)).ptr;
  out.resize(static_cast<std::size_t>(end - out.data()));
  return out;
}

// 'g': significant digits, fixed or with an exponent; `dot` keeps one digit after the point ("1.0").
std::string general_text(double size, int64_t precision, bool alternate, bool dot) {
  const int64_t significant = std::max<int64_t>(precision, 1);
  std::string text = fixed_text(size, std::chars_format::scientific, significant - 1);
  const std::size_t e = text.find('e');
  const int64_t exponent = to_int(text.substr(e + 1));
  const bool with_exponent = exponent < -4 || exponent >= significant - (dot ? 1 : 0);
  std::string tail;
  if (with_exponent) {
    tail = text.substr(e);
    text.resize(e);
  } else {
    text = fixed_text(size, std::chars_format::fixed, significant - 1 - exponent);
  }
  if (alternate) {
    return text + (text.find('.') == text.npos ? "." : "") + tail;
  }
  if (text.find('.') != text.npos) {
    text.resize(text.find_last_not_of('0') + 1);
    if (text.back() == '.') {
      text.pop_back();
    }
  }
  if (dot && !with_exponent && text.find('.') == text.npos) {
    text += ".0";
  }
  return text + tail;
}

// The digits of a finite, non-negative float.
std::string float_text(double size, const Spec& spec) {
  const int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  std::string text;
  switch (spec.type) {
    case U'e':
    case U'E':
      text = fixed_text(size, std::chars_format::scientific, precision);
      break;
    case U'f':
    case U'F':
    case U'%':
      text = fixed_text(size, std::chars_format::fixed, precision);
      break;
    case 0:
      if (spec.precision < 0) {
        text = float_repr(size);
        break;
      }
      return general_text(size, precision, spec.alternate, true);
    default:
      return general_text(size, precision, spec.alternate, false);
  }
  if (spec.alternate && text.find('.') == text.npos) {
    text.insert(std::min(text.find('e'), text.size()), ".");
  }
  return text;
}

std::string format_number(double value, const Spec& spec) {
  const bool percent = spec.type == U'%';
  const double shown = percent ? value * 100.0 : value;
  std::string text = std::isnan(shown) ? "nan" : std::isinf(shown) ? "inf" : float_text(std::fabs(shown), spec);
  bool negative = std::signbit(shown) && !std::isnan(shown);
  if (spec.no_negative_zero && std::isfinite(shown) && text.find_first_of("123456789") >= text.find('e')) {
    negative = false;
  }
  if (spec.type == U'E' || spec.type == U'F' || spec.type == U'G') {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  }
  const std::size_t whole = std::isfinite(shown) ? std::min(text.find_first_not_of("0123456789"), text.size()) : 0;
  Parts parts{sign_text(spec, negative), "", text.substr(0, whole), text.substr(whole) + (percent ? "%" : "")};
  if (parts.digits.empty()) {
    // "inf" and "nan" are not grouped.
    Spec plain = spec;
    plain.grouping = 0;
    return assemble(plain, std::move(parts), 3);
  }
  return assemble(spec, std::move(parts), 3);
}

std::string digits_in_base(int64_t value, int base) {
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::array<char, 64> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), size, base).ptr};
}

std::string pad(const Spec& spec, std::string text, int64_t length, char32_t default_align) {
  const int64_t padding = spec.width - length;
  const char32_t align = spec.align == 0 ? default_align : spec.align;
  const int64_t left = align == U'<' ? 0 : align == U'^' ? padding / 2 : padding;
  return repeat(spec.fill, left) + std::move(text) + repeat(spec.fill, padding - left);
}

std::string format_character(int64_t value, const Spec& spec) {
  if (spec.sign != 0) {
    raise_value_error("Sign not allowed with integer format specifier 'c'");
  }
  if (spec.alternate) {
    raise_value_error("Alternate form (#) not allowed with integer format specifier 'c'");
  }
  if (value < 0 || value > 0x10ffff) {
    raise_overflow("%c arg not in range(0x110000)");
  }
  Parts parts{"", "", "", point_text(static_cast<char32_t>(value))};
  Spec wider = spec;
  // Width counts characters, assemble counts bytes.
  if (wider.width >= 0) {
    wider.width += static_cast<int64_t>(parts.rest.size()) - 1;
  }
  return assemble(wider, std::move(parts), 3);
}

std::string format_integer(int64_t value, const Spec& spec, std::string_view type_name) {
  constexpr std::u32string_view kFloats = U"eEfFgG%";
  if (spec.type != 0 && kFloats.find(spec.type) != kFloats.npos) {
    return format_number(static_cast<double>(value), spec);
  }
  constexpr std::u32string_view kInts = U"bcdoxXn";
  if (spec.type != 0 && kInts.find(spec.type) == kInts.npos) {
    unknown_type(spec.type, type_name);
  }
  if (spec.precision >= 0) {
    raise_value_error("Precision not allowed in integer format specifier");
  }
  if (spec.no_negative_zero) {
    raise_value_error("Negative zero coercion (z) not allowed in integer format specifier");
  }
  if (spec.type == U'c') {
    return format_character(value, spec);
  }
  Parts parts;
  parts.sign = sign_text(spec, value < 0);
  std::size_t group_size = 4;
  switch (spec.type) {
    case U'b':
      parts.digits = digits_in_base(value, 2);
      break;
    case U'o':
      parts.digits = digits_in_base(value, 8);
      break;
    case U'x':
    case U'X':
      parts.digits = digits_in_base(value, 16);
      break;
    default:
      parts.digits = digits_in_base(value, 10);
      group_size = 3;
  }
  if (spec.alternate && group_size == 4) {
    parts.prefix = "0" + point_text(spec.type);
  }
  if (spec.type == U'X') {
    std::transform(parts.digits.begin(), parts.digits.end(), parts.digits.begin(),
                   [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  }
  return assemble(spec, std::move(parts), group_size);
}

Spec parse(std::string_view text, std::string_view type_name) {
  Spec spec = Parser(text).parse(text, type_name);
  if (spec.type == 0 && type_name == "str") {
    spec.type = U's';
  }
  check_grouping(spec);
  return spec;
}

}  // namespace

std::string format_int(int64_t value, std::string_view spec) {
  return spec.empty() ? std::to_string(value) : format_integer(value, parse(spec, "int"), "int");
}

std::string format_bool(bool value, std::string_view spec) {
  return spec.empty() ? repr(value) : format_integer(value ? 1 : 0, parse(spec, "bool"), "bool");
}

std::string format_float(double value, std::string_view spec) {
  if (spec.empty()) {
    return float_repr(value);
  }
  const Spec parsed = parse(spec, "float");
  constexpr std::u32string_view kTypes = U"eEfFgGn%";
  if (parsed.type != 0 && kTypes.find(parsed.type) == kTypes.npos) {
    unknown_type(parsed.type, "float");
  }
  return format_number(value, parsed);
}

std::string format_string(std::string_view value, std::string_view spec) {
  if (spec.empty()) {
    return std::string(value);
  }
  Spec parsed = parse(spec, "str");
  if (parsed.type != U's') {
    unknown_type(parsed.type, "str");
  }
  if (parsed.sign != 0) {
    raise_value_error(parsed.sign == U' ' ? "Space not allowed in string format specifier"
                                          : "Sign not allowed in string format specifier");
  }
  if (parsed.no_negative_zero) {
    raise_value_error("Negative zero coercion (z) not allowed in string format specifier");
  }
  if (parsed.alternate) {
    raise_value_error("Alternate form (#) not allowed in string format specifier");
  }
  if (parsed.align == U'=') {
    if (!parsed.zero_padded) {
      raise_value_error("'=' alignment not allowed in string format specifier");
    }
    parsed.align = U'<';
  }
  std::u32string points = decode_utf8(value);
  if (parsed.precision >= 0 && parsed.precision < static_cast<int64_t>(points.size())) {
    points.resize(static_cast<std::size_t>(parsed.precision));
  }
  return pad(parsed, encode_utf8(points), static_cast<int64_t>(points.size()), U'<');
}

}  // namespace torch2cpp
