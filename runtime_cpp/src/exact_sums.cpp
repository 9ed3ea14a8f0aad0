#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <torch2cpp/errors.h>
#include <torch2cpp/exact_sums.h>

namespace torch2cpp {
namespace {

// A sum kept as floats that do not overlap, the smallest first: nothing is lost.
class ExactSum {
 public:
  void add(double x) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      double y = parts_[i];
      if (std::fabs(x) < std::fabs(y)) {
        std::swap(x, y);
      }
      const double high = x + y;
      const double low = y - (high - x);
      if (low != 0.0) {
        parts_[kept++] = low;
      }
      x = high;
    }
    if (std::isinf(x)) {
      raise_overflow("intermediate overflow in fsum");
    }
    parts_.resize(kept);
    if (x != 0.0) {
      parts_.push_back(x);
    }
  }

  void add_product(double a, double b) {
    const double product = a * b;
    add(product);
    add(std::fma(a, b, -product));
  }

  // The float that is nearest to the sum.
  double rounded() const {
    std::size_t n = parts_.size();
    if (n == 0) {
      return 0.0;
    }
    double high = parts_[--n], low = 0.0;
    while (n > 0 && low == 0.0) {
      const double x = high, y = parts_[--n];
      high = x + y;
      low = y - (high - x);
    }
    // Half way between two floats, what is left decides.
    if (n > 0 && ((low < 0.0 && parts_[n - 1] < 0.0) || (low > 0.0 && parts_[n - 1] > 0.0))) {
      const double y = low * 2.0, x = high + y;
      if (y == x - high) {
        high = x;
      }
    }
    return high;
  }

  // The float nearest to the sum divided by a whole number.
  double divided(double divisor) const {
    double out = rounded() / divisor;
    for (int round = 0; round < 4; ++round) {
      ExactSum left = *this;
      left.add_product(-out, divisor);
      const double better = out + left.rounded() / divisor;
      if (better == out) {
        break;
      }
      out = better;
    }
    return out;
  }

  // The float nearest to the square root of the same.
  double root_of_divided(double divisor) const {
    double out = std::sqrt(divided(divisor));
    for (int round = 0; round < 4 && out != 0.0; ++round) {
      const double square = out * out;
      ExactSum left = *this;
      left.add_product(-square, divisor);
      left.add_product(-std::fma(out, out, -square), divisor);
      const double better = out + left.rounded() / (2.0 * out * divisor);
      if (better == out) {
        break;
      }
      out = better;
    }
    return out;
  }

  const std::vector<double>& parts() const { return parts_; }

 private:
  std::vector<double> parts_;
};

template <class T>
double sum_of(const List<T>& xs) {
  ExactSum total;
  double special = 0.0, infinite = 0.0;
  for (const T& item : xs.items()) {
    const auto x = static_cast<double>(item);
    if (std::isfinite(x)) {
      total.add(x);
    } else {
      infinite += std::isinf(x) ? x : 0.0;
      special += x;
    }
  }
  if (special == 0.0) {
    return total.rounded();
  }
  if (std::isnan(infinite)) {
    raise_value_error("-inf + inf in fsum");
  }
  return special;
}

bool all_finite(const List<double>& xs) {
  return std::all_of(xs.items().begin(), xs.items().end(), [](double x) { return std::isfinite(x); });
}

// The sum of what is infinite or NaN.
double special(const List<double>& xs) {
  double total = 0.0;
  for (const double x : xs.items()) {
    total += std::isfinite(x) ? 0.0 : x;
  }
  return total;
}

double size(const List<double>& xs) { return static_cast<double>(xs.items().size()); }

// n times the sum of squares, less the square of the sum.
ExactSum deviations(const List<double>& xs) {
  ExactSum total, out;
  for (const double x : xs.items()) {
    total.add(x);
    const double square = x * x;
    out.add_product(square, size(xs));
    out.add_product(std::fma(x, x, -square), size(xs));
  }
  for (const double a : total.parts()) {
    for (const double b : total.parts()) {
      out.add_product(-a, b);
    }
  }
  return out;
}

double spread(const List<double>& xs, double divisor) {
  if (!all_finite(xs)) {
    raise_error("AttributeError", "'float' object has no attribute 'numerator'");
  }
  return deviations(xs).root_of_divided(divisor);
}

List<double> as_floats(const List<int64_t>& xs) {
  List<double> out;
  for (const int64_t x : xs.items()) {
    out.append(static_cast<double>(x));
  }
  return out;
}

}  // namespace

double math::fsum(const List<double>& xs) { return sum_of(xs); }
double math::fsum(const List<int64_t>& xs) { return sum_of(xs); }

double statistics::mean(const List<double>& xs) {
  if (!all_finite(xs)) {
    return special(xs) / size(xs);
  }
  ExactSum total;
  for (const double x : xs.items()) {
    total.add(x);
  }
  return total.divided(size(xs));
}

double statistics::variance(const List<double>& xs) {
  const double n = size(xs);
  return all_finite(xs) ? deviations(xs).divided(n * (n - 1)) : special(xs) / (n - 1);
}

double statistics::pvariance(const List<double>& xs) {
  const double n = size(xs);
  return all_finite(xs) ? deviations(xs).divided(n * n) : special(xs) / n;
}

double statistics::stdev(const List<double>& xs) { return spread(xs, size(xs) * (size(xs) - 1)); }
double statistics::pstdev(const List<double>& xs) { return spread(xs, size(xs) * size(xs)); }
double statistics::stdev(const List<int64_t>& xs) { return stdev(as_floats(xs)); }
double statistics::pstdev(const List<int64_t>& xs) { return pstdev(as_floats(xs)); }

}  // namespace torch2cpp
