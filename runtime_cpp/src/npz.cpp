// The .npz format: a zip archive of .npy files.
#include <array>
#include <cstdint>
#include <stdexcept>

#include <torch2cpp/io.h>

#include "zip_inflate.h"

namespace torch2cpp {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr uint64_t kSee64 = 0xffffffff;

// Reads little-endian numbers, and never past the end.
class Bytes {
 public:
  Bytes(std::string_view all, const std::string& what) : all_(all), what_(what) {}

  uint64_t number(std::size_t at, std::size_t width) const {
    const std::string_view part = slice(at, width);
    uint64_t out = 0;
    for (std::size_t i = 0; i < width; ++i) {
      out |= static_cast<uint64_t>(static_cast<unsigned char>(part[i])) << (8 * i);
    }
    return out;
  }

  std::string_view slice(uint64_t at, uint64_t length) const {
    if (at > all_.size() || length > all_.size() - at) {
      throw std::runtime_error(what_ + ": a damaged or truncated zip archive");
    }
    return all_.substr(at, length);
  }

  std::size_t size() const { return all_.size(); }

 private:
  std::string_view all_;
  const std::string& what_;
};

uint32_t crc32(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> out{};
    for (uint32_t i = 0; i < out.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320 : 0);
      }
      out[i] = value;
    }
    return out;
  }();
  uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  }
  return ~crc;
}

struct Member {
  std::string name;
  uint64_t method, crc, packed, size, offset;
};

struct Directory {
  uint64_t count, offset;
};

Directory find_directory(const Bytes& bytes, const std::string& path) {
  constexpr std::size_t kEndSize = 22, kMostComment = 65535, kLocatorSize = 20;
  for (std::size_t back = kEndSize; back <= bytes.size() && back <= kEndSize + kMostComment; ++back) {
    const std::size_t at = bytes.size() - back;
    if (bytes.number(at, 4) != kEnd) {
      continue;
    }
    if (at >= kLocatorSize && bytes.number(at - kLocatorSize, 4) == kLocator64) {
      const uint64_t end64 = bytes.number(at - kLocatorSize + 8, 8);
      if (bytes.number(end64, 4) == kEnd64) {
        return {bytes.number(end64 + 32, 8), bytes.number(end64 + 48, 8)};
      }
    }
    return {bytes.number(at + 10, 2), bytes.number(at + 16, 4)};
  }
  throw std::runtime_error(path + ": not a zip archive");
}

// Sizes beyond 32 bits are in an extra field, in this order, each only where the header says so.
void read_zip64(const Bytes& bytes, uint64_t at, uint64_t length, Member& member) {
  const uint64_t end = at + length;
  while (at + 4 <= end) {
    const uint64_t id = bytes.number(at, 2), size = bytes.number(at + 2, 2);
    if (id == 1) {
      uint64_t next = at + 4;
      for (uint64_t* value : {&member.size, &member.packed, &member.offset}) {
        if (*value == kSee64) {
          *value = bytes.number(next, 8);
          next += 8;
        }
      }
    }
    at += 4 + size;
  }
}

std::vector<Member> read_directory(const Bytes& bytes, const std::string& path) {
  const Directory directory = find_directory(bytes, path);
  std::vector<Member> out;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (bytes.number(at, 4) != kCentral) {
      throw std::runtime_error(path + ": a damaged or truncated zip archive");
    }
    const uint64_t name = bytes.number(at + 28, 2), extra = bytes.number(at + 30, 2), note = bytes.number(at + 32, 2);
    Member member{std::string(bytes.slice(at + 46, name)),
                  bytes.number(at + 10, 2),
                  bytes.number(at + 16, 4),
                  bytes.number(at + 20, 4),
                  bytes.number(at + 24, 4),
                  bytes.number(at + 42, 4)};
    read_zip64(bytes, at + 46 + name, extra, member);
    out.push_back(std::move(member));
    at += 46 + name + extra + note;
  }
  return out;
}

std::string unpack(const Bytes& bytes, const Member& member, const std::string& what) {
  if (bytes.number(member.offset, 4) != kLocal) {
    throw std::runtime_error(what + ": a damaged or truncated zip archive");
  }
  const uint64_t start = member.offset + 30 + bytes.number(member.offset + 26, 2) + bytes.number(member.offset + 28, 2);
  const std::string_view packed = bytes.slice(start, member.packed);
  std::string out;
  if (member.method == 0) {
    out = std::string(packed);
  } else if (member.method == 8) {
    out = inflate(packed, member.size, what);
  } else {
    throw std::runtime_error(what + ": compressed in another way than deflate");
  }
  if (out.size() != member.size || crc32(out) != member.crc) {
    throw std::runtime_error(what + ": damaged, its checksum differs");
  }
  return out;
}

void append_number(std::string& out, uint64_t value, int width) {
  for (int i = 0; i < width; ++i) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

}  // namespace

NamedTensors read_npz(const std::string& path) {
  const std::string content = read_file(path);
  const Bytes bytes(content, path);
  NamedTensors out;
  for (const Member& member : read_directory(bytes, path)) {
    const std::string what = path + ": " + member.name;
    std::string name = member.name;
    if (!name.ends_with(".npy")) {
      throw std::runtime_error(what + ": no .npy file");
    }
    name.resize(name.size() - 4);
    out.emplace_back(std::move(name), parse_npy(unpack(bytes, member, what), what));
  }
  return out;
}

void write_npz(const std::string& path, const NamedTensors& tensors) {
  std::string out, directory;
  for (const auto& [name, t] : tensors) {
    const std::string file = name + ".npy", content = format_npy(t, path + ": " + name);
    if (out.size() + content.size() >= kSee64) {
      throw std::runtime_error(path + ": 4 GB or more; write a .safetensors file");
    }
    // Version, flags (names in UTF-8), method, time and date of 1980-01-01, checksum, sizes, lengths.
    std::string common;
    for (const uint64_t value : {20, 0x0800, 0, 0, 33}) {
      append_number(common, value, 2);
    }
    append_number(common, crc32(content), 4);
    append_number(common, content.size(), 4);
    append_number(common, content.size(), 4);
    append_number(common, file.size(), 2);
    append_number(common, 0, 2);
    append_number(directory, kCentral, 4);
    append_number(directory, 20, 2);
    directory += common;
    // Comment, disk and attributes: none.
    append_number(directory, 0, 8);
    append_number(directory, 0, 2);
    append_number(directory, out.size(), 4);
    directory += file;
    append_number(out, kLocal, 4);
    out += common + file + content;
  }
  const std::size_t start = out.size();
  out += directory;
  append_number(out, kEnd, 4);
  append_number(out, 0, 4);
  append_number(out, tensors.size(), 2);
  append_number(out, tensors.size(), 2);
  append_number(out, directory.size(), 4);
  append_number(out, start, 4);
  append_number(out, 0, 2);
  write_file(path, out);
}

}  // namespace torch2cpp
