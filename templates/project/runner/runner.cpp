#include "runner.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__aarch64__) && defined(__linux__)
#include <link.h>
#include <sys/auxv.h>
#endif

#include <torch2cpp/profile.h>

#include "golden.h"

namespace torch2cpp::runner {
namespace {

struct Arguments {
  std::string entry, weights, output, golden, record, input_folder, output_folder, trace;
  std::vector<std::string> inputs, scalars;
  int repeat = 1, threads = 0;
  bool profile = false, memory = false, help = false;
};

Arguments parse_arguments(int argc, char** argv) {
  Arguments out;
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = [&] {
      if (i + 1 >= words.size()) {
        throw UsageError(words[i] + " needs a value");
      }
      return words[++i];
    };
    const std::string word = words[i];
    if (word == "--entry") {
      out.entry = value();
    } else if (word == "--weights") {
      out.weights = value();
    } else if (word == "--input") {
      out.inputs.push_back(value());
    } else if (word == "--arg") {
      out.scalars.push_back(value());
    } else if (word == "--output") {
      out.output = value();
    } else if (word == "--inputs") {
      out.input_folder = value();
    } else if (word == "--outputs") {
      out.output_folder = value();
    } else if (word == "--golden") {
      out.golden = value();
    } else if (word == "--record") {
      out.record = value();
    } else if (word == "--repeat") {
      out.repeat = std::max(1, std::stoi(value()));
    } else if (word == "--threads") {
      out.threads = std::stoi(value());
    } else if (word == "--profile") {
      out.profile = true;
    } else if (word == "--memory") {
      out.memory = true;
    } else if (word == "--trace") {
      out.trace = value();
    } else if (word == "--help" || word == "-h") {
      out.help = true;
    } else {
      throw UsageError("unknown option " + word);
    }
  }
  return out;
}

void print_help(const Program& program) {
  std::cout << "usage: " << program.name
            << "_run [--entry NAME] [--input FILE | --input NAME=FILE]... [--arg NAME=VALUE]... [--output FILE]\n"
               "\n"
               "  --input FILE        named tensors from an .npz or .safetensors file\n"
               "  --input NAME=FILE   one input from an .npy file; parts of nested inputs are x.0, x.key\n"
               "  --arg NAME=VALUE    a scalar or a string\n"
               "  --output FILE       writes the results to an .npy, .npz or .safetensors file\n"
               "  --inputs FOLDER     one call for each .npz or .safetensors file of the folder, in order of names\n"
               "  --outputs FOLDER    writes each call's results to a file of the same name\n"
               "  --entry NAME        the method to call\n"
               "  --weights FILE      other weights of the same names and shapes\n"
               "  --repeat N          calls N times and prints the times\n"
               "  --threads N         threads of tensor operations\n"
               "  --profile           prints the time spent in each region, and in each branch of a program made with "
               "--profile\n"
               "  --memory            prints the memory taken before the first call and in all, and the most of the "
               "process\n"
               "  --trace FILE        writes each single run of them, for Perfetto or chrome://tracing\n"
               "  --golden FOLDER     runs the recorded cases and compares\n"
               "  --record FOLDER     with --golden: writes what comes of the cases instead\n";
  for (const Entry& entry : program.entries) {
    std::cout << "\n" << entry.name << "\n";
    for (const std::string& parameter : entry.parameters) {
      std::cout << "  " << parameter << "\n";
    }
  }
}

// Splits NAME=FILE; a file of named tensors has no name.
std::pair<std::string, std::string> split_name(const std::string& text) {
  const auto at = text.find('=');
  return at == std::string::npos ? std::pair{std::string(), text} : std::pair{text.substr(0, at), text.substr(at + 1)};
}

Flat read_inputs(const Arguments& arguments) {
  Flat flat;
  for (const std::string& input : arguments.inputs) {
    const auto [name, path] = split_name(input);
    add_file(name, path, flat);
  }
  for (const std::string& scalar : arguments.scalars) {
    const auto [name, value] = split_name(scalar);
    if (name.empty()) {
      throw UsageError("--arg " + scalar + ": write NAME=VALUE");
    }
    flat.texts.insert_or_assign(name, value);
  }
  return flat;
}

const Entry& find_entry(const Program& program, const std::string& name) {
  if (name.empty()) {
    return program.entries.front();
  }
  for (const Entry& entry : program.entries) {
    if (entry.name == name) {
      return entry;
    }
  }
  throw UsageError("there is no entry " + name);
}

void write_outputs(const std::string& path, const Flat& results) {
  NamedTensors named(results.tensors.begin(), results.tensors.end());
  if (std::filesystem::path(path).extension() == ".npy" && named.size() == 1) {
    named.front().first.clear();
  }
  write_tensors(path, named);
}

void print_times(std::vector<double> times) {
  std::cout << std::fixed << std::setprecision(1) << "time: first " << times.front() << " us";
  if (times.size() > 1) {
    std::sort(times.begin(), times.end());
    std::cout << ", median of " << times.size() << " " << times[times.size() / 2] << " us, least " << times.front()
              << " us";
  }
  std::cout << "\n";
}

Profiling profiling_of(const Arguments& arguments) {
  return !arguments.trace.empty() ? Profiling::kEvents : arguments.profile ? Profiling::kTimes : Profiling::kOff;
}

void print_probes(const char* title, Probe probe) {
  const std::vector<ProbeTime> all = probe_times(probe);
  if (!all.empty()) {
    std::cout << title << "\n";
  }
  for (const ProbeTime& each : all) {
    std::cout << "  " << std::setw(10) << each.seconds * 1e6 / static_cast<double>(each.calls) << " us x "
              << std::setw(6) << each.calls << "  " << each.name << "\n";
  }
}

void report_times(const Arguments& arguments) {
  if (arguments.profile) {
    print_probes("regions", Probe::kRegion);
    print_probes("branches and iterations, with the regions inside", Probe::kBranch);
  }
  if (!arguments.trace.empty()) {
    write_trace(arguments.trace);
  }
}

std::string taken_text(const Program& program) {
  const Taken taken = program.taken();
  return std::to_string(taken.large) + " + " + std::to_string(taken.small) + " bytes";
}

// Says what loading the model took of memory as soon as it is done, and the rest at the end.
class MemoryReport {
 public:
  MemoryReport(const Program& program, bool wanted) : program_(program), wanted_(wanted) {
    if (wanted_ && program_.taken) {
      std::cout << "memory: " << taken_text(program_) << " before the first call" << std::endl;
    }
  }
  ~MemoryReport() {
    if (wanted_ && program_.taken) {
      std::cout << "memory: " << taken_text(program_) << " after the last call\n";
    }
    rusage used{};
    if (wanted_ && getrusage(RUSAGE_SELF, &used) == 0) {
      std::cout << "memory: " << used.ru_maxrss << " kB at most in all\n";
    }
  }
  MemoryReport(const MemoryReport&) = delete;
  MemoryReport& operator=(const MemoryReport&) = delete;

 private:
  const Program& program_;
  bool wanted_;
};

// Calls the entry; the time it took, in microseconds, is added to `times`.
Flat timed_call(const Program& program, const Entry& entry, const Flat& inputs, std::vector<double>& times) {
  const auto start = std::chrono::steady_clock::now();
  Flat results = call(program, entry.name, inputs);
  times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  return results;
}

// Successive calls on one instance, so a model with state goes on where the file before left it.
int run_folder(const Program& program, const Arguments& arguments) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(arguments.input_folder)) {
    if (file.path().extension() == ".npz" || file.path().extension() == ".safetensors") {
      files.push_back(file.path());
    }
  }
  if (files.empty()) {
    throw UsageError("no .npz or .safetensors file in " + arguments.input_folder);
  }
  std::sort(files.begin(), files.end());
  if (!arguments.output_folder.empty()) {
    std::filesystem::create_directories(arguments.output_folder);
  }
  program.load(arguments.weights);
  const MemoryReport memory(program, arguments.memory);
  const Entry& entry = find_entry(program, arguments.entry);
  std::vector<double> times;
  set_profiling(profiling_of(arguments));
  for (const std::filesystem::path& file : files) {
    Flat inputs = read_inputs(arguments);
    add_file("", file.string(), inputs);
    const Flat results = timed_call(program, entry, inputs, times);
    if (!arguments.output_folder.empty()) {
      write_outputs((std::filesystem::path(arguments.output_folder) / file.filename()).string(), results);
    }
  }
  print_times(times);
  report_times(arguments);
  return 0;
}

int run_once(const Program& program, const Arguments& arguments) {
  program.load(arguments.weights);
  const MemoryReport memory(program, arguments.memory);
  const Entry& entry = find_entry(program, arguments.entry);
  const Flat inputs = read_inputs(arguments);
  set_profiling(profiling_of(arguments));
  Flat results;
  std::vector<double> times;
  for (int i = 0; i < arguments.repeat; ++i) {
    results = timed_call(program, entry, inputs, times);
  }
  for (const auto& [name, tensor] : results.tensors) {
    std::cout << name << ": " << printed(tensor) << "\n";
  }
  if (!arguments.output.empty()) {
    write_outputs(arguments.output, results);
  }
  print_times(times);
  report_times(arguments);
  return 0;
}

// libtorch with NVIDIA's BLAS takes ARMv8.1's atomics for granted as soon as several threads compute. Processors
// without them (Cortex-A53, A57, A72) would end the program with an illegal instruction.
bool only_one_thread() {
#if defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kAtomics = 1UL << 8;  // HWCAP_ATOMICS, which <sys/auxv.h> does not have everywhere
  if ((getauxval(AT_HWCAP) & kAtomics) != 0) {
    return false;
  }
  const auto is_nvidias = [](dl_phdr_info* loaded, std::size_t, void*) {
    return std::string_view(loaded->dlpi_name).find("libnvpl_blas_core") != std::string_view::npos ? 1 : 0;
  };
  return dl_iterate_phdr(is_nvidias, nullptr) != 0;
#else
  return false;
#endif
}

}  // namespace

void use_threads(int threads, char** argv) {
  if (std::getenv("TORCH2CPP_THREADS_SET") != nullptr) {
    return;
  }
  const char* given = std::getenv("OMP_NUM_THREADS");
  const bool one = threads == 1 || (threads == 0 && given != nullptr && std::string_view(given) == "1");
  if (!one && only_one_thread()) {
    std::cerr << "one thread only: this libtorch's BLAS (NVPL) needs ARMv8.1's atomics for more, which this processor "
                 "does not have; a libtorch built for CPUs only does without\n";
    threads = 1;
  }
  // The thread pool reads this when it is first used.
  if (threads > 0) {
    const std::string count = std::to_string(threads);
    setenv("OMP_NUM_THREADS", count.c_str(), 1);
    setenv("MKL_NUM_THREADS", count.c_str(), 1);
    setenv("TORCH2CPP_THREADS_SET", "1", 1);
    execv("/proc/self/exe", argv);
  }
}

int run(const Program& program, int argc, char** argv) {
  try {
    const Arguments arguments = parse_arguments(argc, argv);
    if (arguments.help) {
      print_help(program);
      return 0;
    }
    use_threads(arguments.threads, argv);
    if (!arguments.golden.empty()) {
      program.load(arguments.weights);
      const MemoryReport memory(program, arguments.memory);
      return arguments.record.empty() ? run_golden(program, arguments.golden)
                                      : record_golden(program, arguments.golden, arguments.record);
    }
    return arguments.input_folder.empty() ? run_once(program, arguments) : run_folder(program, arguments);
  } catch (const PyError& error) {
    std::cerr << "the model raised " << error.what() << "\n";
    return 1;
  } catch (const UsageError& error) {
    std::cerr << error.what() << "; see --help\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}

}  // namespace torch2cpp::runner
