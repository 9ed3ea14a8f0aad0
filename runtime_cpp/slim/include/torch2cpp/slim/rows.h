// Reductions see the reduced dimensions as one row of elements behind each other.
#pragma once

#include <cstdint>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/values.h>

namespace torch2cpp::slim {

// The elements of `self` as `count` rows of `length`: contiguous, converted to the dtype computed in.
struct Rows {
  Tensor elements;
  int64_t count, length;
  // Sizes of a result with one value a row.
  std::vector<int64_t> sizes;

  template <class T>
  const T* row(int64_t i) const {
    return data<T>(elements) + i * length;
  }
};

// Rows along `dims`, all of them where there are none. IndexError and RuntimeError as eager.
Rows rows_of(const Tensor& self, Shape dims, bool keepdim, ScalarType dtype);

// One value a row: `f(row, length)` computed in `dtype`, stored as `out_dtype`.
template <class Out, class F>
Tensor reduce(const Tensor& self, Shape dims, bool keepdim, ScalarType dtype, ScalarType out_dtype, F f) {
  Tensor out;
  with_compute(dtype, [&]<class T>(T) {
    const Rows rows = rows_of(self, dims, keepdim, dtype_of<T>);
    using Result = std::conditional_t<std::is_void_v<Out>, T, Out>;
    std::vector<Result> results(static_cast<std::size_t>(rows.count));
    for (int64_t i = 0; i < rows.count; ++i) {
      results[static_cast<std::size_t>(i)] = static_cast<Result>(f(rows.row<T>(i), rows.length));
    }
    out = empty(rows.sizes, out_dtype);
    store(results.data(), impl(out).data(), out_dtype, 1, rows.count);
  });
  return out;
}

// A row for a row: `f(from, to, length)` along one dimension.
template <class F>
Tensor transform_rows(const Tensor& self, int64_t dim, ScalarType dtype, F f) {
  Tensor out = empty(impl(self).sizes(), dtype);
  const int64_t at = wrap(dim, impl(self).rank());
  with_compute(dtype, [&]<class T>(T) {
    const int64_t dims[] = {at};
    const Rows rows = rows_of(self, impl(self).rank() == 0 ? Shape{} : Shape(dims), false, dtype_of<T>);
    Tensor made = empty(impl(rows.elements).sizes(), dtype_of<T>);
    for (int64_t i = 0; i < rows.count; ++i) {
      f(rows.row<T>(i), data<T>(made) + i * rows.length, rows.length);
    }
    // The dimension is the last one there.
    const Impl& to = impl(out);
    std::vector<int64_t> sizes, strides;
    for (std::size_t d = 0; d < to.sizes().size(); ++d) {
      if (static_cast<int64_t>(d) != at) {
        sizes.push_back(to.sizes()[d]);
        strides.push_back(to.strides()[d]);
      }
    }
    if (!to.sizes().empty()) {
      sizes.push_back(to.sizes()[static_cast<std::size_t>(at)]);
      strides.push_back(to.strides()[static_cast<std::size_t>(at)]);
    }
    copy(impl(view_of(to, sizes, strides, to.offset)), impl(view_of(impl(made), sizes, {}, 0)));
  });
  return out;
}

}  // namespace torch2cpp::slim
