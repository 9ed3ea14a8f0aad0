#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/values.h>

namespace torch2cpp::slim {

Tensor number(Number value) {
  Tensor out = empty({}, value.kind());
  if (value.is_float()) {
    fill(impl(out), value.as<double>());
  } else {
    fill(impl(out), value.as<int64_t>());
  }
  impl(out).is_number = true;
  return out;
}

ScalarType result_type(const Tensor& self, Number other) {
  Impl as_tensor;
  as_tensor.dtype = other.kind();
  as_tensor.is_number = true;
  return result_type({&impl(self), &as_tensor});
}

ScalarType float_type(ScalarType dtype) { return is_floating(dtype) || is_complex(dtype) ? dtype : ScalarType::Float; }

int64_t wrap(int64_t dim, int64_t rank) { return wrap_dim(dim, rank == 0 ? 1 : rank); }

}  // namespace torch2cpp::slim
