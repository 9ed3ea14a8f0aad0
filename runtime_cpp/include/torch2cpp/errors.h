// Errors as the C++ caller sees them: Python's exceptions, and refused inputs.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <torch2cpp/export.h>

namespace torch2cpp {

// An exception of the Python program: raised by its own `raise` and `assert`, or by Python itself
// (IndexError, ZeroDivisionError, ...), or by a tensor operation.
class TORCH2CPP_API PyError : public std::runtime_error {
 public:
  // `bases` names the base classes of a class that Python's builtins do not have, nearest first.
  PyError(std::string type_name, std::string message, std::vector<std::string> bases = {}, std::string file = {},
          int line = 0);

  // Name of the Python class, such as "ValueError".
  const std::string& type_name() const noexcept { return type_name_; }
  // What str(e) gives in Python.
  const std::string& message() const noexcept { return message_; }
  const std::vector<std::string>& bases() const noexcept { return bases_; }
  // Python file and line of the raising statement; "" and 0 where they are not known.
  const std::string& file() const noexcept { return file_; }
  int line() const noexcept { return line_; }

  // "ValueError: message (model.py:12)"
  const char* what() const noexcept override { return what_.c_str(); }

  // Whether an except clause with these class names takes the exception; a bare except has none.
  bool matches(std::initializer_list<std::string_view> names) const;

  // The same exception with a place, unless it already has one.
  PyError at(std::string_view file, int line) const;

 private:
  std::string type_name_, message_;
  std::vector<std::string> bases_;
  std::string file_;
  int line_;
  std::string what_;
};

// An input, weight or state value that the program was not built for: wrong dtype, rank, size or device, or missing.
class TORCH2CPP_API InputError : public std::runtime_error {
 public:
  // `kind` is "input", "weight", "state", or "region result" where inputs lead to sizes inside the program that it was
  // not built for; `name` is the Python name, such as "x" or "fc.weight".
  InputError(std::string kind, std::string name, std::string expected, std::string got);

  const std::string& kind() const noexcept { return kind_; }
  const std::string& name() const noexcept { return name_; }
  const std::string& expected() const noexcept { return expected_; }
  const std::string& got() const noexcept { return got_; }

 private:
  std::string kind_, name_, expected_, got_;
};

[[noreturn]] void raise_error(std::string_view type_name, std::string message);
[[noreturn]] void raise_value_error(std::string message);
[[noreturn]] void raise_type_error(std::string message);
[[noreturn]] void raise_index_error(std::string message);
// `key` is the repr of the missing key, as str(KeyError) gives it.
[[noreturn]] void raise_key_error(std::string key);
[[noreturn]] void raise_runtime_error(std::string message);
[[noreturn]] void raise_zero_division(std::string message);
[[noreturn]] void raise_overflow(std::string message);
// An int that does not fit in 64 bits.
[[noreturn]] void raise_int_overflow();
// Something Python can do and this library does not; never a wrong answer instead.
[[noreturn]] void raise_not_implemented(std::string message);

// Runs `body`; an exception that leaves it gets this Python place if it has none yet.
template <class Body>
decltype(auto) at_line(std::string_view file, int line, Body&& body) {
  try {
    return body();
  } catch (const PyError& e) {
    throw e.at(file, line);
  }
}

}  // namespace torch2cpp
