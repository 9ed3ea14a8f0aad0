// Calls recorded from Python: run again and compared, or run and written down.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "program.h"

namespace torch2cpp::runner {

// One line of cases.txt: ENTRY INPUT-FILE OUTPUT-FILE-OR-ERROR-FILE exact|close fresh|next
struct Case {
  std::string entry, input, output;
  // Bit for bit, or within tolerance.
  bool exact = false;
  // On an instance as new, or on the one that the case before left.
  bool fresh = false;
};

// Calls `each` for every case of the folder in order, on the instance it asks for; gives how many there are.
// Nothing for a program that draws random numbers, of which none are recorded. UsageError for no such folder.
std::optional<std::size_t> for_each_case(const Program& program, const std::filesystem::path& folder,
                                         const std::function<void(const Case&)>& each);

// Runs one case; empty where it did what Python did, else what is different.
std::string run_case(const Program& program, const std::filesystem::path& folder, const Case& each);

// Compares all cases and prints what came out; the exit code. The program is loaded.
int run_golden(const Program& program, const std::filesystem::path& folder);

// Runs all cases and writes into `out`, by the input's name: NAME.out.safetensors or NAME.error.txt, and the inputs
// as they are afterwards, NAME.after.safetensors. The exit code. The program is loaded.
int record_golden(const Program& program, const std::filesystem::path& folder, const std::filesystem::path& out);

// The named tensors of a file, below `name`. UsageError for one that has no name.
void add_file(const std::string& name, const std::string& path, Flat& flat);

// "float32 [2, 3]"
std::string printed(const Tensor& tensor);

// Compares two results; empty when they agree, else a sentence. With `exact`, bit for bit (NaNs are equal).
std::string difference(const Flat& want, const Flat& got, bool exact);

}  // namespace torch2cpp::runner
