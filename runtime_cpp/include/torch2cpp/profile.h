// Time spent in each region and, in programs made with `--profile`, in each branch and iteration.
// Costs one comparison a region while it is off.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <torch2cpp/export.h>

namespace torch2cpp {

enum class Profiling { kOff, kTimes, kEvents };
enum class Probe { kRegion, kBranch };

struct ProbeTime {
  std::string name;
  int64_t calls = 0;
  double seconds = 0.0;
};

// Switches profiling and forgets what was measured. With kEvents, each single run is kept for `write_trace`.
TORCH2CPP_API void set_profiling(Profiling how);
// What was measured since, slowest first. A branch's time holds that of the regions it calls.
TORCH2CPP_API std::vector<ProbeTime> probe_times(Probe probe);
// Writes the single runs as a Chrome trace, which Perfetto and chrome://tracing open. Throws std::runtime_error
// where the file cannot be written.
TORCH2CPP_API void write_trace(const std::string& path);

namespace detail {
extern std::atomic<Profiling> profiling;
void record_time(Probe probe, const char* name, std::chrono::steady_clock::time_point start);
}  // namespace detail

// Measures from its making to its end. `name` must stay: literals do.
class Timed {
 public:
  Timed(Probe probe, const char* name)
      : probe_(probe), name_(detail::profiling.load(std::memory_order_relaxed) != Profiling::kOff ? name : nullptr) {
    if (name_ != nullptr) {
      start_ = std::chrono::steady_clock::now();
    }
  }
  ~Timed() {
    if (name_ != nullptr) {
      detail::record_time(probe_, name_, start_);
    }
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Probe probe_;
  const char* name_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace torch2cpp
