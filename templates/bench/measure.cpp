// Runs a program and writes how long it ran, in seconds, and its peak memory, in bytes, into a file.
//   measure FILE PROGRAM [ARGUMENT]...
// The kernel counts the memory that a process has before `exec` too: whoever starts the program has to be small.
#include <chrono>
#include <cstdio>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char** environ;

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: measure FILE PROGRAM [ARGUMENT]...\n", stderr);
    return 2;
  }
  const auto began = std::chrono::steady_clock::now();
  pid_t child = 0;
  if (posix_spawn(&child, argv[2], nullptr, nullptr, argv + 2, environ) != 0) {
    std::perror(argv[2]);
    return 2;
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::FILE* out = std::fopen(argv[1], "w");
  if (out == nullptr) {
    std::perror(argv[1]);
    return 2;
  }
  std::fprintf(out, "%.6f %ld\n", seconds, usage.ru_maxrss * 1024);
  std::fclose(out);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
