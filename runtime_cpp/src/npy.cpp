// The .npy format: a magic, a Python dict literal with dtype and sizes, the elements.
#include <charconv>
#include <cstdint>
#include <stdexcept>

#include <torch2cpp/dtypes.h>
#include <torch2cpp/io.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortran_order;
  std::vector<int64_t> sizes;
};

// What follows `'key':` in the header, leading space removed.
std::string_view after_key(std::string_view text, std::string_view key, const std::string& what) {
  const std::string quoted = "'" + std::string(key) + "':";
  const std::size_t found = text.find(quoted);
  if (found == text.npos) {
    throw std::runtime_error(what + ": an .npy header without " + quoted);
  }
  text.remove_prefix(found + quoted.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

std::vector<int64_t> parse_sizes(std::string_view text, const std::string& what) {
  std::vector<int64_t> out;
  const std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == text.npos) {
    throw std::runtime_error(what + ": an .npy header without sizes");
  }
  for (std::size_t at = 1; at < end;) {
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    int64_t size = 0;
    const auto [next, error] = std::from_chars(text.data() + at, text.data() + end, size);
    if (error != std::errc{} || size < 0) {
      throw std::runtime_error(what + ": a wrong size in an .npy header");
    }
    out.push_back(size);
    at = static_cast<std::size_t>(next - text.data());
  }
  return out;
}

Header parse_header(std::string_view text, const std::string& what) {
  const std::string_view descr = after_key(text, "descr", what);
  const std::size_t end = descr.find('\'', 1);
  if (descr.empty() || descr[0] != '\'' || end == descr.npos) {
    throw std::runtime_error(what + ": an array of structs, which is no tensor");
  }
  return {std::string(descr.substr(1, end - 1)), after_key(text, "fortran_order", what).starts_with("True"),
          parse_sizes(after_key(text, "shape", what), what)};
}

ScalarType parse_dtype(const std::string& descr, const std::string& what) {
  const char order = descr.empty() ? '\0' : descr[0];
  const std::string name = descr.substr(std::min<std::size_t>(1, descr.size()));
  const std::optional<ScalarType> dtype = dtype_of_numpy(name);
  if (!dtype || (order != '<' && order != '|' && order != '=')) {
    throw std::runtime_error(what + ": elements of numpy type '" + descr +
                             "' (little-endian numbers and bools are taken)");
  }
  return *dtype;
}

uint32_t little_endian(std::string_view bytes) {
  uint32_t out = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    out |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return out;
}

}  // namespace

Tensor parse_npy(std::string_view bytes, const std::string& what) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 10) {
    throw std::runtime_error(what + ": not an .npy file");
  }
  // Version 1 has a length of two bytes, later ones of four.
  const std::size_t width = bytes[6] == 1 ? 2 : 4, start = 8 + width;
  if (bytes.size() < start || bytes.size() - start < little_endian(bytes.substr(8, width))) {
    throw std::runtime_error(what + ": truncated");
  }
  const std::size_t length = little_endian(bytes.substr(8, width));
  const Header header = parse_header(bytes.substr(start, length), what);
  const ScalarType dtype = parse_dtype(header.descr, what);
  bytes.remove_prefix(start + length);
  std::vector<int64_t> sizes = header.sizes;
  if (header.fortran_order) {
    sizes.assign(header.sizes.rbegin(), header.sizes.rend());
  }
  int64_t expected = element_size(dtype);
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(expected, size, &expected)) {
      throw std::runtime_error(what + ": sizes too large");
    }
  }
  if (static_cast<uint64_t>(expected) != bytes.size()) {
    throw std::runtime_error(what + ": " + std::to_string(bytes.size()) + " bytes of elements where " +
                             std::to_string(expected) + " are expected");
  }
  const Tensor t = tensor_of_bytes(bytes, sizes, dtype);
  if (!header.fortran_order || sizes.size() < 2) {
    return t;
  }
  std::vector<int64_t> reversed;
  for (int64_t dim = rank(t); dim-- > 0;) {
    reversed.push_back(dim);
  }
  return permute(t, reversed);
}

std::string format_npy(const Tensor& t, const std::string& what) {
  const std::string name(numpy_name(t.scalar_type()));
  if (name.empty()) {
    throw std::runtime_error(what + ": numpy has no " + std::string(dtype_name(t.scalar_type())) +
                             "; write a .safetensors file");
  }
  std::string sizes_text = shape_text(sizes(t));
  sizes_text = "(" + sizes_text.substr(1, sizes_text.size() - 2) + (rank(t) == 1 ? ",)" : ")");
  const std::string order = name.ends_with('1') ? "|" : "<";
  std::string header = "{'descr': '" + order + name + "', 'fortran_order': False, 'shape': " + sizes_text + ", }";
  // Elements begin at a multiple of 64.
  constexpr std::size_t kBefore = 10, kAlignment = 64;
  header.resize((kBefore + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kBefore - 1, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(static_cast<unsigned char>(header.size() & 0xff));
  out += static_cast<char>(static_cast<unsigned char>(header.size() >> 8));
  return out + header + element_bytes(t);
}

}  // namespace torch2cpp
