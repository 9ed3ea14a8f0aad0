#include "golden.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>

#include <torch2cpp/tensor_ops.h>

#include "runner.h"

namespace torch2cpp::runner {
namespace {

bool close(double want, double got) { return want == got || std::fabs(want - got) <= 1e-5 + 1e-4 * std::fabs(want); }

std::string tensor_difference(const Tensor& want, const Tensor& got, bool exact) {
  if (want.scalar_type() != got.scalar_type() || !std::ranges::equal(sizes(want), sizes(got))) {
    return printed(got) + " instead of " + printed(want);
  }
  if (element_bytes(want) == element_bytes(got)) {
    return "";
  }
  const ScalarType dtype = want.scalar_type();
  if (dtype != ScalarType::Float && dtype != ScalarType::Double && dtype != ScalarType::Half &&
      dtype != ScalarType::BFloat16) {
    return "other values";
  }
  const auto flat_want = to_list<List<double>>(view(contiguous(want), {-1}));
  const auto flat_got = to_list<List<double>>(view(contiguous(got), {-1}));
  double largest = 0.0;
  bool same = true;
  for (int64_t i = 0; i < flat_want.size(); ++i) {
    const double a = flat_want.get(i), b = flat_got.get(i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) {
      continue;
    }
    largest = std::isnan(a) || std::isnan(b) ? INFINITY : std::max(largest, std::fabs(a - b));
    same = same && !exact && close(a, b);
  }
  return same ? "" : "values differ by up to " + std::to_string(largest);
}

// What Python said when it raised.
std::string said(const PyError& error) { return error.type_name() + ": " + error.message(); }

// Whether Python said it, too. What library code names of run-time values is "..." here.
bool same_text(std::string_view python, std::string_view own) {
  constexpr std::string_view kAnything = "...";
  bool first = true;
  for (std::size_t end; (end = own.find(kAnything)) != own.npos; first = false) {
    const std::string_view part = own.substr(0, end);
    const std::size_t at = python.find(part);
    if (at == python.npos || (first && at != 0)) {
      return false;
    }
    python.remove_prefix(at + part.size());
    own.remove_prefix(end + kAnything.size());
  }
  return first ? python == own : python.ends_with(own);
}

}  // namespace

void add_file(const std::string& name, const std::string& path, Flat& flat) {
  for (const auto& [own, tensor] : read_tensors(path)) {
    const std::string full = name.empty() ? own : own.empty() ? name : name + "." + own;
    if (full.empty()) {
      throw UsageError("which input is " + path + "? Write --input NAME=" + path);
    }
    flat.tensors.insert_or_assign(full, tensor);
  }
}

std::string printed(const Tensor& tensor) {
  std::ostringstream out;
  out << dtype_name(tensor.scalar_type()) << " " << shape_text(sizes(tensor));
  return out.str();
}

std::optional<std::size_t> for_each_case(const Program& program, const std::filesystem::path& folder,
                                         const std::function<void(const Case&)>& each) {
  std::ifstream cases(folder / "cases.txt");
  if (!cases) {
    throw UsageError("cannot read " + (folder / "cases.txt").string());
  }
  std::size_t count = 0;
  std::string entry, input, output, mode, state;
  while (cases >> entry >> input >> output >> mode >> state) {
    if (entry == "random") {
      return std::nullopt;
    }
    const Case one{entry, input, output, mode == "exact", state == "fresh"};
    if (one.fresh) {
      program.reset();
    }
    each(one);
    ++count;
  }
  return count;
}

std::string run_case(const Program& program, const std::filesystem::path& folder, const Case& each) {
  Flat inputs;
  add_file("", (folder / each.input).string(), inputs);
  try {
    const Flat got = call(program, each.entry, inputs);
    if (each.output.ends_with(".error.txt")) {
      return "a result where Python raised " + read_file((folder / each.output).string());
    }
    Flat want;
    add_file("", (folder / each.output).string(), want);
    return difference(want, got, each.exact);
  } catch (const PyError& error) {
    const bool raises = each.output.ends_with(".error.txt");
    return raises && same_text(read_file((folder / each.output).string()), said(error)) ? "" : said(error);
  }
}

int run_golden(const Program& program, const std::filesystem::path& folder) {
  std::size_t failed = 0;
  const std::optional<std::size_t> count = for_each_case(program, folder, [&](const Case& each) {
    const std::string found = run_case(program, folder, each);
    std::cout << each.input << ": " << (found.empty() ? "same as Python" : found) << "\n";
    failed += found.empty() ? 0 : 1;
  });
  if (!count) {
    std::cout << "the program draws random numbers: nothing is recorded\n";
    return 0;
  }
  std::cout << *count - failed << " of " << *count << " as recorded\n";
  return failed == 0 && *count > 0 ? 0 : 1;
}

int record_golden(const Program& program, const std::filesystem::path& folder, const std::filesystem::path& out) {
  std::filesystem::create_directories(out);
  const auto write = [](const std::filesystem::path& path, const Flat& flat) {
    write_tensors(path.string(), NamedTensors(flat.tensors.begin(), flat.tensors.end()));
  };
  const std::optional<std::size_t> count = for_each_case(program, folder, [&](const Case& each) {
    const std::string name = each.input.substr(0, each.input.find(".in."));
    Flat inputs;
    add_file("", (folder / each.input).string(), inputs);
    try {
      write(out / (name + ".out.safetensors"), call(program, each.entry, inputs));
    } catch (const PyError& error) {
      write_file((out / (name + ".error.txt")).string(), said(error));
    }
    write(out / (name + ".after.safetensors"), inputs);
  });
  std::cout << count.value_or(0) << " written\n";
  return 0;
}

std::string difference(const Flat& want, const Flat& got, bool exact) {
  for (const auto& [name, tensor] : want.tensors) {
    const auto other = got.tensors.find(name);
    if (other == got.tensors.end()) {
      return name + " is missing";
    }
    if (const std::string found = tensor_difference(tensor, other->second, exact); !found.empty()) {
      return name + ": " + found;
    }
  }
  for (const auto& [name, tensor] : got.tensors) {
    if (want.tensors.count(name) == 0) {
      return name + " is not expected";
    }
  }
  return "";
}

}  // namespace torch2cpp::runner
