#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <torch/csrc/stable/stableivalue_conversions.h>

#include <torch2cpp/dtypes.h>
#include <torch2cpp/safetensors.h>

#include "safetensors_header.h"

namespace torch2cpp {
namespace {

constexpr std::size_t kLengthBytes = 8;
// Where PyTorch's allocator places tensors. Kernels sum in another order elsewhere, so a weight at another
// address gives other last bits than in eager.
constexpr std::uintptr_t kAlignment = 64;
// The CPU has no device index.
constexpr int32_t kNoIndex = -1;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw InputError("weights file", path, "a safetensors file", what);
}

std::size_t header_length(const std::string& path, const MappedFile& file) {
  if (file.size() < kLengthBytes) {
    refuse(path, "a file of " + std::to_string(file.size()) + " bytes");
  }
  uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint64_t>(static_cast<unsigned char>(file.data()[i])) << (8 * i);
  }
  if (length > file.size() - kLengthBytes) {
    refuse(path, "a file truncated in its header");
  }
  return length;
}

// The data must be covered without holes, and end where the file does.
void check_layout(const std::string& path, const std::map<std::string, SafetensorsEntry, std::less<>>& entries,
                  std::size_t available) {
  std::vector<std::pair<const std::string*, const SafetensorsEntry*>> order;
  for (const auto& [name, entry] : entries) {
    order.emplace_back(&name, &entry);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  std::size_t at = 0;
  for (const auto& [name, entry] : order) {
    if (entry->begin != at) {
      throw InputError("weight", *name,
                       "data that begins where the previous tensor's ends, at byte " + std::to_string(at),
                       "byte " + std::to_string(entry->begin) + " of " + path);
    }
    at = entry->end;
    if (at > available) {
      throw InputError("weight", *name, std::to_string(entry->end - entry->begin) + " bytes",
                       std::to_string(available - std::min(available, entry->begin)) + " before the end of " + path +
                           ", which is truncated");
    }
  }
  if (at != available) {
    refuse(path, std::to_string(available - at) + " bytes that belong to no tensor");
  }
}

}  // namespace

Safetensors::Safetensors(const std::string& path) : path_(path) {
  try {
    file_ = MappedFile::open(path);
  } catch (const std::runtime_error& e) {
    refuse(path, e.what());
  }
  const std::size_t length = header_length(path, *file_);
  data_start_ = kLengthBytes + length;
  try {
    entries_ = parse_safetensors_header({file_->data() + kLengthBytes, length});
  } catch (const std::runtime_error& e) {
    refuse(path, std::string("a header with ") + e.what());
  }
  check_layout(path, entries_, file_->size() - data_start_);
}

Tensor Safetensors::get(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw InputError("weight", std::string(name), "to be in " + path_, "no weight of this name");
  }
  const SafetensorsEntry& entry = found->second;
  char* data = file_->data() + data_start_ + entry.begin;
  if (entry.begin == entry.end || reinterpret_cast<std::uintptr_t>(data) % kAlignment != 0) {
    Tensor copy = empty(entry.sizes, entry.dtype);
    if (entry.begin != entry.end) {
      std::memcpy(copy.data_ptr(), data, entry.end - entry.begin);
    }
    return copy;
  }
  std::vector<int64_t> strides(entry.sizes.size(), 1);
  for (std::size_t i = strides.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * entry.sizes[i];
  }
  using Owner = std::shared_ptr<MappedFile>;
  auto owner = std::make_unique<Owner>(file_);
  AtenTensorHandle out = nullptr;
  check(torch_from_blob(
      data, static_cast<int64_t>(entry.sizes.size()), entry.sizes.data(), strides.data(), 0,
      torch::stable::detail::to<int32_t>(torch::stable::detail::from(entry.dtype)), aoti_torch_device_type_cpu(),
      kNoIndex, &out, aoti_torch_layout_strided(), nullptr, 0,
      [](void*, void* context) { delete static_cast<Owner*>(context); }, owner.get()));
  // The tensor's storage deletes it.
  static_cast<void>(owner.release());
  return Tensor(out);
}

}  // namespace torch2cpp
