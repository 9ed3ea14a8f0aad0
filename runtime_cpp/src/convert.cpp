#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <torch2cpp/convert.h>
#include <torch2cpp/errors.h>
#include <torch2cpp/strings.h>

namespace torch2cpp {
namespace {

// White space stripped, and underscores between digits taken out; empty where the text is no number's.
std::string number_text(std::string_view text) {
  const std::string stripped = str_strip(std::string(text));
  std::string out;
  const auto digit = [&](std::size_t i) { return i < stripped.size() && stripped[i] >= '0' && stripped[i] <= '9'; };
  for (std::size_t i = 0; i < stripped.size(); ++i) {
    if (stripped[i] == '_') {
      if (i == 0 || !digit(i - 1) || !digit(i + 1)) {
        return {};
      }
    } else {
      out += stripped[i];
    }
  }
  return out;
}

void refuse_other_digits(std::string_view text) {
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    raise_not_implemented("a number in text with characters outside ASCII");
  }
}

int64_t finite_to_int(double x) {
  if (!(x >= -0x1p63 && x < 0x1p63)) {
    raise_int_overflow();
  }
  return static_cast<int64_t>(x);
}

void check_finite(double x) {
  if (std::isnan(x)) {
    raise_value_error("cannot convert float NaN to integer");
  }
  if (std::isinf(x)) {
    raise_overflow("cannot convert float infinity to integer");
  }
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

// Digits before and after the point at `place` digits left of it, halves to even; `digits` is a whole number.
std::string round_decimal(std::string digits, std::size_t place, bool rest) {
  digits.insert(0, place >= digits.size() ? place - digits.size() + 1 : 1, '0');
  const std::size_t keep = digits.size() - place;
  const std::string tail = digits.substr(keep);
  const std::string half = "5" + std::string(place - 1, '0');
  const bool odd = (digits[keep - 1] - '0') % 2 == 1;
  const bool up = tail > half || (tail == half && (rest || odd));
  std::fill(digits.begin() + static_cast<std::ptrdiff_t>(keep), digits.end(), '0');
  for (std::size_t i = keep; up && i-- > 0;) {
    if (digits[i] != '9') {
      ++digits[i];
      break;
    }
    digits[i] = '0';
  }
  return digits;
}

}  // namespace

int64_t to_int(double x) {
  check_finite(x);
  return finite_to_int(std::trunc(x));
}

int64_t to_int(std::string_view text) {
  const std::string digits = number_text(text);
  const std::size_t sign = !digits.empty() && (digits[0] == '+' || digits[0] == '-') ? 1 : 0;
  const bool valid = digits.size() > sign && std::all_of(digits.begin() + static_cast<std::ptrdiff_t>(sign),
                                                         digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!valid) {
    refuse_other_digits(text);
    raise_value_error("invalid literal for int() with base 10: " + repr(std::string(text)));
  }
  const char* begin = digits.data() + (digits[0] == '+' ? 1 : 0);
  int64_t out = 0;
  if (std::from_chars(begin, digits.data() + digits.size(), out).ec != std::errc{}) {
    raise_int_overflow();
  }
  return out;
}

namespace {

// Whether a number that is no double is too large for one, rather than too small: by its decimal exponent.
// (std::strtod would say it too, but reads the decimal point as the locale has it.)
bool is_large(std::string_view number) {
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, mark);
  int64_t exponent = 0;
  if (mark < number.size()) {
    std::string_view power = number.substr(mark + 1);
    power.remove_prefix(power.starts_with('+') ? 1 : 0);
    if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec == std::errc::result_out_of_range) {
      return !power.starts_with('-');
    }
  }
  const auto point = static_cast<int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<int64_t>(digits.find_first_of("123456789"));
  return static_cast<double>(exponent) + static_cast<double>(point - first) > 0;
}

}  // namespace

double to_float(std::string_view text) {
  const std::string digits = number_text(text);
  std::string_view body = digits;
  const bool negative = !body.empty() && body[0] == '-';
  if (!body.empty() && (body[0] == '+' || body[0] == '-')) {
    body.remove_prefix(1);
  }
  double out = 0.0;
  if (equals_ignoring_case(body, "inf") || equals_ignoring_case(body, "infinity")) {
    out = std::numeric_limits<double>::infinity();
  } else if (equals_ignoring_case(body, "nan")) {
    out = std::numeric_limits<double>::quiet_NaN();
  } else {
    const bool starts = !body.empty() && (body[0] == '.' || (body[0] >= '0' && body[0] <= '9'));
    const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), out);
    if (!starts || error == std::errc::invalid_argument || end != body.data() + body.size()) {
      refuse_other_digits(text);
      raise_value_error("could not convert string to float: " + repr(std::string(text)));
    }
    if (error == std::errc::result_out_of_range) {
      out = is_large(body) ? std::numeric_limits<double>::infinity() : 0.0;
    }
  }
  return negative ? -out : out;
}

int64_t round(double x) {
  check_finite(x);
  const double down = std::floor(x), rest = x - down;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(down, 2.0) != 0.0);
  return finite_to_int(up ? down + 1.0 : down);
}

double round(double x, int64_t digits) {
  // Beyond these the value itself, or zero, is the answer.
  constexpr int64_t kMost = 323, kLeast = -308;
  if (!std::isfinite(x) || digits > kMost) {
    return x;
  }
  if (digits < kLeast) {
    return 0.0 * x;
  }
  std::array<char, 800> buffer{};
  const double size = std::fabs(x), whole = std::trunc(size);
  const int shown = digits > 0 ? static_cast<int>(digits) : 0;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), digits < 0 ? whole : size,
                                 std::chars_format::fixed, shown)
                       .ptr;
  std::string text(buffer.data(), end);
  if (digits < 0) {
    text = round_decimal(text, static_cast<std::size_t>(-digits), size != whole);
  }
  double out = 0.0;
  if (std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc::result_out_of_range && digits < 0) {
    raise_overflow("rounded value too large to represent");
  }
  return std::copysign(out, x);
}

int64_t round_int(int64_t x, int64_t digits) {
  if (digits >= 0) {
    return x;
  }
  if (digits < -19) {
    return 0;
  }
  const uint64_t size = x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  const std::string text = round_decimal(std::to_string(size), static_cast<std::size_t>(-digits), false);
  return to_int((x < 0 ? "-" : "") + text);
}

std::string float_repr(double x) {
  if (std::isnan(x)) {
    return "nan";
  }
  if (std::isinf(x)) {
    return x < 0 ? "-inf" : "inf";
  }
  std::array<char, 32> buffer{};
  const char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::scientific).ptr;
  const std::string text(static_cast<const char*>(buffer.data()), end);
  const std::size_t e = text.find('e');
  std::string digits = text.substr(0, e);
  const std::string sign = digits[0] == '-' ? "-" : "";
  digits.erase(0, sign.size());
  std::erase(digits, '.');
  // The position of the point relative to the first digit.
  const int point = std::atoi(text.c_str() + e + 1) + 1;
  const auto count = static_cast<int>(digits.size());
  if (point > 16 || point <= -4) {
    const std::string mantissa = digits.substr(0, 1) + (count > 1 ? "." + digits.substr(1) : "");
    return sign + mantissa + text.substr(e);
  }
  if (point <= 0) {
    return sign + "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  }
  if (point >= count) {
    return sign + digits + std::string(static_cast<std::size_t>(point - count), '0') + ".0";
  }
  return sign + digits.substr(0, static_cast<std::size_t>(point)) + "." +
         digits.substr(static_cast<std::size_t>(point));
}

std::string complex_repr(std::complex<double> x) {
  const auto plain = [](double part) {
    std::string text = float_repr(part);
    return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
  };
  if (x.real() == 0.0 && !std::signbit(x.real())) {
    return plain(x.imag()) + "j";
  }
  const std::string imag = plain(x.imag());
  return "(" + plain(x.real()) + (imag[0] == '-' ? "" : "+") + imag + "j)";
}

}  // namespace torch2cpp
