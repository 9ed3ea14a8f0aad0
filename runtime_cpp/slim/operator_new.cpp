// Makes all of a program's C++ memory come from the arena: linked into the emitted programs, not into the library.
#include <cstddef>
#include <new>

#include <torch2cpp/slim/arena.h>

namespace {

namespace slim = torch2cpp::slim;

void* checked(void* memory) {
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

// Nobody asks for more than the arena's own alignment.
void* aligned(std::size_t bytes, std::align_val_t alignment) noexcept {
  return static_cast<std::size_t>(alignment) > 64 ? nullptr : slim::arena_allocate_aligned(bytes);
}

}  // namespace

void* operator new(std::size_t bytes) { return checked(slim::arena_allocate(bytes)); }
void* operator new[](std::size_t bytes) { return checked(slim::arena_allocate(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return slim::arena_allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return slim::arena_allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return checked(aligned(bytes, alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return checked(aligned(bytes, alignment)); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned(bytes, alignment);
}
void operator delete(void* memory) noexcept { slim::arena_free(memory); }
void operator delete[](void* memory) noexcept { slim::arena_free(memory); }
void operator delete(void* memory, std::size_t) noexcept { slim::arena_free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { slim::arena_free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { slim::arena_free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { slim::arena_free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { slim::arena_free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { slim::arena_free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { slim::arena_free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { slim::arena_free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { slim::arena_free(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { slim::arena_free(memory); }
