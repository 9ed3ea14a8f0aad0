// Operators that make tensors, and copies.
#include <cmath>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/operators.h>

namespace torch2cpp::slim::op {
namespace {

Tensor filled(Shape sizes, ScalarType dtype, Number value) {
  Tensor out = slim::empty(sizes, dtype);
  if (value.is_float()) {
    slim::fill(impl(out), value.as<double>());
  } else {
    slim::fill(impl(out), value.as<int64_t>());
  }
  return out;
}

ScalarType dtype_of_number(Number value) { return value.is_float() ? ScalarType::Float : value.kind(); }

// start, start + step, ...
template <class T>
Tensor steps(T start, T step, int64_t count, ScalarType dtype) {
  Tensor out = slim::empty({&count, 1}, dtype);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = start + static_cast<T>(i) * step;
  }
  store(values.data(), impl(out).data(), dtype, 1, count);
  return out;
}

}  // namespace

Tensor empty_memory_format(Ints size, std::optional<ScalarType> dtype) {
  return slim::empty(size.get(), dtype.value_or(ScalarType::Float));
}
Tensor zeros(Ints size, std::optional<ScalarType> dtype) {
  return filled(size.get(), dtype.value_or(ScalarType::Float), 0);
}
Tensor ones(Ints size, std::optional<ScalarType> dtype) {
  return filled(size.get(), dtype.value_or(ScalarType::Float), 1);
}
Tensor full(Ints size, Number fill_value, std::optional<ScalarType> dtype) {
  return filled(size.get(), dtype.value_or(dtype_of_number(fill_value)), fill_value);
}
Tensor empty_like(const Tensor& self, std::optional<ScalarType> dtype) {
  return slim::empty_like(impl(self), dtype.value_or(impl(self).dtype));
}
Tensor full_like(const Tensor& self, Number fill_value, std::optional<ScalarType> dtype) {
  Tensor out = empty_like(self, dtype);
  return fill_in_place_Scalar(out, fill_value);
}
Tensor zeros_like(const Tensor& self, std::optional<ScalarType> dtype) { return full_like(self, 0, dtype); }
Tensor ones_like(const Tensor& self, std::optional<ScalarType> dtype) { return full_like(self, 1, dtype); }
Tensor new_empty(const Tensor& self, Ints size, std::optional<ScalarType> dtype) {
  return slim::empty(size.get(), dtype.value_or(impl(self).dtype));
}
Tensor new_full(const Tensor& self, Ints size, Number fill_value, std::optional<ScalarType> dtype) {
  return filled(size.get(), dtype.value_or(impl(self).dtype), fill_value);
}
Tensor new_zeros(const Tensor& self, Ints size, std::optional<ScalarType> dtype) {
  return new_full(self, size, 0, dtype);
}
Tensor new_ones(const Tensor& self, Ints size, std::optional<ScalarType> dtype) {
  return new_full(self, size, 1, dtype);
}
Tensor scalar_tensor(Number s, std::optional<ScalarType> dtype) {
  return filled({}, dtype.value_or(ScalarType::Float), s);
}

Tensor arange_start_step(Number start, Number end, Number step, std::optional<ScalarType> dtype) {
  const bool floats = start.is_float() || end.is_float() || step.is_float();
  const ScalarType type = dtype.value_or(floats ? ScalarType::Float : ScalarType::Long);
  const double first = start.as<double>(), last = end.as<double>(), by = step.as<double>();
  if (by == 0.0) {
    raise_runtime_error("step must be nonzero");
  }
  if ((by > 0 && last < first) || (by < 0 && last > first)) {
    raise_runtime_error("upper bound and lower bound inconsistent with step sign");
  }
  if (!floats) {
    const int64_t a = start.as<int64_t>(), b = end.as<int64_t>(), c = step.as<int64_t>();
    return steps<int64_t>(a, c, (b - a + c - (c > 0 ? 1 : -1)) / c, type);
  }
  const auto count = static_cast<int64_t>(std::ceil((last - first) / by));
  return compute_type(type) == Compute::Int && !floats
             ? steps<int64_t>(start.as<int64_t>(), step.as<int64_t>(), count, type)
             : steps<double>(first, by, count, type);
}
Tensor arange_start(Number start, Number end, std::optional<ScalarType> dtype) {
  return arange_start_step(start, end, 1, dtype);
}
Tensor arange(Number end, std::optional<ScalarType> dtype) { return arange_start_step(0, end, 1, dtype); }

Tensor linspace(Number start, Number end, int64_t steps, std::optional<ScalarType> dtype) {
  if (steps < 0) {
    raise_runtime_error("number of steps must be non-negative");
  }
  const ScalarType type = dtype.value_or(ScalarType::Float);
  const auto fill_in = [&]<class T>(T) {
    Tensor out = slim::empty({&steps, 1}, type);
    std::vector<T> values(static_cast<std::size_t>(steps));
    const T first = start.as<T>(), last = end.as<T>();
    const T by = steps > 1 ? (last - first) / static_cast<T>(steps - 1) : T{0};
    for (int64_t i = 0; i < steps; ++i) {
      // From both ends, as eager does, so that it is symmetric.
      values[static_cast<std::size_t>(i)] =
          i < steps / 2 ? first + by * static_cast<T>(i) : last - by * static_cast<T>(steps - 1 - i);
    }
    if (steps == 1) {
      values[0] = first;
    }
    store(values.data(), impl(out).data(), type, 1, steps);
    return out;
  };
  return compute_type(type) == Compute::Float ? fill_in(float{}) : fill_in(double{});
}

Tensor eye(int64_t n, std::optional<ScalarType> dtype) {
  const int64_t sizes[] = {n, n}, along[] = {n + 1};
  Tensor out = filled(sizes, dtype.value_or(ScalarType::Float), 0);
  slim::fill(impl(view_of(impl(out), {&n, 1}, along, 0)), int64_t{1});
  return out;
}

Tensor clone(const Tensor& self) { return slim::clone(self); }
Tensor contiguous(const Tensor& self) { return slim::contiguous(self); }
Tensor _to_copy(const Tensor& self, std::optional<ScalarType> dtype) {
  Tensor out = slim::empty_like(impl(self), dtype.value_or(impl(self).dtype));
  slim::copy(impl(out), impl(self));
  return out;
}
Tensor to_dtype(const Tensor& self, ScalarType dtype, bool copy) {
  return dtype == impl(self).dtype && !copy ? self : _to_copy(self, dtype);
}
Tensor to_dtype_layout(const Tensor& self, std::optional<ScalarType> dtype, bool copy) {
  return to_dtype(self, dtype.value_or(impl(self).dtype), copy);
}
Tensor to_device(const Tensor& self, ScalarType dtype, bool copy) { return to_dtype(self, dtype, copy); }
Tensor to_other(const Tensor& self, const Tensor& other, bool copy) { return to_dtype(self, impl(other).dtype, copy); }
Tensor type_as(const Tensor& self, const Tensor& other) { return to_dtype(self, impl(other).dtype, false); }

Tensor copy_in_place(const Tensor& self, const Tensor& src) {
  // A source on the same memory may be overwritten before it is read.
  if (impl(self).storage.get() == impl(src).storage.get()) {
    slim::copy(impl(self), impl(clone_contiguous(src)));
  } else {
    slim::copy(impl(self), impl(src));
  }
  return self;
}
Tensor zero_in_place(const Tensor& self) { return fill_in_place_Scalar(self, 0); }
Tensor fill_in_place_Scalar(const Tensor& self, Number value) {
  if (value.is_float()) {
    slim::fill(impl(self), value.as<double>());
  } else {
    slim::fill(impl(self), value.as<int64_t>());
  }
  return self;
}
Tensor fill_in_place_Tensor(const Tensor& self, const Tensor& value) {
  if (impl(value).rank() != 0) {
    raise_runtime_error("fill_ only supports 0-dimension value tensor but got tensor with " +
                        std::to_string(impl(value).rank()) + " dimensions.");
  }
  return copy_in_place(self, value);
}

}  // namespace torch2cpp::slim::op
