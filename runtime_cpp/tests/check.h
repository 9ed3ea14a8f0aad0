// The smallest test harness: CHECK counts failures, `report` ends main.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

#include <torch2cpp/errors.h>

namespace torch2cpp::testing {

inline int failures = 0;
inline int checks = 0;

inline void check(bool passed, const char* file, int line, const std::string& what) {
  ++checks;
  if (!passed) {
    ++failures;
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  }
}

// "Error: ValueError: message", or what `run` returns.
template <class Run>
std::string outcome(Run run) {
  try {
    return run();
  } catch (const PyError& e) {
    return "Error: " + e.type_name() + ": " + e.message();
  } catch (const InputError& e) {
    return std::string("InputError: ") + e.what();
  }
}

inline int report() {
  std::printf("%d checks, %d failures\n", checks, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace torch2cpp::testing

#define CHECK(condition) torch2cpp::testing::check(static_cast<bool>(condition), __FILE__, __LINE__, #condition)
// Compares two texts and shows both.
#define CHECK_TEXT(got, expected)                                                                        \
  do {                                                                                                   \
    const std::string got_ = (got), expected_ = (expected);                                              \
    torch2cpp::testing::check(got_ == expected_, __FILE__, __LINE__,                                     \
                              std::string(#got) + "\n  gave     " + got_ + "\n  expected " + expected_); \
  } while (false)
// What the expression's repr or its error is.
#define OUTCOME(expression) torch2cpp::testing::outcome([&] { return torch2cpp::repr(expression); })
// The error of a statement; "no error" otherwise.
#define ERROR_OF(...)               \
  torch2cpp::testing::outcome([&] { \
    __VA_ARGS__;                    \
    return std::string("no error"); \
  })
