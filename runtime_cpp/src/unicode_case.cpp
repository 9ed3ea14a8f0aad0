// How the case of text changes, as str.upper() and its like do it: by the full mappings of Unicode.
#include <algorithm>
#include <array>
#include <iterator>

#include <torch2cpp/strings.h>
#include <torch2cpp/utf8.h>

#include "code_points.h"

namespace torch2cpp {
namespace {

using code_points::last_before, code_points::Range, code_points::within;

// Every `step`-th code point from first to last changes by the difference.
struct Run {
  char32_t first, last, step;
  std::int32_t difference;
};

// A code point that becomes two or three.
struct Several {
  char32_t point;
  std::array<char32_t, 3> to;
};

#include "unicode_case.inc"

constexpr char32_t kCapitalSigma = 0x3a3, kSmallSigma = 0x3c3, kFinalSigma = 0x3c2;

template <std::size_t Runs, std::size_t Others>
void append(std::u32string& out, char32_t point, const Run (&runs)[Runs], const Several (&several)[Others]) {
  const Several* full = std::lower_bound(std::begin(several), std::end(several), point,
                                         [](const Several& entry, char32_t p) { return entry.point < p; });
  if (full != std::end(several) && full->point == point) {
    std::copy_if(full->to.begin(), full->to.end(), std::back_inserter(out), [](char32_t c) { return c != 0; });
    return;
  }
  const Run* run = last_before(runs, point);
  const bool changes = run != nullptr && point <= run->last && (point - run->first) % run->step == 0;
  out += changes ? static_cast<char32_t>(static_cast<std::int32_t>(point) + run->difference) : point;
}

bool is_cased(char32_t point) { return within(kCased, point); }
bool is_ignorable(char32_t point) { return within(kCaseIgnorable, point); }

// Whether the sigma there ends a word.
bool is_final(std::u32string_view text, std::size_t place) {
  const auto before = std::find_if_not(text.rend() - static_cast<std::ptrdiff_t>(place), text.rend(), is_ignorable);
  const auto after = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(place) + 1, text.end(), is_ignorable);
  return before != text.rend() && is_cased(*before) && (after == text.end() || !is_cased(*after));
}

void append_lower(std::u32string& out, std::u32string_view text, std::size_t place) {
  if (text[place] == kCapitalSigma) {
    out += is_final(text, place) ? kFinalSigma : kSmallSigma;
  } else {
    append(out, text[place], kToLower, kToLowerSeveral);
  }
}

void append_upper(std::u32string& out, char32_t point) { append(out, point, kToUpper, kToUpperSeveral); }
void append_title(std::u32string& out, char32_t point) { append(out, point, kToTitle, kToTitleSeveral); }

// The text with `change(out, points, place)` for each of its code points.
template <typename Change>
std::string changed(std::string_view text, const Change& change) {
  const std::u32string points = decode_utf8(text);
  std::u32string out;
  out.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    change(out, points, i);
  }
  return encode_utf8(out);
}

}  // namespace

std::string str_upper(std::string_view text) {
  return changed(text, [](auto& out, const auto& points, std::size_t i) { append_upper(out, points[i]); });
}

std::string str_lower(std::string_view text) {
  return changed(text, [](auto& out, const auto& points, std::size_t i) { append_lower(out, points, i); });
}

std::string str_title(std::string_view text) {
  bool inside = false;
  return changed(text, [&inside](auto& out, const auto& points, std::size_t i) {
    if (inside) {
      append_lower(out, points, i);
    } else {
      append_title(out, points[i]);
    }
    inside = is_cased(points[i]);
  });
}

std::string str_capitalize(std::string_view text) {
  return changed(text, [](auto& out, const auto& points, std::size_t i) {
    if (i == 0) {
      append_title(out, points[i]);
    } else {
      append_lower(out, points, i);
    }
  });
}

std::string str_swapcase(std::string_view text) {
  return changed(text, [](auto& out, const auto& points, std::size_t i) {
    if (is_upper(points[i])) {
      append_lower(out, points, i);
    } else if (is_lower(points[i])) {
      append_upper(out, points[i]);
    } else {
      out += points[i];
    }
  });
}

}  // namespace torch2cpp
