// Files: what numpy and safetensors wrote (data/files), round trips, and refusals.
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include <torch2cpp/io.h>
#include <torch2cpp/safetensors.h>
#include <torch2cpp/tensor_check.h>
#include <torch2cpp/tensor_ops.h>
#include <torch2cpp/weights.h>

#include "check.h"

using namespace torch2cpp::testing;
namespace py = torch2cpp;
using py::List;
using py::ScalarType;
using py::Tensor;

namespace {

std::string folder;

std::string at(const std::string& name) { return folder + "/" + name; }

// The message of any exception.
template <class Run>
std::string error_of(Run run) {
  try {
    run();
    return "no error";
  } catch (const std::exception& e) {
    std::string message = e.what();
    for (std::size_t found = 0; (found = message.find(folder)) != message.npos;) {
      message.replace(found, folder.size(), "DIR");
    }
    return message;
  }
}

std::string grid_text(const Tensor& t) { return py::repr(py::to_list<List<List<double>>>(t)); }

constexpr const char* kGrid = "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]";

Tensor read_one(const std::string& name) { return py::read_tensors(at(name)).at(0).second; }

void test_npy() {
  CHECK_TEXT(grid_text(read_one("grid.npy")), kGrid);
  CHECK_TEXT(grid_text(read_one("fortran.npy")), kGrid);
  CHECK(py::item<int64_t>(read_one("scalar.npy")) == 7);
  CHECK_TEXT(py::repr(py::to_list<List<bool>>(read_one("flags.npy"))), "[True, False, True]");
  CHECK_TEXT(py::describe(read_one("empty.npy")), "float16 [0, 3]");
  CHECK_TEXT(error_of([] { read_one("big_endian.npy"); }),
             "DIR/big_endian.npy: elements of numpy type '>f4' (little-endian numbers and bools are taken)");
  // Byte for byte what numpy writes.
  for (const char* name : {"grid.npy", "scalar.npy", "flags.npy", "empty.npy"}) {
    CHECK(py::format_npy(read_one(name), name) == py::read_file(at(name)));
  }
  std::string cut = py::read_file(at("grid.npy"));
  cut.pop_back();
  CHECK_TEXT(error_of([&] { py::parse_npy(cut, "cut"); }), "cut: 23 bytes of elements where 24 are expected");
  CHECK_TEXT(error_of([&] { py::format_npy(py::make_tensor(1.0, ScalarType::BFloat16), "x"); }),
             "x: numpy has no bfloat16; write a .safetensors file");
}

void check_archive(const py::NamedTensors& tensors) {
  CHECK_TEXT(tensors.at(0).first + tensors.at(1).first, "xn");
  CHECK_TEXT(grid_text(tensors.at(0).second), kGrid);
  CHECK_TEXT(py::repr(py::to_list<List<int64_t>>(tensors.at(1).second)), "[0, 1, 2]");
}

void test_npz(const std::string& scratch) {
  check_archive(py::read_npz(at("stored.npz")));
#ifdef TORCH2CPP_ZLIB
  const py::NamedTensors deflated = py::read_npz(at("deflated.npz"));
  check_archive(deflated);
  CHECK(py::numel(deflated.at(2).second) == 5000);
#else
  CHECK_TEXT(error_of([] { py::read_npz(at("deflated.npz")); }),
             "DIR/deflated.npz: x.npy: compressed, and this program was built without zlib; use numpy.savez");
#endif
  const std::string path = scratch + "/round.npz";
  py::write_tensors(path, py::read_npz(at("stored.npz")));
  check_archive(py::read_tensors(path));
  std::string damaged = py::read_file(path);
  damaged[150] = static_cast<char>(damaged[150] ^ 1);
  py::write_file(scratch + "/damaged.npz", damaged);
  CHECK(error_of([&] { py::read_npz(scratch + "/damaged.npz"); }).ends_with("x.npy: damaged, its checksum differs"));
  py::write_file(scratch + "/cut.npz", damaged.substr(0, 300));
  CHECK(error_of([&] { py::read_npz(scratch + "/cut.npz"); }).ends_with("cut.npz: not a zip archive"));
}

void test_safetensors(const std::string& scratch) {
  for (const char* name : {"good.safetensors", "aligned.safetensors"}) {
    const py::Safetensors file(at(name));
    CHECK_TEXT(grid_text(file.get("fc.weight")), kGrid);
    CHECK_TEXT(py::repr(py::to_list<List<double>>(file.get("half"))), "[1.5, -2.0]");
    CHECK(py::item<int64_t>(file.get("n\u00e4me \"q\"")) == 5);
    CHECK_TEXT(py::describe(file.get("none")), "float32 [0, 4]");
  }
  // The same memory each time where it lies well, a copy that does otherwise.
  const py::Safetensors aligned(at("aligned.safetensors"));
  CHECK(aligned.get("fc.weight").data_ptr() == aligned.get("fc.weight").data_ptr());
  const Tensor weight = py::Safetensors(at("good.safetensors")).get("fc.weight");
  CHECK(reinterpret_cast<std::uintptr_t>(weight.data_ptr()) % 64 == 0);
  // The mapping lives as long as a tensor on it.
  const Tensor survivor = [] { return py::Safetensors(at("aligned.safetensors")).get("fc.weight"); }();
  CHECK_TEXT(grid_text(survivor), kGrid);
  const Tensor moved = py::Safetensors(at("misaligned.safetensors")).get("x");
  CHECK_TEXT(py::repr(py::to_list<List<double>>(moved)), "[1.0, 2.0]");

  py::NamedTensors tensors = py::read_tensors(at("good.safetensors"));
  tensors.emplace_back("transposed", py::t(weight));
  const std::string path = scratch + "/round.safetensors";
  py::write_tensors(path, tensors);
  const py::Safetensors again(path);
  CHECK(again.entries().size() == 6 && py::item<int64_t>(again.get("n\u00e4me \"q\"")) == 5);
  CHECK_TEXT(grid_text(again.get("transposed")), "[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]");
}

std::string refusal(const std::string& name) {
  return error_of([&] { py::Safetensors{at(name)}; });
}

void test_refusals() {
  const std::string start = "weights file 'DIR/";
  const auto wrong = [&](const std::string& name, const std::string& what) {
    CHECK_TEXT(refusal(name), start + name + "': expected a safetensors file, got " + what);
  };
  wrong("short.safetensors", "a file of 3 bytes");
  wrong("long_header.safetensors", "a file truncated in its header");
  wrong("absent.safetensors", "cannot read DIR/absent.safetensors: No such file or directory");
  wrong("trailing.safetensors", "4 bytes that belong to no tensor");
  CHECK(refusal("not_json.safetensors").find("a header with") != std::string::npos);
  CHECK(refusal("dtype.safetensors").find("an unknown dtype 'F7'") != std::string::npos);
  CHECK(refusal("offsets.safetensors").find("data_offsets that do not fit the shape") != std::string::npos);
  CHECK(refusal("overflow.safetensors").find("a shape too large") != std::string::npos);
  CHECK(refusal("twice.safetensors").find("'x' appears twice") != std::string::npos);
  CHECK_TEXT(refusal("hole.safetensors"),
             "weight 'x': expected data that begins where the previous tensor's ends, at byte 0, got byte 4 of "
             "DIR/hole.safetensors");
  CHECK_TEXT(refusal("truncated.safetensors"),
             "weight 'b': expected 32 bytes, got 22 before the end of DIR/truncated.safetensors, which is truncated");
}

void test_weights() {
  const std::vector<py::WeightSpec> right{{"fc.weight", ScalarType::Float, {2, 3}},
                                          {"half", ScalarType::BFloat16, {2}},
                                          {"n\u00e4me \"q\"", ScalarType::Long, {}},
                                          {"none", ScalarType::Float, {0, 4}},
                                          {"flag", ScalarType::Bool, {1}}};
  const py::Weights weights(at("good.safetensors"), right);
  // Fillers are no weights.
  CHECK_TEXT(grid_text(py::Weights(at("aligned.safetensors"), right).get("fc.weight")), kGrid);
  CHECK(py::is_same(weights.get("half"), weights.get("half")));
  CHECK_TEXT(error_of([&] { weights.get("other"); }),
             "weight 'other': expected a weight of this model, got an unknown name");
  const auto with = [&](std::size_t i, const py::WeightSpec& weight) {
    std::vector<py::WeightSpec> changed = right;
    changed[i] = weight;
    return error_of([&] { py::Weights(at("good.safetensors"), changed); });
  };
  CHECK_TEXT(with(0, {"fc.weight", ScalarType::Float, {3, 2}}),
             "weight 'fc.weight': expected float32 [3, 2], got float32 [2, 3] in DIR/good.safetensors");
  CHECK_TEXT(with(1, {"half", ScalarType::Half, {2}}),
             "weight 'half': expected float16 [2], got bfloat16 [2] in DIR/good.safetensors");
  CHECK_TEXT(with(0, {"fc.weights", ScalarType::Float, {2, 3}}),
             "weight 'fc.weights': expected float32 [2, 3], got no such weight in DIR/good.safetensors; it has unknown "
             "'fc.weight'");
  std::vector<py::WeightSpec> fewer(right.begin() + 1, right.end());
  CHECK_TEXT(error_of([&] { py::Weights(at("good.safetensors"), fewer); }),
             "weights file 'DIR/good.safetensors': expected the weights of this model only, got also 'fc.weight'");
}

}  // namespace

int main(int, char** argv) {
  folder = argv[1];
  const std::string scratch = argv[2];
  std::filesystem::create_directories(scratch);
  test_npy();
  test_npz(scratch);
  test_safetensors(scratch);
  test_refusals();
  test_weights();
  return report();
}
