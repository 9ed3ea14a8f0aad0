// Time spent in each region, for `--profile`; costs one comparison while it is off.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <torch2cpp/export.h>

namespace torch2cpp {

struct RegionTime {
  std::string region;
  int64_t calls = 0;
  double seconds = 0.0;
};

// Switches profiling on or off and forgets what was measured.
TORCH2CPP_API void set_profiling(bool on);
// What was measured since, slowest region first.
TORCH2CPP_API std::vector<RegionTime> region_times();

namespace detail {
extern std::atomic<bool> profiling;
void record_time(const char* region, std::chrono::steady_clock::duration time);
}  // namespace detail

// Measures from its making to its end.
class Timed {
 public:
  explicit Timed(const char* region) : region_(detail::profiling.load(std::memory_order_relaxed) ? region : nullptr) {
    if (region_ != nullptr) {
      start_ = std::chrono::steady_clock::now();
    }
  }
  ~Timed() {
    if (region_ != nullptr) {
      detail::record_time(region_, std::chrono::steady_clock::now() - start_);
    }
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  const char* region_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace torch2cpp
