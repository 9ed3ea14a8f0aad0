// Elementwise operators in one line: dtypes, broadcasting, and the loop.
#pragma once

#include <algorithm>
#include <string>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/values.h>

namespace torch2cpp::slim {

// A result for operands that broadcast, laid out like the operand that has its sizes already.
inline Tensor result_for(std::initializer_list<const Impl*> operands, ScalarType dtype) {
  const Extents sizes = broadcast(operands);
  for (const Impl* t : operands) {
    if (std::ranges::equal(t->sizes(), sizes.sizes()) && t->rank() != 0) {
      return empty_like(*t, dtype);
    }
  }
  return empty(sizes.sizes(), dtype);
}

// f of each element, computed in the tensor's own dtype.
template <class F>
Tensor map(const Tensor& self, F f) {
  const Tensor out = empty_like(impl(self));
  with_compute(impl(self).dtype, [&]<class T>(T) {
    elementwise<T, T, 1>(impl(out), {&impl(self)}, [&](T x) { return static_cast<T>(f(x)); });
  });
  return out;
}

// f of each element as a float: ints become float32.
template <class F>
Tensor map_float(const Tensor& self, F f) {
  const ScalarType dtype = float_type(impl(self).dtype);
  const Tensor out = empty_like(impl(self), dtype);
  if (compute_type(dtype) == Compute::Double) {
    elementwise<double, double, 1>(impl(out), {&impl(self)}, f);
  } else {
    elementwise<float, float, 1>(impl(out), {&impl(self)}, f);
  }
  return out;
}

// A predicate of each element.
template <class F>
Tensor test(const Tensor& self, F f) {
  const Tensor out = empty_like(impl(self), ScalarType::Bool);
  with_compute(impl(self).dtype, [&]<class T>(T) { elementwise<T, bool, 1>(impl(out), {&impl(self)}, f); });
  return out;
}

// f of pairs of elements, into `out`, computed in `dtype`.
template <class F>
void combine_into(const Impl& out, const Tensor& a, const Tensor& b, ScalarType dtype, F f) {
  with_compute(dtype, [&]<class T>(T) {
    elementwise<T, T, 2>(out, {&impl(a), &impl(b)}, [&](T x, T y) { return static_cast<T>(f(x, y)); });
  });
}

template <class F>
Tensor combine(const Tensor& a, const Tensor& b, F f) {
  const ScalarType dtype = result_type({&impl(a), &impl(b)});
  const Tensor out = result_for({&impl(a), &impl(b)}, dtype);
  combine_into(impl(out), a, b, dtype, f);
  return out;
}

// As combine, with ints made floats.
template <class F>
Tensor combine_float(const Tensor& a, const Tensor& b, F f) {
  const ScalarType dtype = float_type(result_type({&impl(a), &impl(b)}));
  const Tensor out = result_for({&impl(a), &impl(b)}, dtype);
  if (compute_type(dtype) == Compute::Double) {
    elementwise<double, double, 2>(impl(out), {&impl(a), &impl(b)}, f);
  } else {
    elementwise<float, float, 2>(impl(out), {&impl(a), &impl(b)}, f);
  }
  return out;
}

template <class F>
Tensor compare(const Tensor& a, const Tensor& b, F f) {
  const Tensor out = result_for({&impl(a), &impl(b)}, ScalarType::Bool);
  with_compute(result_type({&impl(a), &impl(b)}),
               [&]<class T>(T) { elementwise<T, bool, 2>(impl(out), {&impl(a), &impl(b)}, f); });
  return out;
}

// Writes a result over the tensor; eager refuses what its dtype cannot take.
inline Tensor write_over(const Tensor& self, const Tensor& result) {
  const ScalarType to = impl(self).dtype, from = impl(result).dtype;
  const auto level = [](ScalarType d) {
    return d == ScalarType::Bool ? 0 : is_complex(d) ? 3 : is_floating(d) ? 2 : 1;
  };
  if (level(from) > level(to)) {
    raise_runtime_error("result type " + std::string(dtype_name(from)) + " can't be cast to the desired output type " +
                        std::string(dtype_name(to)));
  }
  if (!std::ranges::equal(impl(self).sizes(), impl(result).sizes())) {
    raise_runtime_error("output with shape " + shape_text(impl(self).sizes()) + " doesn't match the broadcast shape " +
                        shape_text(impl(result).sizes()));
  }
  copy(impl(self), impl(result));
  return self;
}

}  // namespace torch2cpp::slim
