#include <cstring>
#include <new>
#include <string>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/arena.h>
#include <torch2cpp/slim/storage.h>

namespace torch2cpp::slim {
namespace {

constexpr std::size_t kAlignment = 64;
std::atomic<std::size_t> in_use{0};
std::atomic<std::size_t> most{0};

void count(std::size_t bytes) {
  const std::size_t now = in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t before = most.load(std::memory_order_relaxed);
  while (before < now && !most.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
}

// The block's own record lies before its data, so that a tensor costs one allocation.
constexpr std::size_t kHeader = kAlignment;
static_assert(sizeof(Storage) <= kHeader);

}  // namespace

bool Storage::owns() const {
  return grown_ || static_cast<const void*>(data_) == reinterpret_cast<const char*>(this) + kHeader;
}

Storage::Ref Storage::allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = rounded < bytes ? nullptr : arena_allocate_aligned(kHeader + rounded);
  if (memory == nullptr) {
    raise_error("MemoryError", "no memory left for a tensor of " + std::to_string(bytes) + " bytes");
  }
  count(bytes);
  return Ref(new (memory) Storage(static_cast<char*>(memory) + kHeader, bytes, nullptr, nullptr));
}

Storage::Ref Storage::borrow(void* data, std::size_t bytes, Deleter deleter, void* context) {
  void* memory = arena_allocate_aligned(kHeader);
  if (memory == nullptr) {
    raise_error("MemoryError", "no memory left");
  }
  return Ref(new (memory) Storage(static_cast<char*>(data), bytes, deleter, context));
}

void Storage::grow(std::size_t bytes) {
  if (!owns()) {
    raise_runtime_error("Trying to resize storage that is not resizable");
  }
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto* memory = rounded < bytes ? nullptr : static_cast<char*>(arena_allocate_aligned(rounded));
  if (memory == nullptr) {
    raise_error("MemoryError", "no memory left for a tensor of " + std::to_string(bytes) + " bytes");
  }
  std::memcpy(memory, data_, bytes_);
  if (grown_) {
    arena_free(data_);
  }
  in_use.fetch_sub(bytes_, std::memory_order_relaxed);
  count(bytes);
  data_ = memory;
  bytes_ = bytes;
  grown_ = true;
}

void Storage::Ref::release() {
  if (block_ == nullptr || block_->count_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (block_->deleter_ != nullptr) {
    block_->deleter_(block_->data_, block_->context_);
  } else if (block_->owns()) {
    in_use.fetch_sub(block_->bytes_, std::memory_order_relaxed);
    if (block_->grown_) {
      arena_free(block_->data_);
    }
  }
  block_->~Storage();
  arena_free(block_);
}

std::size_t bytes_in_use() { return in_use.load(std::memory_order_relaxed); }
std::size_t peak_bytes() { return most.load(std::memory_order_relaxed); }

}  // namespace torch2cpp::slim
