// Runs a TorchScript file once: what a C++ program over libtorch does from its start to its first answer.
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include <torch/script.h>
#include <torch/serialize.h>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: script_main MODULE.pt ARGUMENTS.pt ENTRY\n";
    return 2;
  }
  try {
    const c10::InferenceMode inference;
    torch::jit::Module module = torch::jit::load(argv[1]);
    std::ifstream file(argv[2], std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::vector<c10::IValue> arguments = torch::pickle_load(bytes).toTuple()->elements().vec();
    module.get_method(argv[3])(arguments);
    std::cout << "done\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
