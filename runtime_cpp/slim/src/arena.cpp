#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include <torch2cpp/slim/arena.h>

namespace torch2cpp::slim {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kChunk = std::size_t{256} << 10U;
// Small blocks: multiples of a step, each with its class in front of it.
constexpr std::size_t kStep = 32, kSmall = 1024, kSmallHeader = 16, kSlab = std::size_t{16} << 10U;
constexpr std::size_t kClasses = kSmall / kStep;
constexpr uint64_t kLargeTag = ~uint64_t{0};

struct Block;

struct Links {
  // Header included.
  std::size_t size;
  // The block before, null for the first one.
  Block* before;
  bool free;
  // In the list of its bin.
  Block *next, *previous;
};

// What lies in front of a block's memory. Blocks of a chunk lie behind each other; the last one has size 0.
struct alignas(kAlignment) Block : Links {
  char padding[kAlignment - sizeof(uint64_t) - sizeof(Links)];
  // Where `arena_free` looks: right in front of the memory.
  uint64_t tag;

  char* memory() { return reinterpret_cast<char*>(this + 1); }
  Block* after() { return reinterpret_cast<Block*>(reinterpret_cast<char*>(this) + size); }
};
static_assert(sizeof(Block) == kAlignment);

struct Free {
  Free* next;
};

// Free blocks by size: four bins between a power of two and the next.
constexpr std::size_t kBins = 4 * 64;

// Never destroyed: memory is given back until the very end.
struct Arena {
  std::mutex mutex;
  Block* bins[kBins];
  uint64_t filled[kBins / 64];
  // Small blocks of threads that are gone.
  Free* small[kClasses];
  std::size_t taken;
};
constinit Arena arena{};

std::size_t bin_of(std::size_t size) {
  const auto power = static_cast<std::size_t>(std::bit_width(size)) - 1;
  return 4 * power + ((size >> (power - 2)) & 3U);
}

void link(Block* block) {
  const std::size_t bin = bin_of(block->size);
  block->free = true;
  block->previous = nullptr;
  block->next = arena.bins[bin];
  if (block->next != nullptr) {
    block->next->previous = block;
  }
  arena.bins[bin] = block;
  arena.filled[bin / 64] |= uint64_t{1} << bin % 64;
}

void unlink(Block* block) {
  const std::size_t bin = bin_of(block->size);
  block->free = false;
  (block->previous != nullptr ? block->previous->next : arena.bins[bin]) = block->next;
  if (block->next != nullptr) {
    block->next->previous = block->previous;
  }
  if (arena.bins[bin] == nullptr) {
    arena.filled[bin / 64] &= ~(uint64_t{1} << bin % 64);
  }
}

// A free block of at least the size; null where there is none.
Block* find(std::size_t size) {
  const std::size_t bin = bin_of(size);
  for (Block* block = arena.bins[bin]; block != nullptr; block = block->next) {
    if (block->size >= size) {
      return block;
    }
  }
  // All of a later bin's are large enough.
  for (std::size_t word = (bin + 1) / 64; word < kBins / 64; ++word) {
    uint64_t bits = arena.filled[word];
    if (word == (bin + 1) / 64) {
      bits &= ~uint64_t{0} << (bin + 1) % 64;
    }
    if (bits != 0) {
      return arena.bins[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
    }
  }
  return nullptr;
}

bool add_chunk(std::size_t size) {
  const std::size_t bytes = (size + kAlignment + kChunk - 1) / kChunk * kChunk;
  auto* memory = bytes < size ? nullptr : static_cast<char*>(std::aligned_alloc(kAlignment, bytes));
  if (memory == nullptr) {
    return false;
  }
  arena.taken += bytes;
  auto* first = reinterpret_cast<Block*>(memory);
  first->size = bytes - kAlignment;
  first->before = nullptr;
  Block* last = first->after();
  last->size = 0;
  last->before = first;
  last->free = false;
  link(first);
  return true;
}

void* take(std::size_t bytes) {
  const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
  if (size < bytes) {
    return nullptr;
  }
  Block* block = find(size);
  if (block == nullptr) {
    if (!add_chunk(size)) {
      return nullptr;
    }
    block = find(size);
  }
  unlink(block);
  if (block->size - size >= 2 * kAlignment) {
    auto* rest = reinterpret_cast<Block*>(reinterpret_cast<char*>(block) + size);
    rest->size = block->size - size;
    rest->before = block;
    block->after()->before = rest;
    block->size = size;
    link(rest);
  }
  block->tag = kLargeTag;
  return block->memory();
}

void give_back(Block* block) {
  Block* after = block->after();
  if (after->free) {
    unlink(after);
    block->size += after->size;
  }
  if (block->before != nullptr && block->before->free) {
    Block* before = block->before;
    unlink(before);
    before->size += block->size;
    block = before;
  }
  block->after()->before = block;
  link(block);
}

// A thread's own small blocks need no lock.
struct Mine {
  Free* small[kClasses];
  bool gone;
};
constinit thread_local Mine mine{};

// Hands a thread's blocks on when it ends.
struct HandOn {
  ~HandOn() {
    const std::lock_guard lock(arena.mutex);
    mine.gone = true;
    for (std::size_t kind = 0; kind < kClasses; ++kind) {
      while (mine.small[kind] != nullptr) {
        Free* block = mine.small[kind];
        mine.small[kind] = block->next;
        block->next = arena.small[kind];
        arena.small[kind] = block;
      }
    }
  }
};

void* pop(Free*& list) {
  Free* block = list;
  if (block != nullptr) {
    list = block->next;
  }
  return block;
}

// More blocks of a class, one of which is returned.
void* refill(std::size_t kind) {
  thread_local const HandOn hand_on;
  static_cast<void>(&hand_on);
  const std::lock_guard lock(arena.mutex);
  if (void* block = pop(arena.small[kind])) {
    return block;
  }
  const std::size_t each = (kind + 1) * kStep + kSmallHeader;
  auto* slab = static_cast<char*>(take(kSlab));
  if (slab == nullptr) {
    return nullptr;
  }
  Free*& list = mine.gone ? arena.small[kind] : mine.small[kind];
  for (std::size_t at = 0; at + each <= kSlab; at += each) {
    char* memory = slab + at + kSmallHeader;
    *reinterpret_cast<uint64_t*>(memory - sizeof(uint64_t)) = kind;
    auto* block = reinterpret_cast<Free*>(memory);
    block->next = list;
    list = block;
  }
  return pop(list);
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// The sanitizer sees every block by itself.
void* arena_allocate_aligned(std::size_t bytes) noexcept {
  return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}
void* arena_allocate(std::size_t bytes) noexcept { return arena_allocate_aligned(bytes); }
void arena_free(void* memory) noexcept { std::free(memory); }
#else
void* arena_allocate(std::size_t bytes) noexcept {
  if (bytes > kSmall) {
    return arena_allocate_aligned(bytes);
  }
  const std::size_t kind = bytes == 0 ? 0 : (bytes - 1) / kStep;
  void* block = pop(mine.small[kind]);
  return block != nullptr ? block : refill(kind);
}

void* arena_allocate_aligned(std::size_t bytes) noexcept {
  const std::lock_guard lock(arena.mutex);
  return take(bytes);
}

void arena_free(void* memory) noexcept {
  if (memory == nullptr) {
    return;
  }
  const uint64_t tag = *reinterpret_cast<const uint64_t*>(static_cast<char*>(memory) - sizeof(uint64_t));
  if (tag == kLargeTag) {
    const std::lock_guard lock(arena.mutex);
    give_back(static_cast<Block*>(memory) - 1);
    return;
  }
  auto* block = static_cast<Free*>(memory);
  if (mine.gone) {
    const std::lock_guard lock(arena.mutex);
    block->next = arena.small[tag];
    arena.small[tag] = block;
    return;
  }
  block->next = mine.small[tag];
  mine.small[tag] = block;
}
#endif

bool arena_reserve(std::size_t bytes) noexcept {
  const std::lock_guard lock(arena.mutex);
  return add_chunk(bytes);
}

std::size_t arena_bytes() noexcept {
  const std::lock_guard lock(arena.mutex);
  return arena.taken;
}

}  // namespace torch2cpp::slim
