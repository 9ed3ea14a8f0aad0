#include <algorithm>
#include <array>
#include <utility>

#include <torch2cpp/errors.h>

namespace torch2cpp {
namespace {

// Python's builtin exception classes, each with its base; torch's and user classes bring theirs along.
constexpr std::array<std::pair<std::string_view, std::string_view>, 47> kBases{{
    {"SystemExit", "BaseException"},
    {"KeyboardInterrupt", "BaseException"},
    {"GeneratorExit", "BaseException"},
    {"Exception", "BaseException"},
    {"StopIteration", "Exception"},
    {"StopAsyncIteration", "Exception"},
    {"ArithmeticError", "Exception"},
    {"FloatingPointError", "ArithmeticError"},
    {"OverflowError", "ArithmeticError"},
    {"ZeroDivisionError", "ArithmeticError"},
    {"AssertionError", "Exception"},
    {"AttributeError", "Exception"},
    {"BufferError", "Exception"},
    {"EOFError", "Exception"},
    {"ImportError", "Exception"},
    {"ModuleNotFoundError", "ImportError"},
    {"LookupError", "Exception"},
    {"IndexError", "LookupError"},
    {"KeyError", "LookupError"},
    {"MemoryError", "Exception"},
    {"NameError", "Exception"},
    {"UnboundLocalError", "NameError"},
    {"OSError", "Exception"},
    {"IOError", "OSError"},
    {"EnvironmentError", "OSError"},
    {"FileExistsError", "OSError"},
    {"FileNotFoundError", "OSError"},
    {"PermissionError", "OSError"},
    {"TimeoutError", "OSError"},
    {"RuntimeError", "Exception"},
    {"NotImplementedError", "RuntimeError"},
    {"RecursionError", "RuntimeError"},
    {"SyntaxError", "Exception"},
    {"SystemError", "Exception"},
    {"TypeError", "Exception"},
    {"ValueError", "Exception"},
    {"UnicodeError", "ValueError"},
    {"UnicodeDecodeError", "UnicodeError"},
    {"UnicodeEncodeError", "UnicodeError"},
    {"UnicodeTranslateError", "UnicodeError"},
    {"Warning", "Exception"},
    {"DeprecationWarning", "Warning"},
    {"UserWarning", "Warning"},
    {"RuntimeWarning", "Warning"},
    {"FutureWarning", "Warning"},
    // torch.linalg.LinAlgError and torch.OutOfMemoryError
    {"LinAlgError", "RuntimeError"},
    {"OutOfMemoryError", "RuntimeError"},
}};

std::string_view base_of(std::string_view name) {
  const auto* found = std::find_if(kBases.begin(), kBases.end(), [&](const auto& row) { return row.first == name; });
  return found == kBases.end() ? std::string_view{} : found->second;
}

bool is_or_derives(std::string_view name, std::string_view wanted) {
  for (; !name.empty(); name = base_of(name)) {
    if (name == wanted) {
      return true;
    }
  }
  return false;
}

// IOError and EnvironmentError are other names for OSError; torch.linalg.LinAlgError calls itself _LinAlgError.
std::string_view canonical(std::string_view name) {
  if (name == "_LinAlgError") {
    return "LinAlgError";
  }
  return name == "IOError" || name == "EnvironmentError" ? std::string_view{"OSError"} : name;
}

std::string describe(const std::string& type_name, const std::string& message, const std::string& file, int line) {
  std::string out = type_name;
  if (!message.empty()) {
    out += ": " + message;
  }
  if (!file.empty()) {
    out += " (" + file + ":" + std::to_string(line) + ")";
  }
  return out;
}

}  // namespace

PyError::PyError(std::string type_name, std::string message, std::vector<std::string> bases, std::string file, int line)
    : std::runtime_error(message),
      type_name_(std::move(type_name)),
      message_(std::move(message)),
      bases_(std::move(bases)),
      file_(std::move(file)),
      line_(line),
      what_(describe(type_name_, message_, file_, line_)) {}

bool PyError::matches(std::initializer_list<std::string_view> names) const {
  if (names.size() == 0) {
    return true;
  }
  return std::any_of(names.begin(), names.end(), [&](std::string_view alias) {
    const std::string_view name = canonical(alias);
    // A class that is not in the table and came without bases is at least an Exception.
    const bool unknown = bases_.empty() && base_of(type_name_).empty() && type_name_ != "BaseException";
    return is_or_derives(canonical(type_name_), name) || (unknown && is_or_derives("Exception", name)) ||
           std::any_of(bases_.begin(), bases_.end(),
                       [&](const std::string& base) { return is_or_derives(canonical(base), name); });
  });
}

PyError PyError::at(std::string_view file, int line) const {
  return file_.empty() ? PyError(type_name_, message_, bases_, std::string(file), line) : *this;
}

InputError::InputError(std::string kind, std::string name, std::string expected, std::string got)
    : std::runtime_error(kind + " '" + name + "': expected " + expected + ", got " + got),
      kind_(std::move(kind)),
      name_(std::move(name)),
      expected_(std::move(expected)),
      got_(std::move(got)) {}

void raise_error(std::string_view type_name, std::string message) {
  throw PyError(std::string(type_name), std::move(message));
}
void raise_value_error(std::string message) { raise_error("ValueError", std::move(message)); }
void raise_type_error(std::string message) { raise_error("TypeError", std::move(message)); }
void raise_index_error(std::string message) { raise_error("IndexError", std::move(message)); }
void raise_key_error(std::string key) { raise_error("KeyError", std::move(key)); }
void raise_runtime_error(std::string message) { raise_error("RuntimeError", std::move(message)); }
void raise_zero_division(std::string message) { raise_error("ZeroDivisionError", std::move(message)); }
void raise_overflow(std::string message) { raise_error("OverflowError", std::move(message)); }
void raise_int_overflow() { raise_overflow("int result does not fit in 64 bits"); }
void raise_not_implemented(std::string message) { raise_error("NotImplementedError", std::move(message)); }

}  // namespace torch2cpp
