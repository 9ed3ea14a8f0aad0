// Reads tests/data/*.tsv, written by generate_expectations.py, and runs each line through a table of operations.
#pragma once

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <torch2cpp/containers.h>
#include <torch2cpp/strings.h>

#include "check.h"

namespace torch2cpp::testing {

using Operand = std::variant<int64_t, double, bool, std::string, std::monostate, List<int64_t>>;
using Operands = std::vector<Operand>;
using Operation = std::function<std::string(const Operands&)>;

inline std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
  }
  return out;
}

inline std::vector<std::string> fields(const std::string& line, char separator) {
  std::vector<std::string> out(1);
  for (const char c : line) {
    if (c == separator) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

inline Operand decode(const std::string& text) {
  const std::string body = text.substr(2);
  switch (text[0]) {
    case 'i':
      return static_cast<int64_t>(std::strtoll(body.c_str(), nullptr, 10));
    case 'f':
      return std::strtod(body.c_str(), nullptr);
    case 'b':
      return body == "1";
    case 'n':
      return std::monostate{};
    case 'l': {
      List<int64_t> out;
      for (const std::string& item : fields(body, ',')) {
        if (!item.empty()) {
          out.append(std::strtoll(item.c_str(), nullptr, 10));
        }
      }
      return out;
    }
    default:
      return unescape(body);
  }
}

// Runs the file; every operation in it must be in the table.
inline void run_expectations(const std::string& path, const std::map<std::string, Operation>& table) {
  std::ifstream file(path);
  CHECK(file.good());
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = fields(line, '\t');
    Operands operands;
    for (std::size_t i = 1; i + 1 < cells.size(); ++i) {
      operands.push_back(decode(cells[i]));
    }
    const auto found = table.find(cells[0]);
    const std::string got =
        found == table.end() ? "no such operation" : outcome([&] { return found->second(operands); });
    const std::string expected = unescape(cells.back());
    check(got == expected, path.c_str(), checks + 1, line + "\n  gave     " + got);
  }
}

// A numeric operand, handed on with its own type.
template <class Run>
std::string with_number(const Operand& x, Run run) {
  return std::visit(
      [&]<class T>(const T& value) -> std::string {
        if constexpr (Number<T>) {
          return run(value);
        } else {
          return "not a number";
        }
      },
      x);
}

template <class Run>
Operation unary(Run run) {
  return [run](const Operands& x) { return with_number(x.at(0), [&](auto a) { return repr(run(a)); }); };
}

template <class Run>
Operation binary(Run run) {
  return [run](const Operands& x) {
    return with_number(x.at(0), [&](auto a) { return with_number(x.at(1), [&](auto b) { return repr(run(a, b)); }); });
  };
}

template <class T>
const T& as(const Operands& x, std::size_t i) {
  return std::get<T>(x.at(i));
}

inline Bound bound(const Operands& x, std::size_t i) {
  return i < x.size() && std::holds_alternative<int64_t>(x[i]) ? Bound(std::get<int64_t>(x[i])) : Bound();
}

}  // namespace torch2cpp::testing
