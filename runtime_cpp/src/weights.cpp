#include <set>

#include <torch2cpp/safetensors.h>
#include <torch2cpp/tensor_check.h>
#include <torch2cpp/weights.h>

namespace torch2cpp {
namespace {

bool is_filler(std::string_view name) { return name.starts_with("__"); }

// Names in the file that the program does not know, for the message about a renamed weight.
std::string unknown_names(const Safetensors& file, const std::set<std::string_view>& known) {
  std::string out;
  for (const auto& [name, entry] : file.entries()) {
    if (!known.contains(name) && !is_filler(name)) {
      out += (out.empty() ? "" : ", ") + ("'" + name + "'");
    }
  }
  return out;
}

}  // namespace

Weights::Weights(const std::string& path, const std::vector<WeightSpec>& expected) {
  const Safetensors file(path);
  std::set<std::string_view> known;
  for (const WeightSpec& weight : expected) {
    known.insert(weight.name);
  }
  const std::string unknown = unknown_names(file, known);
  for (const WeightSpec& weight : expected) {
    const auto found = file.entries().find(weight.name);
    if (found == file.entries().end()) {
      throw InputError("weight", weight.name, describe(weight.dtype, weight.sizes),
                       "no such weight in " + path + (unknown.empty() ? "" : "; it has unknown " + unknown));
    }
    const SafetensorsEntry& entry = found->second;
    if (entry.dtype != weight.dtype || entry.sizes != weight.sizes) {
      throw InputError("weight", weight.name, describe(weight.dtype, weight.sizes),
                       describe(entry.dtype, entry.sizes) + " in " + path);
    }
  }
  if (!unknown.empty()) {
    throw InputError("weights file", path, "the weights of this model only", "also " + unknown);
  }
  for (const WeightSpec& weight : expected) {
    tensors_.emplace(weight.name, file.get(weight.name));
  }
}

Tensor Weights::get(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw InputError("weight", std::string(name), "a weight of this model", "an unknown name");
  }
  return found->second;
}

}  // namespace torch2cpp
