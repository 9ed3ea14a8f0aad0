#include <algorithm>
#include <map>
#include <mutex>

#include <torch2cpp/profile.h>

namespace torch2cpp {
namespace {

std::mutex mutex;
std::map<std::string, RegionTime> measured;

}  // namespace

namespace detail {

std::atomic<bool> profiling{false};

void record_time(const char* region, std::chrono::steady_clock::duration time) {
  const std::lock_guard<std::mutex> lock(mutex);
  RegionTime& entry = measured[region];
  entry.region = region;
  entry.calls += 1;
  entry.seconds += std::chrono::duration<double>(time).count();
}

}  // namespace detail

void set_profiling(bool on) {
  const std::lock_guard<std::mutex> lock(mutex);
  measured.clear();
  detail::profiling = on;
}

std::vector<RegionTime> region_times() {
  const std::lock_guard<std::mutex> lock(mutex);
  std::vector<RegionTime> out;
  for (const auto& [name, time] : measured) {
    out.push_back(time);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const RegionTime& a, const RegionTime& b) { return a.seconds > b.seconds; });
  return out;
}

}  // namespace torch2cpp
