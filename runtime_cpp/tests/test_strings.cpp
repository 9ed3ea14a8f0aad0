// Strings against CPython: data/strings.tsv.
#include <torch2cpp/strings.h>

#include "expectations.h"

using namespace torch2cpp::testing;
namespace py = torch2cpp;

namespace {

const std::string& text(const Operands& x, std::size_t i) { return as<std::string>(x, i); }

std::optional<std::string> maybe_text(const Operands& x, std::size_t i) {
  return i < x.size() && std::holds_alternative<std::string>(x[i]) ? std::optional(text(x, i)) : std::nullopt;
}

std::string formatted(const Operands& x) {
  return std::visit(
      [&]<class T>(const T& value) -> std::string {
        if constexpr (py::Number<T> || std::same_as<T, std::string>) {
          return py::repr(py::format(value, text(x, 1)));
        } else {
          return "not formatted";
        }
      },
      x.at(0));
}

#define OF_ONE(name) {"str." #name, [](const Operands& x) { return py::repr(py::str_##name(text(x, 0))); }}
#define OF_TWO(name) {"str." #name, [](const Operands& x) { return py::repr(py::str_##name(text(x, 0), text(x, 1))); }}
#define STRIP(name) \
  {"str." #name, [](const Operands& x) { return py::repr(py::str_##name(text(x, 0), maybe_text(x, 1))); }}

const std::map<std::string, Operation> kTable{
    {"repr", [](const Operands& x) { return py::repr(py::repr(text(x, 0))); }},
    {"str", [](const Operands& x) { return py::repr(py::str(text(x, 0))); }},
    {"bool", [](const Operands& x) { return py::repr(py::truth(text(x, 0))); }},
    OF_ONE(len),
    OF_ONE(isdigit),
    OF_ONE(isalpha),
    OF_ONE(isalnum),
    OF_ONE(isdecimal),
    OF_ONE(isnumeric),
    OF_ONE(isspace),
    OF_ONE(isupper),
    OF_ONE(islower),
    OF_ONE(isascii),
    OF_ONE(upper),
    OF_ONE(lower),
    OF_ONE(title),
    OF_ONE(swapcase),
    OF_ONE(capitalize),
    OF_ONE(ord),
    OF_TWO(contains),
    OF_TWO(startswith),
    OF_TWO(endswith),
    OF_TWO(removeprefix),
    OF_TWO(removesuffix),
    OF_TWO(count),
    OF_TWO(rfind),
    {"str.zfill", [](const Operands& x) { return py::repr(py::str_zfill(text(x, 0), as<int64_t>(x, 1))); }},
    STRIP(strip),
    STRIP(lstrip),
    STRIP(rstrip),
    {"str.chr", [](const Operands& x) { return py::repr(py::str_chr(as<int64_t>(x, 0))); }},
    {"str.get", [](const Operands& x) { return py::repr(py::str_get(text(x, 0), as<int64_t>(x, 1))); }},
    {"str.slice",
     [](const Operands& x) { return py::repr(py::str_slice(text(x, 0), bound(x, 1), bound(x, 2), bound(x, 3))); }},
    {"str.mul", [](const Operands& x) { return py::repr(py::str_repeat(text(x, 0), as<int64_t>(x, 1))); }},
    {"str.find",
     [](const Operands& x) { return py::repr(py::str_find(text(x, 0), text(x, 1), bound(x, 2), bound(x, 3))); }},
    {"str.split",
     [](const Operands& x) { return py::repr(py::str_split(text(x, 0), maybe_text(x, 1), bound(x, 2).value_or(-1))); }},
    {"str.replace",
     [](const Operands& x) {
       return py::repr(py::str_replace(text(x, 0), text(x, 1), text(x, 2), bound(x, 3).value_or(-1)));
     }},
    {"str.format", formatted},
};

}  // namespace

int main(int, char** argv) {
  run_expectations(argv[1], kTable);
  CHECK_TEXT(py::str_join(", ", {"a", "b"}), "a, b");
  return report();
}
