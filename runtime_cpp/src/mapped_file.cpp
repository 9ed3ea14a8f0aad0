#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <torch2cpp/mapped_file.h>

namespace torch2cpp {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::runtime_error("cannot read " + path + ": " + std::strerror(errno));
}

}  // namespace

std::shared_ptr<MappedFile> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail(path);
  }
  struct stat status{};
  void* data = MAP_FAILED;
  const bool known = ::fstat(descriptor, &status) == 0;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (known && size != 0) {
    data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
  }
  const int error = errno;
  ::close(descriptor);
  if (known && size == 0) {
    return std::shared_ptr<MappedFile>(new MappedFile(nullptr, 0));
  }
  if (data == MAP_FAILED) {
    errno = error;
    fail(path);
  }
  return std::shared_ptr<MappedFile>(new MappedFile(static_cast<char*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
}

}  // namespace torch2cpp
