// Places of values in sorted rows.
#include <string>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/operators.h>

namespace torch2cpp::slim::op {
namespace {

// The first place whose element is not before the value, or with `right` is after it; NaN is after everything.
template <class T>
int64_t place(const T* row, const int64_t* order, int64_t length, T value, bool right) {
  int64_t first = 0, last = length;
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    const T found = row[order == nullptr ? middle : order[middle]];
    if (right ? !(found > value) : !(found >= value)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

}  // namespace

Tensor searchsorted_Tensor(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                           std::optional<std::string_view> side, const OptionalTensor& sorter) {
  if (side && *side != "left" && *side != "right") {
    raise_runtime_error("torch.searchsorted(): side can only be 'left' or 'right' but got " + std::string(*side));
  }
  if (side && *side == "left" && right) {
    raise_runtime_error(
        "torch.searchsorted(): side and right can't be set to opposites, got side of left while right "
        "was True");
  }
  const bool after = right || (side && *side == "right");
  const Impl &rows = impl(sorted_sequence), &values = impl(self);
  if (rows.rank() == 0) {
    raise_runtime_error("torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1");
  }
  const auto width = rows.sizes().size();
  const bool shared = width == 1;
  if (!shared && (values.sizes().size() != width ||
                  !std::ranges::equal(rows.sizes().first(width - 1), values.sizes().first(width - 1)))) {
    raise_runtime_error(
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
        "boundaries tensor and input value tensor must match");
  }
  const ScalarType dtype = promote(rows.dtype, values.dtype);
  const int64_t length = rows.sizes().back();
  const int64_t each = shared ? values.numel() : values.sizes().back();
  const Tensor out = slim::empty(values.sizes(), ScalarType::Long);
  const Tensor order = sorter && sorter->defined() ? slim::contiguous(*sorter, ScalarType::Long) : Tensor();
  with_compute(dtype, [&]<class T>(T) {
    const Tensor from = slim::contiguous(sorted_sequence, dtype_of<T>), wanted = slim::contiguous(self, dtype_of<T>);
    for (int64_t i = 0; i < values.numel(); ++i) {
      const int64_t row = shared ? 0 : i / each * length;
      const int64_t* permuted = order.defined() ? slim::data<int64_t>(order) + row : nullptr;
      slim::data<int64_t>(out)[i] = place(slim::data<T>(from) + row, permuted, length, slim::data<T>(wanted)[i], after);
    }
  });
  return out_int32 ? slim::contiguous(out, ScalarType::Int) : out;
}
Tensor searchsorted_Scalar(const Tensor& sorted_sequence, Number self, bool out_int32, bool right,
                           std::optional<std::string_view> side, const OptionalTensor& sorter) {
  return searchsorted_Tensor(sorted_sequence, number(self), out_int32, right, side, sorter);
}
Tensor bucketize_Tensor(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  return searchsorted_Tensor(boundaries, self, out_int32, right, std::nullopt, std::nullopt);
}
Tensor bucketize_Scalar(Number self, const Tensor& boundaries, bool out_int32, bool right) {
  return bucketize_Tensor(number(self), boundaries, out_int32, right);
}

}  // namespace torch2cpp::slim::op
