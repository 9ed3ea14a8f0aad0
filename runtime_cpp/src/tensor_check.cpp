#include <torch2cpp/tensor_check.h>

namespace torch2cpp {

std::string describe(ScalarType dtype, Ints dims) {
  std::string out = std::string(dtype_name(dtype)) + " [";
  bool first = true;
  for (const int64_t size : dims.get()) {
    out += first ? "" : ", ";
    out += size < 0 ? "?" : std::to_string(size);
    first = false;
  }
  return out + "]";
}

std::string describe(const Tensor& t) {
  if (!t.defined()) {
    return "no tensor";
  }
  return describe(t.scalar_type(), sizes(t)) + (t.is_cpu() ? "" : " on another device");
}

void check_tensor(std::string_view name, const Tensor& t, ScalarType dtype, Ints dims, std::string_view kind) {
  bool fits = t.defined() && t.is_cpu() && t.scalar_type() == dtype;
  if (fits) {
    const auto expected = dims.get(), got = sizes(t);
    fits = got.size() == expected.size();
    for (std::size_t i = 0; fits && i < got.size(); ++i) {
      fits = expected[i] < 0 || expected[i] == got[i];
    }
  }
  if (!fits) {
    throw InputError(std::string(kind), std::string(name), describe(dtype, dims), describe(t));
  }
}

void check_size(std::string_view name, int64_t dim, int64_t got, int64_t expected, std::string_view other) {
  if (got != expected) {
    throw InputError("input", std::string(name),
                     "size " + std::to_string(expected) + " in dimension " + std::to_string(dim) + " (as " +
                         std::string(other) + ")",
                     std::to_string(got));
  }
}

}  // namespace torch2cpp
