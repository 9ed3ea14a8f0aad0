// Decompression of zip members.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace torch2cpp {

// The raw deflate stream unpacked to `size` bytes; std::runtime_error without zlib, or for damaged data.
std::string inflate(std::string_view packed, uint64_t size, const std::string& what);

}  // namespace torch2cpp
