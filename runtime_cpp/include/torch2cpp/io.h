// Tensors in files, for command-line runners: .npy, .npz and .safetensors. Not included by host programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <torch2cpp/tensor.h>

namespace torch2cpp {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// All tensors of a file, by its extension; the one of an .npy file has the name "".
// std::runtime_error, naming the file, for what cannot be read.
NamedTensors read_tensors(const std::string& path);
// Writes a file of the form its extension says; .npy takes one tensor.
void write_tensors(const std::string& path, const NamedTensors& tensors);

NamedTensors read_npz(const std::string& path);
void write_npz(const std::string& path, const NamedTensors& tensors);
void write_safetensors(const std::string& path, const NamedTensors& tensors);

// The bytes of an .npy file; `what` names them in errors.
Tensor parse_npy(std::string_view bytes, const std::string& what);
std::string format_npy(const Tensor& t, const std::string& what);

// A whole file as bytes.
std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);

// The elements of a tensor in order, whatever its strides.
std::string element_bytes(const Tensor& t);
// A contiguous tensor filled from such bytes.
Tensor tensor_of_bytes(std::string_view bytes, Ints sizes, ScalarType dtype);

}  // namespace torch2cpp
