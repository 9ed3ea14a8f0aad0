#include <mutex>
#include <string>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/arena.h>
#include <torch2cpp/slim/kernels.h>
#include <torch2cpp/slim/reserved.h>

namespace torch2cpp::slim {
namespace {

// What those that live want together, and the most that they wanted so far.
struct Wanted {
  std::size_t now, most;

  // How much is missing.
  std::size_t add(std::size_t bytes) {
    now += bytes;
    const std::size_t missing = now > most ? now - most : 0;
    most += missing;
    return missing;
  }
};
constinit std::mutex wanted_mutex;
constinit Wanted wanted_large{}, wanted_small{};

// Takes what is missing; where that fails nothing is wanted any more.
bool take(Wanted& wanted, std::size_t bytes, bool (*reserve)(std::size_t) noexcept) {
  const std::size_t missing = wanted.add(bytes);
  if (missing == 0 || reserve(missing)) {
    return true;
  }
  wanted.now -= bytes;
  wanted.most -= missing;
  return false;
}

}  // namespace

Reserved::Reserved(std::size_t large, std::size_t small) : large_(large), small_(small) {
  const std::lock_guard lock(wanted_mutex);
  if (!take(wanted_large, large, arena_reserve)) {
    raise_error("MemoryError", "no memory left for the " + std::to_string(large) + " bytes that calls may need");
  }
  if (!take(wanted_small, small, arena_reserve_small)) {
    wanted_large.now -= large;
    raise_error("MemoryError", "no memory left for the " + std::to_string(small) + " bytes that calls may need");
  }
#ifdef _OPENMP
#pragma omp parallel
#endif
  {
    arena_free(arena_allocate(1));
    prepare_thread();
  }
}

Reserved::~Reserved() {
  const std::lock_guard lock(wanted_mutex);
  wanted_large.now -= large_;
  wanted_small.now -= small_;
}

}  // namespace torch2cpp::slim
