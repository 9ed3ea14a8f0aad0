// Memory that is kept: what is given back is handed out again, and the C library is asked only where there is not
// enough. A program that has run on its largest inputs asks no more.
#pragma once

#include <cstddef>

namespace torch2cpp::slim {

// Memory of so many bytes, aligned to 64 or, up to 1024 bytes, to 16. Null where there is none left. Safe to call from
// several threads at once.
void* arena_allocate(std::size_t bytes) noexcept;
// The same, always aligned to 64.
void* arena_allocate_aligned(std::size_t bytes) noexcept;
// Gives memory of the two back; null does nothing.
void arena_free(void* memory) noexcept;

// Takes so many bytes from the C library ahead, in one piece; false where it does not have them.
bool arena_reserve(std::size_t bytes) noexcept;
// The same for blocks of up to 1024 bytes, which lie apart.
bool arena_reserve_small(std::size_t bytes) noexcept;
// What was taken from the C library so far, and how much of it is for blocks of up to 1024 bytes.
std::size_t arena_bytes() noexcept;
std::size_t arena_small_bytes() noexcept;

}  // namespace torch2cpp::slim
