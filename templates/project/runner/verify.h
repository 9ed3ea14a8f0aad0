// The self-test of a bundle: the recorded cases run again on the machine it was copied to.
#pragma once

#include <string>

#include "program.h"

namespace torch2cpp::runner {

// What the program was made with.
struct About {
  std::string torch2cpp, torch, target;
};

// Runs the cases of golden/ with weights.safetensors, both beside the program, and prints what came out, versions,
// times and memory. The exit code: 0 all as recorded, 1 some are not, 2 the bundle is not whole.
int verify(const Program& program, const About& about, int argc, char** argv);

}  // namespace torch2cpp::runner
