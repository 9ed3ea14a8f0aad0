// Scalars against CPython: data/scalars.tsv.
#include <torch2cpp/scalars.h>

#include "expectations.h"

using namespace torch2cpp::testing;
namespace py = torch2cpp;

namespace {

#define UNARY(name) {"math." #name, unary([](auto x) { return py::math::name(static_cast<double>(x)); })}
#define BINARY(name) \
  {"math." #name, binary([](auto x, auto y) { return py::math::name(static_cast<double>(x), static_cast<double>(y)); })}
#define OPERATOR(name) {#name, binary([](auto x, auto y) { return py::name(x, y); })}
#define INT_BINARY(name) \
  {"math." #name, [](const Operands& x) { return py::repr(py::math::name(as<int64_t>(x, 0), as<int64_t>(x, 1))); }}

// Where Python's int method is called on an int and its float method on a float.
#define ROUNDING(name) {"math." #name, unary([](auto x) { return py::math::name(x); })}

template <class Convert>
Operation converting(Convert convert) {
  return [convert](const Operands& x) {
    if (const auto* text = std::get_if<std::string>(&x.at(0))) {
      return py::repr(convert(*text));
    }
    return with_number(x.at(0), [&](auto a) { return py::repr(convert(a)); });
  };
}

const std::map<std::string, Operation> kTable{
    OPERATOR(add),
    OPERATOR(sub),
    OPERATOR(mul),
    OPERATOR(truediv),
    OPERATOR(floordiv),
    OPERATOR(mod),
    OPERATOR(lt),
    OPERATOR(le),
    OPERATOR(gt),
    OPERATOR(ge),
    OPERATOR(eq),
    OPERATOR(ne),
    OPERATOR(min),
    OPERATOR(max),
    OPERATOR(pow),
    {"lshift", [](const Operands& x) { return py::repr(py::lshift(as<int64_t>(x, 0), as<int64_t>(x, 1))); }},
    {"rshift", [](const Operands& x) { return py::repr(py::rshift(as<int64_t>(x, 0), as<int64_t>(x, 1))); }},
    {"neg", unary([](auto x) { return py::neg(x); })},
    {"abs", unary([](auto x) { return py::abs(x); })},
    {"invert",
     [](const Operands& x) {
       const auto* flag = std::get_if<bool>(&x.at(0));
       return py::repr(flag != nullptr ? py::invert(*flag) : py::invert(as<int64_t>(x, 0)));
     }},
    {"int", converting([](const auto& x) { return py::to_int(x); })},
    {"float", converting([](const auto& x) { return py::to_float(x); })},
    {"bool", unary([](auto x) { return py::truth(x); })},
    {"str", unary([](auto x) { return py::str(x); })},
    {"repr", unary([](auto x) { return py::repr(x); })},
    {"round", unary([](auto x) { return py::round(x); })},
    {"round_digits",
     [](const Operands& x) {
       return with_number(x.at(0), [&](auto a) { return py::repr(py::round(a, as<int64_t>(x, 1))); });
     }},
    UNARY(sqrt),
    UNARY(exp),
    UNARY(log),
    UNARY(log2),
    UNARY(log10),
    UNARY(log1p),
    UNARY(expm1),
    UNARY(sin),
    UNARY(cos),
    UNARY(tan),
    UNARY(asin),
    UNARY(acos),
    UNARY(atan),
    UNARY(sinh),
    UNARY(cosh),
    UNARY(tanh),
    UNARY(asinh),
    UNARY(acosh),
    UNARY(atanh),
    UNARY(fabs),
    UNARY(radians),
    UNARY(degrees),
    UNARY(erf),
    UNARY(erfc),
    UNARY(gamma),
    UNARY(lgamma),
    ROUNDING(isnan),
    ROUNDING(isinf),
    ROUNDING(isfinite),
    ROUNDING(ceil),
    ROUNDING(floor),
    ROUNDING(trunc),
    BINARY(atan2),
    BINARY(hypot),
    BINARY(fmod),
    BINARY(pow),
    BINARY(copysign),
    {"math.log_base",
     binary([](auto x, auto b) { return py::math::log(static_cast<double>(x), static_cast<double>(b)); })},
    INT_BINARY(gcd),
    INT_BINARY(lcm),
    INT_BINARY(comb),
    INT_BINARY(perm),
    {"math.factorial", [](const Operands& x) { return py::repr(py::math::factorial(as<int64_t>(x, 0))); }},
    {"math.isqrt", [](const Operands& x) { return py::repr(py::math::isqrt(as<int64_t>(x, 0))); }},
};

}  // namespace

int main(int, char** argv) {
  run_expectations(argv[1], kTable);
  CHECK(py::gt(py::math::gcd(12, 18, 27), 2));
  CHECK_TEXT(py::repr(py::min(3, 1, 2)), "1");
  CHECK_TEXT(py::complex_repr({1.0, -2.5}), "(1-2.5j)");
  return report();
}
