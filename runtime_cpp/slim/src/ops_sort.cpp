// Operators that order elements.
#include <algorithm>
#include <numeric>
#include <vector>

#include <torch2cpp/slim/operators.h>
#include <torch2cpp/slim/rows.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// NaN counts as more than everything.
template <class T>
bool before(T a, T b, bool descending) {
  return descending ? (a != a && b == b) || a > b : (b != b && a == a) || a < b;
}

// The first `k` of each row in order, values and positions, along `dim`.
template <class Sort>
std::tuple<Tensor, Tensor> ordered(const Tensor& self, int64_t dim, int64_t k, Sort sort) {
  const int64_t at = wrap(dim, impl(self).rank());
  std::vector<int64_t> sizes(impl(self).sizes().begin(), impl(self).sizes().end());
  if (!sizes.empty()) {
    sizes[static_cast<std::size_t>(at)] = k;
  }
  Tensor values = slim::empty(sizes, impl(self).dtype), places = slim::empty(sizes, ScalarType::Long);
  with_compute(impl(self).dtype, [&]<class T>(T) {
    const int64_t dims[] = {at};
    const Rows rows = rows_of(self, sizes.empty() ? Shape{} : Shape(dims), false, dtype_of<T>);
    std::vector<int64_t> order(static_cast<std::size_t>(rows.length));
    std::vector<T> best(static_cast<std::size_t>(k));
    const int64_t step = sizes.empty() ? 1 : impl(values).strides()[static_cast<std::size_t>(at)];
    const auto bytes = static_cast<int64_t>(impl(values).width());
    for (int64_t i = 0; i < rows.count; ++i) {
      std::iota(order.begin(), order.end(), 0);
      const T* row = rows.row<T>(i);
      sort(order, row);
      // Where the row begins in the results: the dimensions behind `dim` run fastest.
      const int64_t start = i / step * step * k + i % step;
      for (int64_t j = 0; j < k; ++j) {
        best[static_cast<std::size_t>(j)] = row[order[static_cast<std::size_t>(j)]];
        slim::data<int64_t>(places)[start + j * step] = order[static_cast<std::size_t>(j)];
      }
      store(best.data(), impl(values).data() + start * bytes, impl(values).dtype, step, k);
    }
  });
  return {values, places};
}

}  // namespace

std::tuple<Tensor, Tensor> sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending) {
  const int64_t length = impl(self).rank() == 0 ? 1 : torch2cpp::size(self, dim);
  return ordered(self, dim, length, [&](std::vector<int64_t>& order, const auto* row) {
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return before(row[a], row[b], descending); });
  });
}
std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  return sort_stable(self, true, dim, descending);
}
Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  return std::get<1>(sort_stable(self, true, dim, descending));
}
Tensor argsort_stable(const Tensor& self, bool, int64_t dim, bool descending) { return argsort(self, dim, descending); }

std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool) {
  const int64_t length = impl(self).rank() == 0 ? 1 : torch2cpp::size(self, dim);
  if (k < 0 || k > length) {
    raise_runtime_error("selected index k out of range");
  }
  return ordered(self, dim, k, [&](std::vector<int64_t>& order, const auto* row) {
    // The choice among equals is eager's own, which depends on its algorithm: partial sorting where few are wanted.
    const auto compare = [&](int64_t a, int64_t b) { return before(row[a], row[b], largest); };
    if (k * 64 <= length) {
      std::partial_sort(order.begin(), order.begin() + k, order.end(), compare);
    } else if (k != 0) {
      std::nth_element(order.begin(), order.begin() + k - 1, order.end(), compare);
      std::sort(order.begin(), order.begin() + k - 1, compare);
    }
  });
}

}  // namespace torch2cpp::slim::op
