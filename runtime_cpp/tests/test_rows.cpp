// Every row of the host operation table: its C++ spelling exists and gives what Python gives.
#include <torch2cpp/runtime.h>

#include "check.h"

using namespace torch2cpp::testing;
namespace py = torch2cpp;

namespace {

template <class T>
std::string shown(const T& x) {
  return py::repr(x);
}
template <class T>
std::string shown(const py::Set<T>& x) {
  return py::repr(x.sorted());
}
std::string shown(const py::Tensor& t) {
  const auto read = [&]<class T>(T*) {
    switch (py::rank(t)) {
      case 0:
        return py::repr(py::to_list<T>(t));
      case 1:
        return py::repr(py::to_list<py::List<T>>(t));
      default:
        return py::repr(py::to_list<py::List<py::List<T>>>(t));
    }
  };
  switch (t.scalar_type()) {
    case py::ScalarType::Bool:
      return read(static_cast<bool*>(nullptr));
    case py::ScalarType::Long:
      return read(static_cast<int64_t*>(nullptr));
    default:
      return read(static_cast<double*>(nullptr));
  }
}

void test_rows() {
#include "rows.inc"
}

struct Point {
  int64_t x;
  std::string name;
};

void test_by_hand() {
  const Point record{1, "p"};
  CHECK(record.x == 1);
  auto object = py::make<Point>(int64_t{2}, std::string("q"));
  object->x = 5;
  CHECK(object->x == 5 && py::is_same(object, object));
  const auto some = std::optional<int64_t>(3);
  CHECK(*some == 3 && py::optional_cast<std::optional<double>>(some) == 3.0);
  CHECK(!py::optional_cast<std::optional<double>>(std::optional<int64_t>()).has_value());
  using Union = std::variant<int64_t, std::string>;
  CHECK_TEXT(py::repr(Union(std::in_place_index<1>, "x")), "'x'");
  py::print("a line");
  CHECK_TEXT(py::repr("literal") + py::str("s"), "'literal's");
  CHECK(!py::truth("") && py::equal(std::string("a"), "a") && py::List<std::string>::of("a").contains("a"));
  CHECK_TEXT(OUTCOME(py::List<std::string>::of("a").index("b")), "Error: ValueError: 'b' is not in list");
}

}  // namespace

int main() {
  test_rows();
  test_by_hand();
  return report();
}
