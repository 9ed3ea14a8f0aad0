// The command line of an emitted program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "flat.h"

namespace torch2cpp::runner {

// One entry, called with named values; its results are named "out", "out.0", ...
struct Entry {
  std::string name;
  // "x: float32 [?, 3]", one line per parameter.
  std::vector<std::string> parameters;
  std::function<Flat(const Flat& inputs)> call;
};

// The model behind the entries.
struct Program {
  std::string name;
  // Loads the model; empty for the weights built in.
  std::function<void(const std::string& weights)> load;
  std::function<void()> reset;
  std::vector<Entry> entries;
};

// Runs the program as the arguments say; gives the exit code: 0 done, 1 a golden case differs or the model raised,
// 2 a wrong command line or input.
int run(const Program& program, int argc, char** argv);

// Compares two results; empty when they agree, else a sentence. With `exact`, bit for bit (NaNs are equal).
std::string difference(const Flat& want, const Flat& got, bool exact);

}  // namespace torch2cpp::runner
