#include <algorithm>
#include <limits>

#include <torch2cpp/errors.h>
#include <torch2cpp/strings.h>
#include <torch2cpp/utf8.h>

namespace torch2cpp {
namespace {

std::string stripped(std::string_view text, const std::optional<std::string>& points, bool left, bool right) {
  const std::u32string all = decode_utf8(text);
  const std::u32string set = decode_utf8(points.value_or(""));
  const auto drop = [&](char32_t c) { return points ? set.find(c) != set.npos : is_space(c); };
  std::size_t begin = 0, end = all.size();
  while (left && begin < end && drop(all[begin])) {
    ++begin;
  }
  while (right && end > begin && drop(all[end - 1])) {
    --end;
  }
  return encode_utf8(std::u32string_view(all).substr(begin, end - begin));
}

bool all_are(std::string_view text, bool (*holds)(char32_t)) {
  const std::u32string points = decode_utf8(text);
  return !points.empty() && std::all_of(points.begin(), points.end(), holds);
}

bool in_case(std::string_view text, bool (*wanted)(char32_t), bool (*other)(char32_t)) {
  const std::u32string points = decode_utf8(text);
  const auto wrong = [&](char32_t c) { return other(c) || is_title(c); };
  return std::any_of(points.begin(), points.end(), wanted) && std::none_of(points.begin(), points.end(), wrong);
}

List<std::string> split_at_space(std::string_view text, int64_t most) {
  const std::u32string all = decode_utf8(text);
  const std::u32string_view view = all;
  List<std::string> out;
  std::size_t i = 0;
  const auto skip_space = [&] {
    while (i < all.size() && is_space(all[i])) {
      ++i;
    }
  };
  for (skip_space(); i < all.size(); skip_space()) {
    if (most >= 0 && len(out) == most) {
      out.append(encode_utf8(view.substr(i)));
      return out;
    }
    const std::size_t start = i;
    while (i < all.size() && !is_space(all[i])) {
      ++i;
    }
    out.append(encode_utf8(view.substr(start, i - start)));
  }
  return out;
}

}  // namespace

int64_t str_len(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

std::string str_get(std::string_view text, int64_t index) {
  const std::u32string points = decode_utf8(text);
  const auto size = static_cast<int64_t>(points.size());
  const int64_t at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) {
    raise_index_error("string index out of range");
  }
  return encode_utf8(std::u32string_view(points).substr(static_cast<std::size_t>(at), 1));
}

std::string str_slice(std::string_view text, Bound start, Bound stop, Bound step) {
  const std::u32string points = decode_utf8(text);
  const Slice slice = Slice::of(static_cast<int64_t>(points.size()), start, stop, step);
  std::u32string out;
  for (int64_t i = 0; i < slice.count; ++i) {
    out += points[static_cast<std::size_t>(slice.start + i * slice.step)];
  }
  return encode_utf8(out);
}

std::string str_repeat(std::string_view text, int64_t times) {
  std::string out;
  for (int64_t i = 0; i < times; ++i) {
    out += text;
  }
  return out;
}

bool str_contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

int64_t str_find(std::string_view text, std::string_view part, Bound start, Bound stop) {
  const int64_t size = str_len(text);
  int64_t from = start.value_or(0), to = std::min(stop.value_or(size), size);
  from = from < 0 ? std::max<int64_t>(from + size, 0) : from;
  to = to < 0 ? std::max<int64_t>(to + size, 0) : to;
  if (from > to) {
    return -1;
  }
  const std::string window = str_slice(text, from, to);
  const std::size_t found = window.find(part);
  return found == window.npos ? -1 : from + str_len(std::string_view(window).substr(0, found));
}

bool str_startswith(std::string_view text, std::string_view prefix) { return text.starts_with(prefix); }
bool str_endswith(std::string_view text, std::string_view suffix) { return text.ends_with(suffix); }

std::string str_join(std::string_view separator, const List<std::string>& parts) {
  std::string out;
  bool first = true;
  for (const std::string& part : parts) {
    if (!first) {
      out += separator;
    }
    out += part;
    first = false;
  }
  return out;
}

List<std::string> str_split(std::string_view text, const std::optional<std::string>& separator, int64_t most) {
  if (!separator) {
    return split_at_space(text, most);
  }
  if (separator->empty()) {
    raise_value_error("empty separator");
  }
  List<std::string> out;
  std::size_t begin = 0;
  while (most < 0 || len(out) < most) {
    const std::size_t found = text.find(*separator, begin);
    if (found == text.npos) {
      break;
    }
    out.append(std::string(text.substr(begin, found - begin)));
    begin = found + separator->size();
  }
  out.append(std::string(text.substr(begin)));
  return out;
}

std::string str_replace(std::string_view text, std::string_view old, std::string_view by, int64_t most) {
  std::string out;
  int64_t left = most < 0 ? std::numeric_limits<int64_t>::max() : most;
  if (old.empty()) {
    // Between all code points, and at both ends.
    for (const char32_t point : decode_utf8(text)) {
      if (left-- > 0) {
        out += by;
      }
      out += encode_utf8(std::u32string_view(&point, 1));
    }
    return left > 0 ? out + std::string(by) : out;
  }
  std::size_t begin = 0;
  for (; left > 0; --left) {
    const std::size_t found = text.find(old, begin);
    if (found == text.npos) {
      break;
    }
    out += text.substr(begin, found - begin);
    out += by;
    begin = found + old.size();
  }
  out += text.substr(begin);
  return out;
}

std::string str_strip(std::string_view text, const std::optional<std::string>& points) {
  return stripped(text, points, true, true);
}
std::string str_lstrip(std::string_view text, const std::optional<std::string>& points) {
  return stripped(text, points, true, false);
}
std::string str_rstrip(std::string_view text, const std::optional<std::string>& points) {
  return stripped(text, points, false, true);
}

bool str_isdigit(std::string_view text) { return all_are(text, is_digit); }
bool str_isdecimal(std::string_view text) { return all_are(text, is_decimal); }
bool str_isnumeric(std::string_view text) { return all_are(text, is_numeric); }
bool str_isalpha(std::string_view text) { return all_are(text, is_alpha); }
bool str_isalnum(std::string_view text) { return all_are(text, is_alnum); }
bool str_isspace(std::string_view text) { return all_are(text, is_space); }
bool str_isupper(std::string_view text) { return in_case(text, is_upper, is_lower); }
bool str_islower(std::string_view text) { return in_case(text, is_lower, is_upper); }

std::string str_removeprefix(std::string_view text, std::string_view prefix) {
  return std::string(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
}

std::string str_removesuffix(std::string_view text, std::string_view suffix) {
  return std::string(text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text);
}

std::string str_zfill(std::string_view text, int64_t width) {
  const int64_t missing = std::max<int64_t>(width - str_len(text), 0);
  const std::size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  std::string out(text.substr(0, sign));
  out.append(static_cast<std::size_t>(missing), '0');
  return out.append(text.substr(sign));
}

int64_t str_ord(std::string_view text) {
  const std::u32string points = decode_utf8(text);
  if (points.size() != 1) {
    raise_type_error("ord() expected a character, but string of length " + std::to_string(points.size()) + " found");
  }
  return static_cast<int64_t>(points[0]);
}

std::string str_chr(int64_t point) {
  if (point < 0 || point > 0x10ffff) {
    raise_value_error("chr() arg not in range(0x110000)");
  }
  const auto one = static_cast<char32_t>(point);
  return encode_utf8(std::u32string_view(&one, 1));
}

}  // namespace torch2cpp
