// Operators about equal elements, and quantiles.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <torch2cpp/slim/operators.h>
#include <torch2cpp/slim/rows.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// The first of each run of equal elements in `order`; `inverse` are the runs' numbers by place, `counts` their lengths.
template <class T>
std::tuple<Tensor, Tensor, Tensor> runs_of(const T* elements, const std::vector<int64_t>& order, Shape sizes,
                                           ScalarType dtype) {
  std::vector<T> values;
  std::vector<int64_t> counts;
  const Tensor inverse = slim::empty(sizes, ScalarType::Long);
  for (const int64_t place : order) {
    // NaN differs from everything, itself too.
    if (values.empty() || !(elements[place] == values.back())) {
      values.push_back(elements[place]);
      counts.push_back(0);
    }
    ++counts.back();
    slim::data<int64_t>(inverse)[place] = static_cast<int64_t>(values.size()) - 1;
  }
  const int64_t made[] = {static_cast<int64_t>(values.size())};
  const Tensor out = slim::empty(made, dtype), lengths = slim::empty(made, ScalarType::Long);
  store(values.data(), impl(out).data(), dtype, 1, made[0]);
  std::copy(counts.begin(), counts.end(), slim::data<int64_t>(lengths));
  return {out, inverse, lengths};
}

std::tuple<Tensor, Tensor, Tensor> unique_runs(const Tensor& self, bool sorted, bool return_inverse,
                                               bool return_counts) {
  std::tuple<Tensor, Tensor, Tensor> out;
  with_compute(impl(self).dtype, [&]<class T>(T) {
    const Tensor from = slim::contiguous(self, dtype_of<T>);
    const T* elements = slim::data<T>(from);
    std::vector<int64_t> order(static_cast<std::size_t>(impl(self).numel()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = static_cast<int64_t>(i);
    }
    if (sorted) {
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const T x = elements[a], y = elements[b];
        return (y != y && x == x) || x < y;
      });
    }
    out = runs_of(elements, order, impl(self).sizes(), impl(self).dtype);
  });
  const int64_t none[] = {0};
  if (!return_inverse) {
    std::get<1>(out) = slim::empty(none, ScalarType::Long);
  }
  if (!return_counts) {
    std::get<2>(out) = slim::empty(none, ScalarType::Long);
  }
  return out;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  // Sorted in either case, as eager's own are.
  return unique_runs(self, true, return_inverse, return_counts);
}
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts) {
  return unique_runs(self, false, return_inverse, return_counts);
}
Tensor isin_Tensor_Tensor(const Tensor& elements, const Tensor& test_elements, bool invert) {
  const Tensor each = torch2cpp::unsqueeze(elements, -1), all = flatten_using_ints(test_elements, 0, -1);
  const Tensor found = any_dim(eq_Tensor(each, all), -1, false);
  return invert ? logical_not(found) : found;
}
Tensor isin_Tensor_Scalar(const Tensor& elements, Number test_element, bool invert) {
  return invert ? ne_Scalar(elements, test_element) : eq_Scalar(elements, test_element);
}
Tensor argwhere(const Tensor& self) { return nonzero(self); }

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const OptionalTensor& prepend, const OptionalTensor& append) {
  Tensors parts;
  if (prepend && prepend->defined()) {
    parts.push_back(*prepend);
  }
  parts.push_back(self);
  if (append && append->defined()) {
    parts.push_back(*append);
  }
  Tensor out = parts.size() == 1 ? self : cat(parts, dim);
  for (int64_t i = 0; i < n && torch2cpp::size(out, dim) > 0; ++i) {
    const int64_t length = torch2cpp::size(out, dim);
    const Tensor later = torch2cpp::narrow(out, dim, 1, length - 1),
                 earlier = torch2cpp::narrow(out, dim, 0, length - 1);
    out = impl(out).dtype == ScalarType::Bool ? logical_xor(later, earlier) : sub_Tensor(later, earlier, 1);
  }
  return out;
}

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  constexpr std::string_view kNames[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  if (std::ranges::find(kNames, interpolation) == std::end(kNames)) {
    raise_runtime_error("quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got " +
                        std::string(interpolation));
  }
  if (!is_floating(impl(self).dtype) || impl(q).dtype != impl(self).dtype || impl(q).rank() > 1) {
    raise_runtime_error("quantile() input and q tensors must be of the same floating dtype, q a scalar or 1D");
  }
  if (impl(self).numel() == 0) {
    raise_runtime_error("quantile() input tensor must be non-empty");
  }
  const Tensor flat = dim ? self : flatten_using_ints(self, 0, -1);
  const int64_t at = dim.value_or(0);
  const Tensor wanted = slim::contiguous(q, ScalarType::Double);
  Tensors made;
  for (int64_t i = 0; i < impl(q).numel(); ++i) {
    const double share = slim::data<double>(wanted)[i];
    if (!(share >= 0 && share <= 1)) {
      raise_runtime_error("quantile() q values must be in the range [0, 1]");
    }
    const int64_t dims[] = {at};
    made.push_back(reduce<void>(flat, Shape(dims), keepdim && dim.has_value(), impl(self).dtype, impl(self).dtype,
                                [&]<class T>(const T* row, int64_t length) {
                                  std::vector<T> sorted(row, row + length);
                                  if (std::ranges::any_of(sorted, [](T x) { return x != x; })) {
                                    return std::numeric_limits<T>::quiet_NaN();
                                  }
                                  std::ranges::sort(sorted);
                                  const double place = share * static_cast<double>(length - 1),
                                               below = std::floor(place);
                                  const auto low = static_cast<std::size_t>(below),
                                             high = static_cast<std::size_t>(std::ceil(place));
                                  const double part = interpolation == "linear"     ? place - below
                                                      : interpolation == "midpoint" ? (low == high ? 0.0 : 0.5)
                                                      : interpolation == "lower"    ? 0.0
                                                      : interpolation == "higher"   ? (low == high ? 0.0 : 1.0)
                                                                                    : std::nearbyint(place) - below;
                                  return static_cast<T>(sorted[low] + part * (sorted[high] - sorted[low]));
                                }));
  }
  Tensor out = impl(q).rank() == 0 ? made.at(0)
               : made.empty()      ? new_empty(self, Ints({0}), std::nullopt)
                                   : stack(made, 0);
  for (int64_t d = 0; !dim && keepdim && d < impl(self).rank(); ++d) {
    out = torch2cpp::unsqueeze(out, -1);
  }
  return out;
}
Tensor quantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                       std::string_view interpolation) {
  return quantile(self, to_dtype(number(q), impl(self).dtype, true), dim, keepdim, interpolation);
}

}  // namespace torch2cpp::slim::op
