// The JSON of a safetensors header, and nothing more of JSON.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <torch2cpp/safetensors.h>

namespace torch2cpp {

// std::runtime_error, saying what is wrong where, for text that is no such header.
std::map<std::string, SafetensorsEntry, std::less<>> parse_safetensors_header(std::string_view text);

}  // namespace torch2cpp
