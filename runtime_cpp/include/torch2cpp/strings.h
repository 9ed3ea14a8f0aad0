// Methods of str, on UTF-8 text; positions and lengths count code points, as in Python.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <torch2cpp/format.h>
#include <torch2cpp/list.h>
#include <torch2cpp/slice.h>
#include <torch2cpp/text.h>
#include <torch2cpp/utf8.h>

namespace torch2cpp {

int64_t str_len(std::string_view text);
inline int64_t len(const std::string& text) { return str_len(text); }
std::string str_get(std::string_view text, int64_t index);
std::string str_slice(std::string_view text, Bound start, Bound stop, Bound step = {});
std::string str_repeat(std::string_view text, int64_t times);
inline std::string str_repeat(int64_t times, std::string_view text) { return str_repeat(text, times); }
bool str_contains(std::string_view text, std::string_view part);
int64_t str_find(std::string_view text, std::string_view part, Bound start = {}, Bound stop = {});
bool str_startswith(std::string_view text, std::string_view prefix);
bool str_endswith(std::string_view text, std::string_view suffix);
std::string str_join(std::string_view separator, const List<std::string>& parts);
// Without a separator: at runs of white space, none at the ends.
List<std::string> str_split(std::string_view text, const std::optional<std::string>& separator = {}, int64_t most = -1);
std::string str_replace(std::string_view text, std::string_view old, std::string_view by, int64_t most = -1);
std::string str_strip(std::string_view text, const std::optional<std::string>& points = {});
std::string str_lstrip(std::string_view text, const std::optional<std::string>& points = {});
std::string str_rstrip(std::string_view text, const std::optional<std::string>& points = {});
// How often, without overlaps; and positions, searched from either end.
int64_t str_count(std::string_view text, std::string_view part, Bound start = {}, Bound stop = {});
int64_t str_rfind(std::string_view text, std::string_view part, Bound start = {}, Bound stop = {});
int64_t str_index(std::string_view text, std::string_view part, Bound start = {}, Bound stop = {});
int64_t str_rindex(std::string_view text, std::string_view part, Bound start = {}, Bound stop = {});
using Parts = std::tuple<std::string, std::string, std::string>;
Parts str_partition(std::string_view text, std::string_view separator);
Parts str_rpartition(std::string_view text, std::string_view separator);
List<std::string> str_rsplit(std::string_view text, const std::optional<std::string>& separator = {},
                             int64_t most = -1);
List<std::string> str_splitlines(std::string_view text, bool keep_ends = false);
std::string str_center(std::string_view text, int64_t width, std::string_view fill = " ");
std::string str_ljust(std::string_view text, int64_t width, std::string_view fill = " ");
std::string str_rjust(std::string_view text, int64_t width, std::string_view fill = " ");
// Changes of case: of ASCII text; anything else raises NotImplementedError.
std::string str_upper(std::string_view text);
std::string str_lower(std::string_view text);
std::string str_title(std::string_view text);
std::string str_capitalize(std::string_view text);
std::string str_swapcase(std::string_view text);
// True of text that is not empty and whose code points are all of the kind.
bool str_isdigit(std::string_view text);
bool str_isdecimal(std::string_view text);
bool str_isnumeric(std::string_view text);
bool str_isalpha(std::string_view text);
bool str_isalnum(std::string_view text);
bool str_isspace(std::string_view text);
// True of text with a letter of that case, and none of the other.
bool str_isupper(std::string_view text);
bool str_islower(std::string_view text);
inline bool str_isascii(std::string_view text) { return is_ascii(text); }
std::string str_removeprefix(std::string_view text, std::string_view prefix);
std::string str_removesuffix(std::string_view text, std::string_view suffix);
std::string str_zfill(std::string_view text, int64_t width);
int64_t str_ord(std::string_view text);
std::string str_chr(int64_t point);

}  // namespace torch2cpp
