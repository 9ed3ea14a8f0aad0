// The arena hands out memory that nobody else has, and asks the C library no more once it has seen the most.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/arena.h>
#include <torch2cpp/slim/kernels.h>
#include <torch2cpp/slim/reserved.h>

namespace slim = torch2cpp::slim;

// Products are not part of this test.
void torch2cpp::slim::prepare_thread() {}

namespace {

int failures = 0;

void check(bool holds, const char* what) {
  if (!holds) {
    std::printf("failed: %s\n", what);
    ++failures;
  }
}

struct Held {
  unsigned char* memory;
  std::size_t size;
  unsigned char mark;
};

bool intact(const Held& held) {
  for (std::size_t i = 0; i < held.size; ++i) {
    if (held.memory[i] != held.mark) {
      return false;
    }
  }
  return true;
}

// Takes and gives back blocks of all sizes in any order; each keeps what was written into it.
bool churn(unsigned seed, int steps, std::size_t most) {
  std::mt19937 random(seed);
  std::vector<Held> all;
  bool right = true;
  for (int i = 0; i < steps; ++i) {
    if (all.size() < 60 && random() % 2 == 0) {
      const std::size_t size = random() % 3 == 0 ? random() % most : random() % 1500;
      const bool aligned = random() % 2 == 0;
      auto* memory =
          static_cast<unsigned char*>(aligned ? slim::arena_allocate_aligned(size) : slim::arena_allocate(size));
      right = right && memory != nullptr && reinterpret_cast<uintptr_t>(memory) % (aligned ? 64 : 16) == 0;
      const auto mark = static_cast<unsigned char>(random());
      std::memset(memory, mark, size);
      all.push_back({memory, size, mark});
    } else if (!all.empty()) {
      const std::size_t which = random() % all.size();
      right = right && intact(all[which]);
      slim::arena_free(all[which].memory);
      all[which] = all.back();
      all.pop_back();
    }
  }
  for (const Held& held : all) {
    right = right && intact(held);
    slim::arena_free(held.memory);
  }
  return right;
}

void test_blocks_keep_apart() {
  check(churn(1, 20000, 100000), "blocks of one thread keep apart");
  bool right[4] = {};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([i, &right] { right[i] = churn(i + 2, 10000, 5000); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  check(right[0] && right[1] && right[2] && right[3], "blocks of several threads keep apart");
}

void test_memory_is_used_again() {
  // Where pieces begin to be parted otherwise, the first runs may take one more.
  for (int i = 0; i < 3; ++i) {
    check(churn(7, 20000, 100000), "first runs");
  }
  const std::size_t before = slim::arena_bytes();
  for (int i = 0; i < 5; ++i) {
    check(churn(7, 20000, 100000), "later run");
  }
  check(slim::arena_bytes() == before, "the same again takes nothing from the C library");
  check(churn(7, 20000, 50000), "smaller run");
  check(slim::arena_bytes() == before, "less of the same takes nothing either");
}

void test_freed_elsewhere() {
  void* memory = nullptr;
  std::thread([&memory] { memory = slim::arena_allocate(100); }).join();
  std::memset(memory, 1, 100);
  slim::arena_free(memory);
  slim::arena_free(nullptr);
  check(slim::arena_allocate(0) != nullptr, "a block without bytes");
}

void test_reserve() {
  const std::size_t before = slim::arena_bytes();
  check(slim::arena_reserve(std::size_t{10} << 20U), "reserve");
  const std::size_t after = slim::arena_bytes();
  check(after >= before + (std::size_t{10} << 20U), "what is reserved is there");
  void* memory = slim::arena_allocate(std::size_t{10} << 20U);
  check(memory != nullptr && slim::arena_bytes() == after, "and is what is handed out");
  slim::arena_free(memory);
  check(slim::arena_allocate(~std::size_t{0} - 100) == nullptr, "too much is refused");
  check(!slim::arena_reserve(~std::size_t{0} - 100), "and cannot be reserved");
}

void test_reserve_small() {
  check(slim::arena_reserve_small(std::size_t{1} << 20U), "reserve for small blocks");
  const std::size_t after = slim::arena_bytes();
  std::vector<void*> all;
  for (int i = 0; i < 900; ++i) {
    all.push_back(slim::arena_allocate(1000));
  }
  check(slim::arena_bytes() == after, "small blocks come from there");
  for (void* memory : all) {
    slim::arena_free(memory);
  }
  // What was left of the piece before is not lost.
  check(slim::arena_reserve_small(std::size_t{1} << 20U), "reserve again");
  const std::size_t small = slim::arena_small_bytes();
  for (int i = 0; i < 1900; ++i) {
    all[static_cast<std::size_t>(i) % all.size()] = slim::arena_allocate(1000);
  }
  check(slim::arena_small_bytes() == small, "both pieces serve");
}

void test_reserved() {
  const std::size_t megabyte = std::size_t{1} << 20U;
  const std::size_t before = slim::arena_bytes();
  {
    const slim::Reserved first(4 * megabyte, megabyte);
  }
  const std::size_t after = slim::arena_bytes();
  check(after >= before + 5 * megabyte, "an instance has its memory");
  {
    const slim::Reserved second(4 * megabyte, megabyte);
  }
  check(slim::arena_bytes() == after, "the next one has that of the one before");
  const slim::Reserved third(3 * megabyte, 0), fourth(3 * megabyte, 0);
  check(slim::arena_bytes() >= after + 2 * megabyte && slim::arena_bytes() < after + 3 * megabyte,
        "two at once have as much as both want");
  bool refused = false;
  try {
    const slim::Reserved all(~std::size_t{0} / 2, 0);
  } catch (const torch2cpp::PyError& error) {
    refused = error.type_name() == "MemoryError";
  }
  check(refused, "more than there is is a MemoryError");
}

}  // namespace

int main() {
  test_blocks_keep_apart();
  test_memory_is_used_again();
  test_freed_elsewhere();
  test_reserve();
  test_reserve_small();
  test_reserved();
  return failures == 0 ? 0 : 1;
}
