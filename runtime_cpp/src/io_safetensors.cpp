// Writing safetensors files.
#include <stdexcept>

#include <torch2cpp/dtypes.h>
#include <torch2cpp/io.h>

namespace torch2cpp {
namespace {

std::string json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += std::string("\\u00") + kHex[byte >> 4] + kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

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
