// Memory of tensors: counted, aligned to 64 bytes, or borrowed from somebody else.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace torch2cpp::slim {

// Called with the memory and a context when borrowed memory is no longer used.
using Deleter = void (*)(void* data, void* context);

class Storage {
 public:
  // A counted pointer; empty by default.
  class Ref {
   public:
    Ref() = default;
    Ref(const Ref& other) : block_(other.block_) { retain(); }
    Ref(Ref&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
      std::swap(block_, other.block_);
      return *this;
    }
    ~Ref() { release(); }
    Storage* operator->() const { return block_; }
    Storage* get() const { return block_; }
    explicit operator bool() const { return block_ != nullptr; }

   private:
    friend class Storage;
    explicit Ref(Storage* block) : block_(block) {}
    void retain() const {
      if (block_ != nullptr) {
        block_->count_.fetch_add(1, std::memory_order_relaxed);
      }
    }
    void release();
    Storage* block_ = nullptr;
  };

  // Memory that nobody has written to. MemoryError where there is none left.
  static Ref allocate(std::size_t bytes);
  // Memory of somebody else; `deleter` may be null.
  static Ref borrow(void* data, std::size_t bytes, Deleter deleter, void* context);

  // More memory with the same beginning, for all tensors that share it. RuntimeError where it is somebody else's,
  // MemoryError where there is none left.
  void grow(std::size_t bytes);

  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Storage(char* data, std::size_t bytes, Deleter deleter, void* context)
      : data_(data), bytes_(bytes), deleter_(deleter), context_(context) {}

  // Whether the memory is the runtime's own.
  bool owns() const;

  std::atomic<int> count_{1};
  // The data has left its place behind the record.
  bool grown_ = false;
  char* data_;
  std::size_t bytes_;
  Deleter deleter_;
  void* context_;
};

// Bytes that tensors of this process hold now, and the most they held at once.
std::size_t bytes_in_use();
std::size_t peak_bytes();

}  // namespace torch2cpp::slim
