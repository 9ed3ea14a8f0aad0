// The command line of an emitted program.
#pragma once

#include "program.h"

namespace torch2cpp::runner {

// Runs the program as the arguments say; gives the exit code: 0 done, 1 a golden case differs or the model raised,
// 2 a wrong command line or input.
int run(const Program& program, int argc, char** argv);

// Compares two results; empty when they agree, else a sentence. With `exact`, bit for bit (NaNs are equal).
std::string difference(const Flat& want, const Flat& got, bool exact);

}  // namespace torch2cpp::runner
