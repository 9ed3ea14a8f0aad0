#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include <torch2cpp/slim/arena.h>

namespace torch2cpp::slim {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPiece = std::size_t{256} << 10U;
// Small blocks: multiples of a step, each with its class in front of it.
constexpr std::size_t kSmallStep = 32, kSmall = 1024, kSmallHeader = 16, kSlab = std::size_t{16} << 10U;
constexpr std::size_t kClasses = kSmall / kSmallStep;
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
struct alignas(kLine) Block : Links {
  char padding[kLine - sizeof(uint64_t) - sizeof(Links)];
  // Where `arena_free` looks: right in front of the memory.
  uint64_t tag;

  char* memory() { return reinterpret_cast<char*>(this + 1); }
  Block* after() { return reinterpret_cast<Block*>(reinterpret_cast<char*>(this) + size); }
};
static_assert(sizeof(Block) == kLine);

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
  // Where the next slab begins: slabs stay, and would part large blocks if they lay between them.
  char *slab, *slab_end;
  // Slabs left of earlier pieces.
  Free* slabs;
  std::size_t taken, taken_small;
};
constinit Arena the_arena{};

std::size_t bin_for(std::size_t size) {
  const auto power = static_cast<std::size_t>(std::bit_width(size)) - 1;
  return 4 * power + ((size >> (power - 2)) & 3U);
}

void enlist(Block* block) {
  const std::size_t bin = bin_for(block->size);
  block->free = true;
  block->previous = nullptr;
  block->next = the_arena.bins[bin];
  if (block->next != nullptr) {
    block->next->previous = block;
  }
  the_arena.bins[bin] = block;
  the_arena.filled[bin / 64] |= uint64_t{1} << bin % 64;
}

void unlist(Block* block) {
  const std::size_t bin = bin_for(block->size);
  block->free = false;
  (block->previous != nullptr ? block->previous->next : the_arena.bins[bin]) = block->next;
  if (block->next != nullptr) {
    block->next->previous = block->previous;
  }
  if (the_arena.bins[bin] == nullptr) {
    the_arena.filled[bin / 64] &= ~(uint64_t{1} << bin % 64);
  }
}

// A free block of at least the size; null where there is none.
Block* fitting(std::size_t size) {
  const std::size_t bin = bin_for(size);
  for (Block* block = the_arena.bins[bin]; block != nullptr; block = block->next) {
    if (block->size >= size) {
      return block;
    }
  }
  // All of a later bin's are large enough.
  for (std::size_t word = (bin + 1) / 64; word < kBins / 64; ++word) {
    uint64_t bits = the_arena.filled[word];
    if (word == (bin + 1) / 64) {
      bits &= ~uint64_t{0} << (bin + 1) % 64;
    }
    if (bits != 0) {
      return the_arena.bins[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
    }
  }
  return nullptr;
}

bool add_piece(std::size_t size) {
  const std::size_t bytes = (size + kLine + kPiece - 1) / kPiece * kPiece;
  auto* memory = bytes < size ? nullptr : static_cast<char*>(std::aligned_alloc(kLine, bytes));
  if (memory == nullptr) {
    return false;
  }
  the_arena.taken += bytes;
  auto* first = reinterpret_cast<Block*>(memory);
  first->size = bytes - kLine;
  first->before = nullptr;
  Block* last = first->after();
  last->size = 0;
  last->before = first;
  last->free = false;
  enlist(first);
  return true;
}

void* carve(std::size_t bytes) {
  const std::size_t size = (bytes + kLine - 1) / kLine * kLine + kLine;
  if (size < bytes) {
    return nullptr;
  }
  Block* block = fitting(size);
  if (block == nullptr) {
    if (!add_piece(size)) {
      return nullptr;
    }
    block = fitting(size);
  }
  unlist(block);
  if (block->size - size >= 2 * kLine) {
    auto* rest = reinterpret_cast<Block*>(reinterpret_cast<char*>(block) + size);
    rest->size = block->size - size;
    rest->before = block;
    block->after()->before = rest;
    block->size = size;
    enlist(rest);
  }
  block->tag = kLargeTag;
  return block->memory();
}

void give_back(Block* block) {
  Block* after = block->after();
  if (after->free) {
    unlist(after);
    block->size += after->size;
  }
  if (block->before != nullptr && block->before->free) {
    Block* before = block->before;
    unlist(before);
    before->size += block->size;
    block = before;
  }
  block->after()->before = block;
  enlist(block);
}

// A thread's own small blocks need no lock.
struct OwnSmall {
  Free* small[kClasses];
  bool gone;
};
constinit thread_local OwnSmall own_small{};

// Hands a thread's blocks on when it ends.
struct HandOn {
  ~HandOn() {
    const std::lock_guard lock(the_arena.mutex);
    own_small.gone = true;
    for (std::size_t kind = 0; kind < kClasses; ++kind) {
      while (own_small.small[kind] != nullptr) {
        Free* block = own_small.small[kind];
        own_small.small[kind] = block->next;
        block->next = the_arena.small[kind];
        the_arena.small[kind] = block;
      }
    }
  }
};

void* first_of(Free*& list) {
  Free* block = list;
  if (block != nullptr) {
    list = block->next;
  }
  return block;
}

bool add_slabs(std::size_t size) {
  const std::size_t bytes = (size + kPiece - 1) / kPiece * kPiece;
  auto* piece = bytes < size ? nullptr : static_cast<char*>(std::aligned_alloc(kLine, bytes));
  if (piece == nullptr) {
    return false;
  }
  for (; the_arena.slab != the_arena.slab_end; the_arena.slab += kSlab) {
    auto* slab = reinterpret_cast<Free*>(the_arena.slab);
    slab->next = the_arena.slabs;
    the_arena.slabs = slab;
  }
  the_arena.taken += bytes;
  the_arena.taken_small += bytes;
  the_arena.slab = piece;
  the_arena.slab_end = piece + bytes;
  return true;
}

char* next_slab() {
  if (void* slab = first_of(the_arena.slabs)) {
    return static_cast<char*>(slab);
  }
  if (the_arena.slab == the_arena.slab_end && !add_slabs(kPiece)) {
    return nullptr;
  }
  char* slab = the_arena.slab;
  the_arena.slab += kSlab;
  return slab;
}

// More blocks of a class, one of which is returned.
void* more_small(std::size_t kind) {
  thread_local const HandOn hand_on;
  static_cast<void>(&hand_on);
  const std::lock_guard lock(the_arena.mutex);
  if (void* block = first_of(the_arena.small[kind])) {
    return block;
  }
  const std::size_t each = (kind + 1) * kSmallStep + kSmallHeader;
  char* slab = next_slab();
  if (slab == nullptr) {
    return nullptr;
  }
  Free*& list = own_small.gone ? the_arena.small[kind] : own_small.small[kind];
  for (std::size_t at = 0; at + each <= kSlab; at += each) {
    char* memory = slab + at + kSmallHeader;
    *reinterpret_cast<uint64_t*>(memory - sizeof(uint64_t)) = kind;
    auto* block = reinterpret_cast<Free*>(memory);
    block->next = list;
    list = block;
  }
  return first_of(list);
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// The sanitizer sees every block by itself.
void* arena_allocate_aligned(std::size_t bytes) noexcept {
  return std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine);
}
void* arena_allocate(std::size_t bytes) noexcept { return arena_allocate_aligned(bytes); }
void arena_free(void* memory) noexcept { std::free(memory); }
#else
void* arena_allocate(std::size_t bytes) noexcept {
  if (bytes > kSmall) {
    return arena_allocate_aligned(bytes);
  }
  const std::size_t kind = bytes == 0 ? 0 : (bytes - 1) / kSmallStep;
  void* block = first_of(own_small.small[kind]);
  return block != nullptr ? block : more_small(kind);
}

void* arena_allocate_aligned(std::size_t bytes) noexcept {
  const std::lock_guard lock(the_arena.mutex);
  return carve(bytes);
}

void arena_free(void* memory) noexcept {
  if (memory == nullptr) {
    return;
  }
  const uint64_t tag = *reinterpret_cast<const uint64_t*>(static_cast<char*>(memory) - sizeof(uint64_t));
  if (tag == kLargeTag) {
    const std::lock_guard lock(the_arena.mutex);
    give_back(static_cast<Block*>(memory) - 1);
    return;
  }
  auto* block = static_cast<Free*>(memory);
  if (own_small.gone) {
    const std::lock_guard lock(the_arena.mutex);
    block->next = the_arena.small[tag];
    the_arena.small[tag] = block;
    return;
  }
  block->next = own_small.small[tag];
  own_small.small[tag] = block;
}
#endif

bool arena_reserve(std::size_t bytes) noexcept {
  const std::lock_guard lock(the_arena.mutex);
  return add_piece(bytes);
}

bool arena_reserve_small(std::size_t bytes) noexcept {
  const std::lock_guard lock(the_arena.mutex);
  return add_slabs(bytes);
}

std::size_t arena_bytes() noexcept {
  const std::lock_guard lock(the_arena.mutex);
  return the_arena.taken;
}

std::size_t arena_small_bytes() noexcept {
  const std::lock_guard lock(the_arena.mutex);
  return the_arena.taken_small;
}

}  // namespace torch2cpp::slim
