// The command line of an emitted program.
#pragma once

#include <stdexcept>

#include "program.h"

namespace torch2cpp::runner {

// A wrong command line, or a file that is not there.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs the program as the arguments say; gives the exit code: 0 done, 1 a golden case differs or the model raised,
// 2 a wrong command line or input.
int run(const Program& program, int argc, char** argv);

// So many threads for tensor operations, by starting the program anew; nothing for 0.
void use_threads(int threads, char** argv);

}  // namespace torch2cpp::runner
