#include <algorithm>
#include <fstream>
#include <iomanip>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <torch2cpp/profile.h>

#include "json_text.h"

namespace torch2cpp {
namespace {

using Clock = std::chrono::steady_clock;

struct Event {
  Probe probe;
  const char* name;
  int thread;
  Clock::time_point start;
  Clock::duration time;
};

std::mutex mutex;
std::map<std::pair<Probe, std::string>, ProbeTime> measured;
std::vector<Event> events;
Clock::time_point began;

// Threads by the order in which they first measured something.
int thread_number() {
  static std::atomic<int> threads{0};
  thread_local const int number = ++threads;
  return number;
}

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

}  // namespace

namespace detail {

std::atomic<Profiling> profiling{Profiling::kOff};

void record_time(Probe probe, const char* name, Clock::time_point start) {
  const Clock::duration time = Clock::now() - start;
  const int thread = thread_number();
  const std::lock_guard<std::mutex> lock(mutex);
  ProbeTime& entry = measured[{probe, name}];
  entry.name = name;
  entry.calls += 1;
  entry.seconds += std::chrono::duration<double>(time).count();
  if (profiling.load(std::memory_order_relaxed) == Profiling::kEvents) {
    events.push_back({probe, name, thread, start, time});
  }
}

}  // namespace detail

void set_profiling(Profiling how) {
  const std::lock_guard<std::mutex> lock(mutex);
  measured.clear();
  events.clear();
  began = Clock::now();
  detail::profiling = how;
}

std::vector<ProbeTime> probe_times(Probe probe) {
  const std::lock_guard<std::mutex> lock(mutex);
  std::vector<ProbeTime> out;
  for (const auto& [key, time] : measured) {
    if (key.first == probe) {
      out.push_back(time);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ProbeTime& a, const ProbeTime& b) { return a.seconds > b.seconds; });
  return out;
}

// The format: "Trace Event Format" of the Chromium project, complete events ("ph": "X"), times in microseconds.
void write_trace(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex);
  std::ofstream out(path, std::ios::trunc);
  out << std::fixed << std::setprecision(3) << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* separator = "\n";
  for (const Event& event : events) {
    out << separator << "{\"ph\":\"X\",\"pid\":1,\"tid\":" << event.thread << ",\"cat\":\""
        << (event.probe == Probe::kRegion ? "region" : "branch") << "\",\"name\":" << json_string(event.name)
        << ",\"ts\":" << microseconds(event.start - began) << ",\"dur\":" << microseconds(event.time) << "}";
    separator = ",\n";
  }
  out << "\n]}\n";
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write " + path);
  }
}

}  // namespace torch2cpp
