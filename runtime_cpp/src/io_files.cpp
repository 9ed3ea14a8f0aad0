// Whole files, and the choice of the format by extension.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <torch2cpp/io.h>
#include <torch2cpp/safetensors.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode), &std::fclose);
  if (!file) {
    throw std::runtime_error("cannot open " + path + ": " + std::strerror(errno));
  }
  return file;
}

NamedTensors read_safetensors(const std::string& path) {
  const Safetensors file(path);
  NamedTensors out;
  for (const auto& [name, entry] : file.entries()) {
    out.emplace_back(name, file.get(name));
  }
  return out;
}

[[noreturn]] void unknown_extension(const std::string& path) {
  throw std::runtime_error(path + ": tensors are kept in .npy, .npz or .safetensors files");
}

}  // namespace

std::string read_file(const std::string& path) {
  const File file = open(path, "rb");
  std::string out;
  std::string buffer(1 << 16, '\0');
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    out.append(buffer, 0, count);
  }
  if (std::ferror(file.get()) != 0) {
    throw std::runtime_error("cannot read " + path + ": " + std::strerror(errno));
  }
  return out;
}

void write_file(const std::string& path, std::string_view bytes) {
  File file = open(path, "wb");
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  // Closing writes what is buffered, and may fail.
  if (std::fclose(file.release()) != 0 || !written) {
    throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
  }
}

std::string element_bytes(const Tensor& t) {
  const Tensor whole = contiguous(t);
  const auto count = static_cast<std::size_t>(numel(whole)) * whole.element_size();
  return count == 0 ? std::string() : std::string(static_cast<const char*>(whole.const_data_ptr()), count);
}

Tensor tensor_of_bytes(std::string_view bytes, Ints sizes, ScalarType dtype) {
  Tensor out = empty(sizes, dtype);
  if (bytes.size() != static_cast<std::size_t>(numel(out)) * out.element_size()) {
    throw std::runtime_error("bytes that do not fit the sizes");
  }
  if (!bytes.empty()) {
    std::memcpy(out.data_ptr(), bytes.data(), bytes.size());
  }
  return out;
}

NamedTensors read_tensors(const std::string& path) {
  if (path.ends_with(".npy")) {
    return {{"", parse_npy(read_file(path), path)}};
  }
  if (path.ends_with(".npz")) {
    return read_npz(path);
  }
  if (path.ends_with(".safetensors")) {
    return read_safetensors(path);
  }
  unknown_extension(path);
}

void write_tensors(const std::string& path, const NamedTensors& tensors) {
  if (path.ends_with(".npy")) {
    if (tensors.size() != 1) {
      throw std::runtime_error(path + ": an .npy file holds one tensor, not " + std::to_string(tensors.size()));
    }
    write_file(path, format_npy(tensors[0].second, path));
  } else if (path.ends_with(".npz")) {
    write_npz(path, tensors);
  } else if (path.ends_with(".safetensors")) {
    write_safetensors(path, tensors);
  } else {
    unknown_extension(path);
  }
}

}  // namespace torch2cpp
