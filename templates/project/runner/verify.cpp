#include "verify.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string_view>
#include <sys/resource.h>
#include <sys/utsname.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "golden.h"
#include "runner.h"

namespace torch2cpp::runner {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

void print_about(const Program& program, const About& about) {
  std::cout << program.name << " for " << about.target << ", made by torch2cpp " << about.torch2cpp << " with PyTorch "
            << about.torch << "\n";
  utsname machine{};
  if (uname(&machine) == 0) {
    std::cout << machine.sysname << " " << machine.release << " on " << machine.machine;
  }
#ifdef __GLIBC__
  std::cout << ", glibc " << gnu_get_libc_version();
#endif
  std::cout << ", compiled by " << __VERSION__ << "\n";
}

int run_cases(const Program& program, const std::filesystem::path& folder) {
  std::size_t failed = 0;
  double first = 0.0, rest = 0.0;
  const auto count = for_each_case(program, folder, [&, ran = std::size_t{0}](const Case& each) mutable {
    const auto start = Clock::now();
    const std::string found = run_case(program, folder, each);
    const double time = milliseconds(start);
    (ran++ == 0 ? first : rest) += time;
    failed += found.empty() ? 0 : 1;
    std::cout << each.input << ": " << (found.empty() ? "same as Python" : found) << ", " << time << " ms\n";
  });
  if (!count) {
    std::cout << "the program draws random numbers: nothing is recorded\n";
    return 0;
  }
  std::cout << *count - failed << " of " << *count << " as recorded; the first took " << first << " ms";
  if (*count > 1) {
    std::cout << ", the others " << rest / static_cast<double>(*count - 1) << " ms on average";
  }
  std::cout << "\n";
  return failed == 0 && *count > 0 ? 0 : 1;
}

}  // namespace

int verify(const Program& program, const About& about, int argc, char** argv) {
  try {
    int threads = 0;
    for (int i = 1; i < argc; ++i) {
      threads = std::string_view(argv[i]) == "--threads" && i + 1 < argc ? std::atoi(argv[++i]) : 0;
      if (threads < 1) {
        throw UsageError("usage: verify [--threads N]");
      }
    }
    use_threads(threads, argv);
    std::cout << std::fixed << std::setprecision(2);
    print_about(program, about);
    const std::filesystem::path folder = std::filesystem::canonical("/proc/self/exe").parent_path();
    const auto start = Clock::now();
    program.load((folder / "weights.safetensors").string());
    std::cout << "weights loaded in " << milliseconds(start) << " ms\n";
    const int code = run_cases(program, folder / "golden");
    rusage used{};
    if (getrusage(RUSAGE_SELF, &used) == 0) {
      std::cout << "memory: " << static_cast<double>(used.ru_maxrss) / 1024.0 << " MB at most\n";
    }
    std::cout << (code == 0 ? "pass" : "FAIL") << "\n";
    return code;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\nFAIL\n";
    return 2;
  }
}

}  // namespace torch2cpp::runner
