// Methods of str that search from either end, take text apart or pad it.
#include <algorithm>

#include <torch2cpp/errors.h>
#include <torch2cpp/strings.h>
#include <torch2cpp/utf8.h>

namespace torch2cpp {
namespace {

std::u32string::size_type clamped(const Bound& bound, int64_t otherwise, int64_t size) {
  const int64_t at = bound.value_or(otherwise);
  return static_cast<std::u32string::size_type>(std::clamp<int64_t>(at < 0 ? at + size : at, 0, size));
}

// The code points between start and stop, and where they begin; nothing where start lies behind the end.
struct Window {
  std::u32string points;
  int64_t start;
  bool valid;
};

Window window_of(std::string_view text, const Bound& start, const Bound& stop) {
  const std::u32string all = decode_utf8(text);
  const auto size = static_cast<int64_t>(all.size());
  const auto from = clamped(start, 0, size), to = clamped(stop, size, size);
  const bool valid = start.value_or(0) <= size && from <= to;
  return {valid ? all.substr(from, to - from) : std::u32string(), static_cast<int64_t>(from), valid};
}

int64_t found_or_raise(int64_t at) {
  if (at < 0) {
    raise_value_error("substring not found");
  }
  return at;
}

std::string padded(std::string_view text, int64_t left, int64_t right, std::string_view fill) {
  if (str_len(fill) != 1) {
    raise_type_error("The fill character must be exactly one character long");
  }
  return str_repeat(fill, left) + std::string(text) + str_repeat(fill, right);
}

Parts split_around(std::string_view text, std::string_view separator, bool last) {
  if (separator.empty()) {
    raise_value_error("empty separator");
  }
  const std::size_t at = last ? text.rfind(separator) : text.find(separator);
  if (at == text.npos) {
    return last ? Parts{"", "", std::string(text)} : Parts{std::string(text), "", ""};
  }
  return {std::string(text.substr(0, at)), std::string(separator), std::string(text.substr(at + separator.size()))};
}

}  // namespace

int64_t str_count(std::string_view text, std::string_view part, Bound start, Bound stop) {
  const Window window = window_of(text, start, stop);
  const std::u32string wanted = decode_utf8(part);
  if (!window.valid) {
    return 0;
  }
  if (wanted.empty()) {
    return static_cast<int64_t>(window.points.size()) + 1;
  }
  int64_t out = 0;
  for (auto at = window.points.find(wanted); at != window.points.npos;
       at = window.points.find(wanted, at + wanted.size())) {
    ++out;
  }
  return out;
}

int64_t str_rfind(std::string_view text, std::string_view part, Bound start, Bound stop) {
  const Window window = window_of(text, start, stop);
  const auto at = window.valid ? window.points.rfind(decode_utf8(part)) : window.points.npos;
  return at == window.points.npos ? -1 : window.start + static_cast<int64_t>(at);
}

int64_t str_index(std::string_view text, std::string_view part, Bound start, Bound stop) {
  return found_or_raise(str_find(text, part, start, stop));
}

int64_t str_rindex(std::string_view text, std::string_view part, Bound start, Bound stop) {
  return found_or_raise(str_rfind(text, part, start, stop));
}

Parts str_partition(std::string_view text, std::string_view separator) { return split_around(text, separator, false); }
Parts str_rpartition(std::string_view text, std::string_view separator) { return split_around(text, separator, true); }

List<std::string> str_rsplit(std::string_view text, const std::optional<std::string>& separator, int64_t most) {
  // From the end: of the reversed text, its parts in reverse.
  const auto reversed = [](std::string_view s) {
    std::u32string points = decode_utf8(s);
    std::reverse(points.begin(), points.end());
    return encode_utf8(points);
  };
  const auto back = separator ? std::optional<std::string>(reversed(*separator)) : std::nullopt;
  List<std::string> out;
  for (const std::string& part : str_split(reversed(text), back, most).reversed()) {
    out.append(reversed(part));
  }
  return out;
}

List<std::string> str_splitlines(std::string_view text, bool keep_ends) {
  List<std::string> out;
  const std::u32string all = decode_utf8(text);
  const std::u32string_view view = all;
  const std::u32string_view ends = U"\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029";
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(view.find_first_of(ends, begin), all.size());
    std::size_t next = end < all.size() ? end + 1 : end;
    if (next < all.size() && all[end] == U'\r' && all[next] == U'\n') {
      ++next;
    }
    out.append(encode_utf8(view.substr(begin, (keep_ends ? next : end) - begin)));
    begin = next;
  }
  return out;
}

std::string str_center(std::string_view text, int64_t width, std::string_view fill) {
  const int64_t room = std::max<int64_t>(width - str_len(text), 0);
  // CPython puts the odd one to the left where the width is odd.
  const int64_t left = room / 2 + (room & width & 1);
  return padded(text, left, room - left, fill);
}

std::string str_ljust(std::string_view text, int64_t width, std::string_view fill) {
  return padded(text, 0, std::max<int64_t>(width - str_len(text), 0), fill);
}

std::string str_rjust(std::string_view text, int64_t width, std::string_view fill) {
  return padded(text, std::max<int64_t>(width - str_len(text), 0), 0, fill);
}

}  // namespace torch2cpp
