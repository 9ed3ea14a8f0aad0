#include "safetensors_header.h"

#include <cstdint>
#include <limits>
#include <stdexcept>

#include <torch2cpp/dtypes.h>
#include <torch2cpp/utf8.h>

namespace torch2cpp {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::map<std::string, SafetensorsEntry, std::less<>> parse() {
    std::map<std::string, SafetensorsEntry, std::less<>> out;
    members([&](const std::string& name) {
      if (name == "__metadata__") {
        members([&](const std::string&) { string(); });
      } else if (!out.emplace(name, entry()).second) {
        fail("'" + name + "' appears twice");
      }
    });
    skip_space();
    if (at_ != text_.size()) {
      fail("text after the end");
    }
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at byte " + std::to_string(at_) + " of the header");
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  bool skip(char c) {
    skip_space();
    const bool found = at_ < text_.size() && text_[at_] == c;
    at_ += found ? 1 : 0;
    return found;
  }

  void expect(char c) {
    if (!skip(c)) {
      fail(std::string("no '") + c + "'");
    }
  }

  // {"name": ..., ...}; `member` reads the value.
  template <class Member>
  void members(Member member) {
    expect('{');
    if (skip('}')) {
      return;
    }
    do {
      const std::string name = string();
      expect(':');
      member(name);
    } while (skip(','));
    expect('}');
  }

  std::string string() {
    expect('"');
    std::string out;
    while (true) {
      if (at_ >= text_.size() || static_cast<unsigned char>(text_[at_]) < 0x20) {
        fail("a string without end");
      }
      const char c = text_[at_++];
      if (c == '"') {
        return out;
      }
      out += c == '\\' ? escaped() : std::string(1, c);
    }
  }

  std::string escaped() {
    constexpr std::string_view kCodes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    if (const std::size_t found = kCodes.find(c); found != kCodes.npos) {
      return std::string(1, kMeanings[found]);
    }
    if (c != 'u') {
      fail("an unknown escape");
    }
    char32_t point = hex4();
    if (point >= 0xd800 && point < 0xdc00) {
      // The first half of a pair.
      if (text_.substr(at_, 2) != "\\u") {
        fail("half a surrogate pair");
      }
      at_ += 2;
      const char32_t low = hex4();
      if (low < 0xdc00 || low > 0xdfff) {
        fail("half a surrogate pair");
      }
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    return encode_utf8(std::u32string_view(&point, 1));
  }

  char32_t hex4() {
    char32_t out = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = at_ < text_.size() ? text_[at_++] : '\0';
      const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'f', upper = c >= 'A' && c <= 'F';
      if (!digit && !lower && !upper) {
        fail("no hexadecimal digit");
      }
      out = out * 16 + static_cast<char32_t>(digit ? c - '0' : lower ? c - 'a' + 10 : c - 'A' + 10);
    }
    return out;
  }

  int64_t number() {
    skip_space();
    const std::size_t start = at_;
    int64_t out = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const int64_t digit = text_[at_] - '0';
      if (out > (std::numeric_limits<int64_t>::max() - digit) / 10) {
        fail("a number too large");
      }
      out = out * 10 + digit;
    }
    if (at_ == start || (at_ - start > 1 && text_[start] == '0')) {
      fail("no whole number");
    }
    return out;
  }

  std::vector<int64_t> numbers() {
    std::vector<int64_t> out;
    expect('[');
    if (skip(']')) {
      return out;
    }
    do {
      out.push_back(number());
    } while (skip(','));
    expect(']');
    return out;
  }

  SafetensorsEntry entry() {
    std::string dtype;
    std::vector<int64_t> sizes, offsets;
    bool has_sizes = false;
    members([&](const std::string& key) {
      if (key == "dtype") {
        dtype = string();
      } else if (key == "shape") {
        sizes = numbers();
        has_sizes = true;
      } else if (key == "data_offsets") {
        offsets = numbers();
      } else {
        fail("an unknown key '" + key + "'");
      }
    });
    const std::optional<ScalarType> type = dtype_of_safetensors(dtype);
    if (!type) {
      fail("an unknown dtype '" + dtype + "'");
    }
    if (!has_sizes || offsets.size() != 2 || offsets[0] > offsets[1]) {
      fail("a tensor without shape or data_offsets");
    }
    int64_t bytes = element_size(*type);
    for (const int64_t size : sizes) {
      if (__builtin_mul_overflow(bytes, size, &bytes)) {
        fail("a shape too large");
      }
    }
    if (bytes != offsets[1] - offsets[0]) {
      fail("data_offsets that do not fit the shape");
    }
    return {*type, std::move(sizes), static_cast<std::size_t>(offsets[0]), static_cast<std::size_t>(offsets[1])};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::map<std::string, SafetensorsEntry, std::less<>> parse_safetensors_header(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace torch2cpp
