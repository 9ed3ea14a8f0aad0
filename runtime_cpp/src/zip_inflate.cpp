#include "zip_inflate.h"

#include <limits>
#include <stdexcept>

#ifdef TORCH2CPP_ZLIB
#include <zlib.h>
#endif

namespace torch2cpp {

#ifdef TORCH2CPP_ZLIB

std::string inflate(std::string_view packed, uint64_t size, const std::string& what) {
  constexpr uint64_t kMost = std::numeric_limits<uInt>::max();
  // Deflate cannot shrink more than about a thousand times: a larger size is a damaged header.
  if (packed.size() >= kMost || size >= kMost || size / 1100 > packed.size()) {
    throw std::runtime_error(what + ": too large or damaged");
  }
  std::string out(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    throw std::runtime_error(what + ": zlib does not start");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = ::inflate(&stream, Z_FINISH);
  const bool complete = status == Z_STREAM_END && stream.total_out == size;
  inflateEnd(&stream);
  if (!complete) {
    throw std::runtime_error(what + ": damaged compressed data");
  }
  return out;
}

#else

std::string inflate(std::string_view, uint64_t, const std::string& what) {
  throw std::runtime_error(what + ": compressed, and this program was built without zlib; use numpy.savez");
}

#endif

}  // namespace torch2cpp
