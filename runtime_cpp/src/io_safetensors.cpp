// Writing safetensors files.
#include <stdexcept>

#include <torch2cpp/dtypes.h>
#include <torch2cpp/io.h>

#include "json_text.h"

namespace torch2cpp {
void write_safetensors(const std::string& path, const NamedTensors& tensors) {
  std::string header = "{", data;
  for (const auto& [name, t] : tensors) {
    const std::string_view dtype = safetensors_name(t.scalar_type());
    if (dtype.empty()) {
      throw std::runtime_error(path + ": '" + name + "' is " + std::string(dtype_name(t.scalar_type())) +
                               ", which safetensors cannot hold");
    }
    const std::string bytes = element_bytes(t);
    header += (header.size() == 1 ? "" : ",") + json_string(name) + ":{\"dtype\":\"" + std::string(dtype) +
              "\",\"shape\":" + shape_text(sizes(t)) + ",\"data_offsets\":[" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + bytes.size()) + "]}";
    data += bytes;
  }
  header += "}";
  // Tensors begin at multiples of 8, so most dtypes can be used in place.
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i) {
    length += static_cast<char>(static_cast<unsigned char>(header.size() >> (8 * i)));
  }
  write_file(path, length + header + data);
}

}  // namespace torch2cpp
