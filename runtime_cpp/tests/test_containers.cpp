// Lists, the order of sets and exact sums against CPython (data/lists.tsv); dicts, sets, tuples, optionals and unions
// by hand.
#include <torch2cpp/containers.h>
#include <torch2cpp/exact_sums.h>

#include "expectations.h"

using namespace torch2cpp::testing;
namespace py = torch2cpp;

namespace {

using Ints = py::List<int64_t>;

const Ints& ints(const Operands& x, std::size_t i) { return as<Ints>(x, i); }
int64_t number(const Operands& x, std::size_t i) { return as<int64_t>(x, i); }

// Calls `change` on a list and gives the changed list.
template <class Change>
Operation changing(Change change) {
  return [change](const Operands& x) {
    Ints xs = ints(x, 0);
    change(xs, x);
    return py::repr(xs);
  };
}

std::string pop(const Operands& x) {
  Ints xs = ints(x, 0);
  const int64_t popped = x.size() > 1 ? xs.pop(number(x, 1)) : xs.pop();
  xs.insert(0, popped);
  return py::repr(xs);
}

std::string sort_keys(const Operands& x) {
  py::List<double> keys;
  for (std::size_t i = 1; i < x.size(); ++i) {
    keys.append(as<double>(x, i));
  }
  Ints order = py::range(py::len(keys));
  order.sort_by(keys, as<bool>(x, 0));
  return py::repr(order);
}

// Calls a function of a list of floats.
template <class Function>
Operation of_floats(Function function) {
  return [function](const Operands& x) {
    py::List<double> xs;
    for (std::size_t i = 0; i < x.size(); ++i) {
      xs.append(as<double>(x, i));
    }
    return py::repr(function(xs));
  };
}

// The same as walk_sets() of generate_expectations.py.
template <class T, class MakeKey>
std::string walk_sets(const Operands& x, MakeKey make_key) {
  auto state = static_cast<uint64_t>(number(x, 0));
  const auto draw = [&state](int64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(below));
  };
  std::vector<py::Set<T>> sets(3);
  py::List<T> out;
  for (int64_t step = 0; step < number(x, 1); ++step) {
    const int64_t op = draw(32), i = draw(3), j = draw(3), k = draw(3), v = draw(number(x, 2)) - number(x, 2) / 2;
    const T key = make_key(v);
    py::Set<T>& a = sets[static_cast<std::size_t>(i)];
    const py::Set<T> b = sets[static_cast<std::size_t>(j)], c = sets[static_cast<std::size_t>(k)];
    if (op < 16) {
      a.add(key);
    } else if (op < 20) {
      a.discard(key);
    } else if (op == 20) {
      a = b.set_union(c);
    } else if (op == 21) {
      a = b.intersection(c);
    } else if (op == 22) {
      a = b.difference(c);
    } else if (op == 23) {
      a = b.symmetric_difference(c);
    } else if (op == 24) {
      a.update(b);
    } else if (op == 25) {
      a.intersection_update(b);
    } else if (op == 26) {
      a.difference_update(b);
    } else if (op == 27) {
      a.symmetric_difference_update(b);
    } else if (op == 28) {
      a = b.copy();
    } else if (op == 29 && v % 8 == 0) {
      a.clear();
    } else if (a.size() > 0) {
      out.append(a.pop());
    }
  }
  for (const py::Set<T>& s : sets) {
    out.extend(s.members());
  }
  return py::repr(out);
}

std::string walk_sets_of(const Operands& x) {
  using Pair = std::tuple<int64_t, int64_t>;
  return as<bool>(x, 3) ? walk_sets<Pair>(x, [](int64_t v) { return Pair{v, -v}; })
                        : walk_sets<int64_t>(x, [](int64_t v) { return v; });
}

const std::map<std::string, Operation> kTable{
    {"set.walk", walk_sets_of},
    {"math.fsum", of_floats([](const auto& xs) { return py::math::fsum(xs); })},
    {"statistics.mean", of_floats([](const auto& xs) { return py::statistics::mean(xs); })},
    {"statistics.variance", of_floats([](const auto& xs) { return py::statistics::variance(xs); })},
    {"statistics.pvariance", of_floats([](const auto& xs) { return py::statistics::pvariance(xs); })},
    {"statistics.stdev", of_floats([](const auto& xs) { return py::statistics::stdev(xs); })},
    {"statistics.pstdev", of_floats([](const auto& xs) { return py::statistics::pstdev(xs); })},
    {"list.get", [](const Operands& x) { return py::repr(ints(x, 0).get(number(x, 1))); }},
    {"list.set", changing([](Ints& xs, const Operands& x) { xs.set(number(x, 1), 99); })},
    {"list.insert", changing([](Ints& xs, const Operands& x) { xs.insert(number(x, 1), 99); })},
    {"list.delete", changing([](Ints& xs, const Operands& x) { xs.erase(number(x, 1)); })},
    {"list.pop", pop},
    {"list.index", [](const Operands& x) { return py::repr(ints(x, 0).index(number(x, 1))); }},
    {"list.count", [](const Operands& x) { return py::repr(ints(x, 0).count(number(x, 1))); }},
    {"list.contains", [](const Operands& x) { return py::repr(ints(x, 0).contains(number(x, 1))); }},
    {"list.remove", changing([](Ints& xs, const Operands& x) { xs.remove(number(x, 1)); })},
    {"list.repeat", [](const Operands& x) { return py::repr(ints(x, 0).repeat(number(x, 1))); }},
    {"list.concat", [](const Operands& x) { return py::repr(ints(x, 0).concat(ints(x, 1))); }},
    {"equal", [](const Operands& x) { return py::repr(py::equal(ints(x, 0), ints(x, 1))); }},
    {"list.less", [](const Operands& x) { return py::repr(ints(x, 0) < ints(x, 1)); }},
    {"list.sum", [](const Operands& x) { return py::repr(ints(x, 0).sum()); }},
    {"list.min", [](const Operands& x) { return py::repr(ints(x, 0).min()); }},
    {"list.max", [](const Operands& x) { return py::repr(ints(x, 0).max()); }},
    {"list.any", [](const Operands& x) { return py::repr(ints(x, 0).any()); }},
    {"list.all", [](const Operands& x) { return py::repr(ints(x, 0).all()); }},
    {"list.sort", [](const Operands& x) { return py::repr(ints(x, 0).sorted()); }},
    {"list.reversed", [](const Operands& x) { return py::repr(ints(x, 0).reversed()); }},
    {"list.slice", [](const Operands& x) { return py::repr(ints(x, 0).slice(bound(x, 1), bound(x, 2), bound(x, 3))); }},
    {"list.delete_slice",
     changing([](Ints& xs, const Operands& x) { xs.erase_slice(bound(x, 1), bound(x, 2), bound(x, 3)); })},
    {"list.set_slice",
     changing([](Ints& xs, const Operands& x) { xs.set_slice(bound(x, 1), bound(x, 2), bound(x, 3), ints(x, 4)); })},
    {"list.range", [](const Operands& x) { return py::repr(py::range(number(x, 0), number(x, 1), number(x, 2))); }},
    {"sort_keys", sort_keys},
};

void test_references() {
  Ints xs = Ints::of(1, 2);
  Ints same = xs;
  same.append(3);
  CHECK_TEXT(py::repr(xs), "[1, 2, 3]");
  CHECK(py::is_same(xs, same) && !py::is_same(xs, xs.copy()) && py::equal(xs, xs.copy()));
  xs.extend(xs);
  CHECK_TEXT(py::repr(xs), "[1, 2, 3, 1, 2, 3]");
  xs.set_slice(1, 2, {}, xs);
  CHECK_TEXT(py::repr(xs), "[1, 1, 2, 3, 1, 2, 3, 3, 1, 2, 3]");
  // Elements appended while iterating are reached, as in Python.
  Ints grown = Ints::of(1);
  for (const int64_t x : grown) {
    if (x < 4) {
      grown.append(x + 1);
    }
  }
  CHECK_TEXT(py::repr(grown), "[1, 2, 3, 4]");
}

void test_element_types() {
  auto flags = py::List<bool>::of(true, false);
  flags.append(true);
  flags.sort();
  CHECK_TEXT(py::repr(flags), "[False, True, True]");
  CHECK_TEXT(py::repr(flags.sum()), "2");
  CHECK(flags.contains(int64_t{1}) && Ints::of(1).contains(1.0) && !Ints::of(1).contains(1.5));
  auto words = py::List<std::string>::of("b", "a");
  words.sort(true);
  CHECK_TEXT(py::repr(words), "['b', 'a']");
  const auto nested = py::List<py::List<double>>{{1.0}, {}};
  CHECK_TEXT(py::repr(nested), "[[1.0], []]");
  CHECK_TEXT(py::repr(nested.sum()), "[1.0]");
  const auto pairs = py::List<std::tuple<double, std::string>>{{2.0, "x"}, {1.0, "y"}};
  CHECK_TEXT(py::repr(pairs.sorted()), "[(1.0, 'y'), (2.0, 'x')]");
  CHECK_TEXT(OUTCOME(words.index(std::string("z"))), "Error: ValueError: 'z' is not in list");
  CHECK_TEXT(OUTCOME(py::List<double>().max()), "Error: ValueError: max() arg is an empty sequence");
  CHECK_TEXT(py::repr(py::List<double>::of(0.1, 0.2, 0.3).sum()), "0.6000000000000001");
  py::List<std::optional<int64_t>> some;
  some.append(std::nullopt);
  some.append(3);
  CHECK_TEXT(py::repr(some), "[None, 3]");
  CHECK(some.contains(int64_t{3}) && some.any() && !some.all());
}

void test_sorting() {
  auto names = py::List<std::string>::of("a", "b", "c", "d");
  names.sort_by(Ints::of(1, 0, 1, 0), true);
  CHECK_TEXT(py::repr(names), "['a', 'c', 'b', 'd']");
  py::List<double> many;
  for (int i = 0; i < 100; ++i) {
    many.append(i % 7 == 0 ? std::nan("") : 1.0);
  }
  CHECK_TEXT(ERROR_OF(many.sort()), "Error: NotImplementedError: sorting 64 or more values with NaN among them");
}

void test_dict() {
  using Dict = py::Dict<std::string, int64_t>;
  auto d = Dict::of("b", 1, "a", 2);
  d.set("c", 3);
  d.set("b", 10);
  CHECK_TEXT(py::repr(d), "{'b': 10, 'a': 2, 'c': 3}");
  CHECK_TEXT(OUTCOME(d.get("z")), "Error: KeyError: 'z'");
  CHECK_TEXT(ERROR_OF(d.erase("z")), "Error: KeyError: 'z'");
  CHECK_TEXT(py::repr(d.find("z")), "None");
  CHECK_TEXT(py::repr(d.pop("b")), "10");
  d.set("b", 4);
  CHECK_TEXT(py::repr(d.keys()) + py::repr(d.values()), "['a', 'c', 'b'][2, 3, 4]");
  CHECK_TEXT(py::repr(d.items()), "[('a', 2), ('c', 3), ('b', 4)]");
  Dict other = d.copy();
  CHECK(py::equal(d, other) && !py::is_same(d, other) && py::len(d) == 3 && py::truth(d));
  other.update(Dict::of("a", 7));
  CHECK(!py::equal(d, other) && d.get("a") == 2);
  d.clear();
  CHECK(!py::truth(d));
  // Order survives many deletions.
  py::Dict<int64_t, int64_t> numbers;
  for (int64_t i = 0; i < 1000; ++i) {
    numbers.set(i, i);
  }
  for (int64_t i = 0; i < 1000; ++i) {
    if (i % 100 != 5) {
      numbers.erase(i);
    }
  }
  CHECK_TEXT(py::repr(numbers.keys()), "[5, 105, 205, 305, 405, 505, 605, 705, 805, 905]");
  using Key = std::tuple<int64_t, std::string>;
  auto nested = py::Dict<Key, double>::of(Key{1, "x"}, 0.5);
  CHECK(nested.contains({1, "x"}) && !nested.contains({2, "x"}));
  CHECK_TEXT(OUTCOME(nested.get({2, "x"})), "Error: KeyError: (2, 'x')");
  CHECK((py::Dict<double, bool>::of(0.0, true).contains(-0.0)));
}

void test_set() {
  auto s = py::Set<int64_t>::of(3, 1, 2, 3);
  s.add(1);
  s.discard(9);
  CHECK(py::len(s) == 3 && s.contains(2) && !s.contains(9));
  CHECK_TEXT(py::repr(s.sorted()), "[1, 2, 3]");
  CHECK_TEXT(ERROR_OF(s.remove(9)), "Error: KeyError: 9");
  CHECK(py::equal(s, py::Set<int64_t>::of(1, 2, 3)));
}

struct Node {
  int64_t value;
  std::shared_ptr<Node> next;
};

void test_tuples_and_unions() {
  CHECK_TEXT(py::repr(std::tuple<int64_t, bool>{1, true}), "(1, True)");
  CHECK_TEXT(py::repr(std::tuple<int64_t>{1}) + py::repr(std::tuple<>{}), "(1,)()");
  CHECK_TEXT(py::list_repr(std::tuple<int64_t, double>{1, 2.0}), "[1, 2.0]");
  CHECK(py::equal(std::tuple<int64_t, double>{1, 2.0}, std::tuple<double, int64_t>{1.0, 2}));
  using Number = std::variant<int64_t, double>;
  using Pair = std::tuple<Number, int64_t>;
  auto numbers = py::List<Number>::of(Number(2.5), Number(int64_t{3}), Number(-1.0), Number(int64_t{2}));
  numbers.sort();
  CHECK_TEXT(py::repr(numbers), "[-1.0, 2, 2.5, 3]");
  CHECK_TEXT(py::repr(numbers.max()), "3");
  auto pairs = py::List<Pair>::of(Pair(2.0, 1), Pair(int64_t{2}, 0), Pair(0.5, 9));
  pairs.sort(true);
  CHECK_TEXT(py::repr(pairs), "[(2.0, 1), (2, 0), (0.5, 9)]");
  using Union = std::variant<std::monostate, int64_t, std::string>;
  CHECK_TEXT(py::str(Union(std::in_place_index<2>, "x")) + py::repr(Union(std::in_place_index<2>, "x")), "x'x'");
  CHECK_TEXT(py::repr(Union()), "None");
  CHECK(!py::truth(Union()) && py::truth(Union(std::in_place_index<1>, 5)));
  const auto node = py::make<Node>(int64_t{1}, nullptr);
  CHECK(py::is_same(node, node) && !py::is_same(node, py::make<Node>(int64_t{1}, node)) && py::truth(node));
  CHECK(py::equal(std::optional<int64_t>(2), 2.0) && !py::equal(std::optional<int64_t>(), int64_t{0}));
  CHECK(py::equal(std::optional<int64_t>(), std::monostate{}));
}

void test_errors() {
  const py::PyError error("KeyError", "'x'", {}, "model.py", 7);
  CHECK_TEXT(error.what(), "KeyError: 'x' (model.py:7)");
  CHECK(error.matches({"LookupError"}) && error.matches({"ValueError", "Exception"}) && error.matches({}));
  CHECK(!error.matches({"IndexError"}) && !error.matches({"ArithmeticError"}));
  const py::PyError custom("MyError", "m", {"Base", "ValueError"});
  CHECK(custom.matches({"Base"}) && custom.matches({"ValueError"}) && custom.matches({"BaseException"}));
  CHECK(!custom.matches({"RuntimeError"}));
  CHECK(py::PyError("Unknown", "").matches({"Exception"}) && py::PyError("OSError", "").matches({"IOError"}));
  CHECK(py::PyError("LinAlgError", "").matches({"_LinAlgError"}) &&
        py::PyError("LinAlgError", "").matches({"RuntimeError"}));
  CHECK(!py::PyError("KeyboardInterrupt", "").matches({"Exception"}));
  try {
    py::at_line("m.py", 3, [] { py::raise_value_error("bad"); });
  } catch (const py::PyError& e) {
    CHECK_TEXT(e.what(), "ValueError: bad (m.py:3)");
    CHECK(e.at("other.py", 1).line() == 3);
  }
}

}  // namespace

int main(int, char** argv) {
  run_expectations(argv[1], kTable);
  test_references();
  test_element_types();
  test_sorting();
  test_dict();
  test_set();
  test_tuples_and_unions();
  test_errors();
  return report();
}
