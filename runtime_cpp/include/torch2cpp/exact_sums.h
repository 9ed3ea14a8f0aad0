// Sums that are rounded once: math.fsum, and the means and variances of Python's statistics.
#pragma once

#include <cstdint>

#include <torch2cpp/list.h>

namespace torch2cpp {

namespace math {

// Raises OverflowError and ValueError as Python does.
double fsum(const List<double>& xs);
double fsum(const List<int64_t>& xs);

}  // namespace math

// Of floats; there are as many as Python asks for. What is infinite or NaN counts as in Python.
namespace statistics {

double mean(const List<double>& xs);
double variance(const List<double>& xs);
double pvariance(const List<double>& xs);
double stdev(const List<double>& xs);
double pstdev(const List<double>& xs);
double stdev(const List<int64_t>& xs);
double pstdev(const List<int64_t>& xs);

}  // namespace statistics

}  // namespace torch2cpp
