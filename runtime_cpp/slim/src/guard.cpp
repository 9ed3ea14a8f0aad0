#include <new>
#include <string>

#include <torch/csrc/stable/c/shim.h>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/guard.h>

namespace torch2cpp::slim {
namespace {

std::string& message() {
  thread_local std::string text;
  return text;
}

}  // namespace

void keep_error() noexcept {
  try {
    try {
      throw;
    } catch (const PyError& error) {
      message() = error.message();
    } catch (const std::bad_alloc&) {
      message() = "no memory left";
    } catch (const std::exception& error) {
      message() = error.what();
    } catch (...) {
      message() = "an exception of an unknown type";
    }
  } catch (...) {
    // No memory even for the text: the one before stays.
  }
}

}  // namespace torch2cpp::slim

extern "C" {

const char* torch_exception_get_what() { return torch2cpp::slim::message().c_str(); }
const char* torch_exception_get_what_without_backtrace() { return torch2cpp::slim::message().c_str(); }

void aoti_torch_check(bool holds, const char* function, const char* file, uint32_t line, const char* text) {
  if (!holds) {
    torch2cpp::raise_runtime_error(std::string(text) + " (" + function + ", " + file + ":" + std::to_string(line) +
                                   ")");
  }
}

}  // extern "C"
