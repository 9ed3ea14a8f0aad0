// Tensors: views and lists of tensors against eager (data/tensors.tsv); reading, making and checking by hand.
#include <cmath>
#include <fstream>

#include <torch2cpp/tensor_check.h>
#include <torch2cpp/tensor_ops.h>

#include "expectations.h"

using namespace torch2cpp::testing;
namespace py = torch2cpp;
using py::List;
using py::ScalarType;
using py::Tensor;

namespace {

using Numbers = std::vector<py::Bound>;

std::string values(const py::detail::Reader& reader, std::size_t dim, int64_t offset) {
  if (dim == reader.sizes.size()) {
    return py::repr(reader.load<int64_t>(offset));
  }
  std::string out = "[";
  for (int64_t i = 0; i < reader.sizes[dim]; ++i) {
    out += (i == 0 ? "" : ", ") + values(reader, dim + 1, offset + i * reader.strides[dim]);
  }
  return out + "]";
}

std::string describe(const Tensor& t) {
  return py::shape_text(py::sizes(t)) + " " + py::shape_text(py::strides(t)) + " " +
         std::to_string(t.storage_offset()) + " " + values(py::detail::Reader(t), 0, 0);
}

std::string describe(const List<Tensor>& tensors) {
  std::string out;
  for (const Tensor& t : tensors) {
    out += (out.empty() ? "" : " | ") + describe(t);
  }
  return out;
}

Numbers numbers(const std::string& text) {
  Numbers out;
  if (!text.empty()) {
    for (const std::string& cell : fields(text, ',')) {
      out.push_back(cell == "n" ? py::Bound() : py::Bound(std::strtoll(cell.c_str(), nullptr, 10)));
    }
  }
  return out;
}

std::vector<int64_t> ints(const Numbers& xs, std::size_t from = 0) {
  std::vector<int64_t> out;
  for (std::size_t i = from; i < xs.size(); ++i) {
    out.push_back(*xs[i]);
  }
  return out;
}

Tensor plus_one(const Tensor& t) {
  const Tensor out = py::clone(t);
  auto* data = static_cast<int64_t*>(out.data_ptr());
  for (int64_t i = 0; i < py::numel(out); ++i) {
    ++data[i];
  }
  return out;
}

std::string run(const std::string& name, const Tensor& t, const Numbers& x) {
  if (name == "select")
    return describe(py::select(t, *x[0], *x[1]));
  if (name == "subscript")
    return describe(py::subscript(t, *x[0], *x[1]));
  if (name == "slice")
    return describe(py::slice(t, *x[0], x[1], x[2], *x[3]));
  if (name == "narrow")
    return describe(py::narrow(t, *x[0], *x[1], *x[2]));
  if (name == "unsqueeze")
    return describe(py::unsqueeze(t, *x[0]));
  if (name == "squeeze")
    return describe(x.empty() ? py::squeeze(t) : py::squeeze(t, *x[0]));
  if (name == "transpose")
    return describe(py::transpose(t, *x[0], *x[1]));
  if (name == "t")
    return describe(py::t(t));
  if (name == "permute")
    return describe(py::permute(t, ints(x)));
  if (name == "expand")
    return describe(py::expand(t, ints(x)));
  if (name == "view")
    return describe(py::view(t, ints(x)));
  if (name == "reshape")
    return describe(py::reshape(t, ints(x)));
  if (name == "clone")
    return describe(py::clone(t));
  if (name == "contiguous")
    return describe(py::contiguous(t));
  if (name == "unbind")
    return describe(py::unbind(t, *x[0]));
  if (name == "split")
    return describe(py::split(t, *x[0], *x[1]));
  if (name == "split_with_sizes")
    return describe(py::split_with_sizes(t, ints(x, 1), *x[0]));
  if (name == "chunk")
    return describe(py::chunk(t, *x[0], *x[1]));
  if (name == "stack")
    return describe(py::stack({t, plus_one(t)}, *x[0]));
  if (name == "cat")
    return describe(py::cat({t, plus_one(t), t}, *x[0]));
  if (name == "iterate")
    return describe(py::iterate(t));
  return "no such operation";
}

void test_against_eager(const std::string& path) {
  std::ifstream file(path);
  CHECK(file.good());
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = fields(line, '\t');
    const std::vector<int64_t> sizes = ints(numbers(cells[1]));
    int64_t count = 1;
    for (const int64_t size : sizes) {
      count *= size;
    }
    const Tensor flat = py::make_tensor(py::range(count), ScalarType::Long);
    const Tensor base = py::permute(py::view(flat, sizes), ints(numbers(cells[2])));
    std::string got = outcome([&] { return run(cells[0], base, numbers(cells[3])); });
    got.resize(std::min(got.find('\n'), got.size()));
    check(got == cells[4], path.c_str(), checks + 1, line + "\n  gave     " + got);
  }
}

void test_aliasing() {
  const Tensor base = py::make_tensor(List<List<double>>{{1.0, 2.0}, {3.0, 4.0}}, ScalarType::Float);
  py::fill_(py::subscript(base, 0, 1), 7);
  CHECK_TEXT(py::repr(py::to_list<List<List<double>>>(base)), "[[1.0, 2.0], [7.0, 7.0]]");
  py::copy_(py::slice(base, 1, 0, 1), py::make_tensor(9.5, ScalarType::Double));
  CHECK_TEXT(py::repr(py::to_list<List<List<double>>>(py::t(base))), "[[9.5, 9.5], [2.0, 7.0]]");
  const Tensor other = py::clone(base);
  py::zero_(base);
  CHECK(py::item<double>(py::subscript(py::subscript(other, 0, 0), 0, 0)) == 9.5);
  CHECK(py::is_same(base, base) && !py::is_same(base, py::alias(base)));
  CHECK(py::is_same(py::contiguous(base), base));
}

void test_item_and_truth() {
  CHECK_TEXT(OUTCOME(py::item<double>(py::make_tensor(List<double>::of(1.0, 2.0), ScalarType::Float))),
             "Error: RuntimeError: a Tensor with 2 elements cannot be converted to Scalar");
  CHECK_TEXT(OUTCOME(py::truth(py::make_tensor(List<double>::of(1.0, 2.0), ScalarType::Float))),
             "Error: RuntimeError: Boolean value of Tensor with more than one value is ambiguous");
  CHECK_TEXT(OUTCOME(py::truth(py::make_tensor(List<double>(), ScalarType::Float))),
             "Error: RuntimeError: Boolean value of Tensor with no values is ambiguous");
  for (const ScalarType dtype : {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float, ScalarType::Double}) {
    const Tensor x = py::make_tensor(-1.5, dtype);
    CHECK(py::item<double>(x) == -1.5 && py::truth(x));
    CHECK(std::isnan(py::item<double>(py::make_tensor(std::nan(""), dtype))));
    CHECK(!py::truth(py::make_tensor(-0.0, dtype)));
  }
  for (const ScalarType dtype : {ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int,
                                 ScalarType::Long, ScalarType::UInt16, ScalarType::UInt32, ScalarType::UInt64}) {
    CHECK(py::item<int64_t>(py::make_tensor(100, dtype)) == 100);
    CHECK(!py::truth(py::make_tensor(false, dtype)));
  }
  CHECK(py::item<bool>(py::make_tensor(0.5, ScalarType::Bool)));
  CHECK_TEXT(py::repr(py::item<std::complex<double>>(
                 py::make_tensor(std::complex<double>(1.0, -2.0), ScalarType::ComplexFloat))),
             "(1-2j)");
  CHECK_TEXT(py::repr(py::to_list<bool>(py::make_tensor(true, ScalarType::Bool))), "True");
  CHECK_TEXT(py::repr(py::size(py::empty({2, 5}, ScalarType::Half), -1)), "5");
  CHECK_TEXT(OUTCOME(py::len(py::make_tensor(1, ScalarType::Long))), "Error: TypeError: len() of a 0-d tensor");
}

// What torch.tensor(value, dtype=...) gives, as measured in eager.
void test_make_tensor() {
  CHECK(py::item<int64_t>(py::make_tensor(-1, ScalarType::Byte)) == 255);
  CHECK(py::item<int64_t>(py::make_tensor(3.7, ScalarType::Byte)) == 3);
  CHECK(std::isinf(py::item<double>(py::make_tensor(1e300, ScalarType::Float))));
  CHECK(py::item<double>(py::make_tensor((int64_t{1} << 53) + 1, ScalarType::Float)) == 9007199254740992.0);
  CHECK_TEXT(ERROR_OF(py::make_tensor(300, ScalarType::Byte)),
             "Error: RuntimeError: value cannot be converted to type uint8 without overflow");
  CHECK_TEXT(ERROR_OF(py::make_tensor(-0.7, ScalarType::Byte)),
             "Error: RuntimeError: value cannot be converted to type uint8 without overflow");
  CHECK_TEXT(ERROR_OF(py::make_tensor(1e10, ScalarType::Int)),
             "Error: RuntimeError: value cannot be converted to type int32 without overflow");
  CHECK_TEXT(ERROR_OF(py::make_tensor(std::nan(""), ScalarType::Long)),
             "Error: RuntimeError: value cannot be converted to type int64 without overflow");
  CHECK_TEXT(ERROR_OF(py::make_tensor(-1, ScalarType::UInt64)),
             "Error: OverflowError: can't convert negative int to unsigned");
  CHECK_TEXT(ERROR_OF(py::make_tensor(List<List<int64_t>>{{1, 2}, {3}}, ScalarType::Long)),
             "Error: ValueError: expected sequence of length 2 at dim 1 (got 1)");
  CHECK_TEXT(py::shape_text(py::sizes(py::make_tensor(List<List<int64_t>>{{}, {}}, ScalarType::Long))), "[2, 0]");
  const Tensor mixed = py::make_tensor(std::tuple<int64_t, double, bool>{1, 2.5, true}, ScalarType::Float);
  CHECK_TEXT(py::repr(py::to_list<List<double>>(mixed)), "[1.0, 2.5, 1.0]");
  const Tensor of_tensors = py::make_tensor(List<Tensor>::of(mixed).copy().get(0).defined(), ScalarType::Bool);
  CHECK(py::truth(of_tensors));
  const auto scalars = List<Tensor>::of(py::subscript(mixed, 0, 0), py::subscript(mixed, 0, 1));
  CHECK_TEXT(py::repr(py::to_list<List<double>>(py::make_tensor(scalars, ScalarType::Double))), "[1.0, 2.5]");
}

void test_lists_of_tensors() {
  const Tensor a = py::make_tensor(1.0, ScalarType::Float), b = py::make_tensor(2.0, ScalarType::Float);
  auto xs = List<Tensor>::of(b, a);
  CHECK(xs.contains(a) && xs.contains(py::clone(a)) && !xs.contains(py::make_tensor(3.0, ScalarType::Float)));
  CHECK(py::is_same(xs.max(), b) && py::is_same(xs.min(), a) && xs.index(a) == 1 && xs.all());
  xs.sort();
  CHECK(py::is_same(xs.get(0), a));
  CHECK_TEXT(ERROR_OF(py::stack(List<Tensor>())), "Error: RuntimeError: stack expects a non-empty TensorList");
  CHECK_TEXT(ERROR_OF(py::cat(List<Tensor>())), "Error: ValueError: torch.cat(): expected a non-empty list of Tensors");
  CHECK_TEXT(
      ERROR_OF(py::stack({a, py::unsqueeze(b, 0)})),
      "Error: RuntimeError: stack expects each tensor to be equal size, but got [] at entry 0 and [1] at entry 1");
}

void test_checks() {
  const Tensor x = py::empty({2, 3}, ScalarType::Float);
  py::check_tensor("x", x, ScalarType::Float, {-1, 3});
  CHECK_TEXT(ERROR_OF(py::check_tensor("x", x, ScalarType::Float, {-1, 4})),
             "InputError: input 'x': expected float32 [?, 4], got float32 [2, 3]");
  CHECK_TEXT(ERROR_OF(py::check_tensor("x", x, ScalarType::Long, {-1})),
             "InputError: input 'x': expected int64 [?], got float32 [2, 3]");
  CHECK_TEXT(ERROR_OF(py::check_tensor("x", Tensor(), ScalarType::Long, {})),
             "InputError: input 'x': expected int64 [], got no tensor");
  CHECK_TEXT(ERROR_OF(py::check_size("y", 0, 4, 2, "x.size(0)")),
             "InputError: input 'y': expected size 2 in dimension 0 (as x.size(0)), got 4");
}

}  // namespace

int main(int, char** argv) {
  test_against_eager(argv[1]);
  test_aliasing();
  test_item_and_truth();
  test_make_tensor();
  test_lists_of_tensors();
  test_checks();
  return report();
}
