// Views: sizes, strides and offset worked out here, over aoti_torch__reinterpret_tensor.
#include <algorithm>
#include <array>
#include <string>

#include <torch2cpp/dispatch.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp {
namespace {

// Where the elements of a view lie, relative to its source; no memory from the heap.
class Geometry {
 public:
  explicit Geometry(const Tensor& t) : source_(&t) {
    const auto all_sizes = sizes(t), all_strides = strides(t);
    if (all_sizes.size() >= kMost) {
      raise_not_implemented("a view of a tensor with 64 dimensions or more");
    }
    rank_ = all_sizes.size();
    std::copy(all_sizes.begin(), all_sizes.end(), sizes_.begin());
    std::copy(all_strides.begin(), all_strides.end(), strides_.begin());
  }

  int64_t rank() const { return static_cast<int64_t>(rank_); }
  int64_t& size(int64_t dim) { return sizes_[static_cast<std::size_t>(dim)]; }
  int64_t& stride(int64_t dim) { return strides_[static_cast<std::size_t>(dim)]; }
  void advance(int64_t elements) { offset_ += elements; }

  void remove(int64_t dim) {
    const auto at = static_cast<std::ptrdiff_t>(dim), end = static_cast<std::ptrdiff_t>(rank_);
    std::copy(sizes_.begin() + at + 1, sizes_.begin() + end, sizes_.begin() + at);
    std::copy(strides_.begin() + at + 1, strides_.begin() + end, strides_.begin() + at);
    --rank_;
  }

  void insert(int64_t dim, int64_t size, int64_t stride) {
    const auto at = static_cast<std::ptrdiff_t>(dim), end = static_cast<std::ptrdiff_t>(rank_);
    std::copy_backward(sizes_.begin() + at, sizes_.begin() + end, sizes_.begin() + end + 1);
    std::copy_backward(strides_.begin() + at, strides_.begin() + end, strides_.begin() + end + 1);
    ++rank_;
    this->size(dim) = size;
    this->stride(dim) = stride;
  }

  Tensor view() const {
    AtenTensorHandle out = nullptr;
    check(aoti_torch__reinterpret_tensor(source_->get(), static_cast<int64_t>(rank_), sizes_.data(), strides_.data(),
                                         offset_, &out));
    return Tensor(out);
  }

 private:
  static constexpr std::size_t kMost = 64;
  const Tensor* source_;
  std::size_t rank_ = 0;
  std::array<int64_t, kMost> sizes_, strides_;
  int64_t offset_ = 0;
};

// For operations that treat a tensor without dimensions as one with a single dimension.
int64_t wrap_dim_or_scalar(int64_t dim, int64_t rank) { return wrap_dim(dim, rank == 0 ? 1 : rank); }

Tensor select_at(Geometry geometry, int64_t dim, int64_t index) {
  geometry.advance((index < 0 ? index + geometry.size(dim) : index) * geometry.stride(dim));
  geometry.remove(dim);
  return geometry.view();
}

bool out_of_range(int64_t index, int64_t size) { return index < -size || index >= size; }

}  // namespace

Tensor select(const Tensor& t, int64_t dim, int64_t index) {
  Geometry geometry(t);
  if (geometry.rank() == 0) {
    raise_index_error("select() cannot be applied to a 0-dim tensor.");
  }
  const int64_t at = wrap_dim(dim, geometry.rank());
  if (out_of_range(index, geometry.size(at))) {
    raise_index_error("select(): index " + std::to_string(index) + " out of range for tensor of size " +
                      shape_text(sizes(t)) + " at dimension " + std::to_string(at));
  }
  return select_at(geometry, at, index);
}

Tensor subscript(const Tensor& t, int64_t dim, int64_t index, int64_t shown) {
  Geometry geometry(t);
  if (geometry.rank() == 0 && index != 0) {
    raise_index_error("index " + std::to_string(index) + " is out of bounds for dimension 0 with size 0");
  }
  if (geometry.rank() == 0) {
    raise_index_error(
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
        "0-dim tensor to a number");
  }
  const int64_t at = wrap_dim(dim, geometry.rank());
  if (out_of_range(index, geometry.size(at))) {
    raise_index_error("index " + std::to_string(index) + " is out of bounds for dimension " +
                      std::to_string(shown < 0 ? at : shown) + " with size " + std::to_string(geometry.size(at)));
  }
  return select_at(geometry, at, index);
}

Tensor slice(const Tensor& t, int64_t dim, Bound start, Bound stop, int64_t step) {
  Geometry geometry(t);
  if (geometry.rank() == 0) {
    raise_index_error("slice() cannot be applied to a 0-dim tensor.");
  }
  const int64_t at = wrap_dim(dim, geometry.rank());
  if (step < 0) {
    raise_value_error("step must be greater than zero");
  }
  const Slice part = Slice::of(geometry.size(at), start, stop, step);
  geometry.advance(part.start * geometry.stride(at));
  geometry.size(at) = part.count;
  geometry.stride(at) *= step;
  return geometry.view();
}

Tensor narrow(const Tensor& t, int64_t dim, int64_t start, int64_t length) {
  Geometry geometry(t);
  if (geometry.rank() == 0) {
    raise_runtime_error("narrow() cannot be applied to a 0-dim tensor.");
  }
  if (length < 0) {
    raise_runtime_error("narrow(): length must be non-negative.");
  }
  const int64_t at = wrap_dim(dim, geometry.rank());
  const int64_t size = geometry.size(at);
  if (start < -size || start > size) {
    raise_index_error("start out of range (expected to be in range of [" + std::to_string(-size) + ", " +
                      std::to_string(size) + "], but got " + std::to_string(start) + ")");
  }
  const int64_t from = start < 0 ? start + size : start;
  if (from > size - length) {
    raise_runtime_error("start (" + std::to_string(from) + ") + length (" + std::to_string(length) +
                        ") exceeds dimension size (" + std::to_string(size) + ").");
  }
  geometry.advance(from * geometry.stride(at));
  geometry.size(at) = length;
  return geometry.view();
}

Tensor unsqueeze(const Tensor& t, int64_t dim) {
  Geometry geometry(t);
  const int64_t at = wrap_dim(dim, geometry.rank() + 1);
  const int64_t stride = at < geometry.rank() ? geometry.size(at) * geometry.stride(at) : 1;
  geometry.insert(at, 1, stride);
  return geometry.view();
}

Tensor squeeze(const Tensor& t) {
  Geometry geometry(t);
  for (int64_t dim = geometry.rank(); dim-- > 0;) {
    if (geometry.size(dim) == 1) {
      geometry.remove(dim);
    }
  }
  return geometry.view();
}

Tensor squeeze(const Tensor& t, int64_t dim) {
  Geometry geometry(t);
  const int64_t at = wrap_dim_or_scalar(dim, geometry.rank());
  if (geometry.rank() != 0 && geometry.size(at) == 1) {
    geometry.remove(at);
  }
  return geometry.view();
}

Tensor transpose(const Tensor& t, int64_t dim0, int64_t dim1) {
  Geometry geometry(t);
  const int64_t a = wrap_dim_or_scalar(dim0, geometry.rank()), b = wrap_dim_or_scalar(dim1, geometry.rank());
  if (geometry.rank() != 0) {
    std::swap(geometry.size(a), geometry.size(b));
    std::swap(geometry.stride(a), geometry.stride(b));
  }
  return geometry.view();
}

Tensor t(const Tensor& self) {
  const int64_t dims = rank(self);
  if (dims > 2) {
    raise_runtime_error("t() expects a tensor with <= 2 dimensions, but self is " + std::to_string(dims) + "D");
  }
  return dims == 2 ? transpose(self, 0, 1) : alias(self);
}

Tensor permute(const Tensor& t, Ints dims) {
  const Geometry source(t);
  Geometry geometry = source;
  const auto order = dims.get();
  if (static_cast<int64_t>(order.size()) != geometry.rank()) {
    raise_runtime_error(
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
        "ordering of dimensions i.e. input.dim() = " +
        std::to_string(geometry.rank()) + " is not equal to len(dims) = " + std::to_string(order.size()));
  }
  std::array<bool, 64> seen{};
  Geometry from = source;
  for (int64_t i = 0; i < geometry.rank(); ++i) {
    const int64_t dim = wrap_dim(order[static_cast<std::size_t>(i)], geometry.rank());
    if (seen[static_cast<std::size_t>(dim)]) {
      raise_runtime_error("permute(): duplicate dims are not allowed.");
    }
    seen[static_cast<std::size_t>(dim)] = true;
    geometry.size(i) = from.size(dim);
    geometry.stride(i) = from.stride(dim);
  }
  return geometry.view();
}

Tensor expand(const Tensor& t, Ints sizes) {
  Geometry geometry(t);
  const auto target = sizes.get();
  const auto wanted = static_cast<int64_t>(target.size());
  const int64_t fresh = wanted - geometry.rank();
  if (fresh < 0) {
    raise_runtime_error("expand: the number of sizes provided (" + std::to_string(wanted) +
                        ") must be greater or equal to the number of dimensions in the tensor (" +
                        std::to_string(geometry.rank()) + ")");
  }
  for (int64_t i = wanted; i-- > 0;) {
    const int64_t size = target[static_cast<std::size_t>(i)];
    if (i < fresh) {
      if (size < 0) {
        raise_runtime_error("The expanded size of the tensor (" + std::to_string(size) +
                            ") isn't allowed in a leading, non-existing dimension " + std::to_string(i));
      }
      // Eager gives a new dimension of size 1 the stride of a contiguous one.
      const int64_t stride = geometry.rank() == 0 ? 1 : geometry.size(0) * geometry.stride(0);
      geometry.insert(0, size, size == 1 ? stride : 0);
      continue;
    }
    // Not yet shifted: the leading dimensions come last.
    const int64_t dim = i - fresh, have = geometry.size(dim);
    if (size == -1 || size == have) {
      continue;
    }
    if (have != 1 || size < 0) {
      raise_runtime_error("The expanded size of the tensor (" + std::to_string(size) +
                          ") must match the existing size (" + std::to_string(have) + ") at non-singleton dimension " +
                          std::to_string(i) + ".  Target sizes: " + shape_text(target) +
                          ".  Tensor sizes: " + shape_text(torch2cpp::sizes(t)));
    }
    geometry.size(dim) = size;
    geometry.stride(dim) = 0;
  }
  return geometry.view();
}

Tensor expand_as(const Tensor& t, const Tensor& other) { return expand(t, sizes(other)); }

Tensor view(const Tensor& t, Ints sizes) {
  const auto target = sizes.get();
  return dispatch<Tensor>("aten::view", "", t, std::vector<int64_t>(target.begin(), target.end()));
}

Tensor reshape(const Tensor& t, Ints sizes) {
  const auto target = sizes.get();
  return dispatch<Tensor>("aten::reshape", "", t, std::vector<int64_t>(target.begin(), target.end()));
}

Tensor alias(const Tensor& t) { return Geometry(t).view(); }

}  // namespace torch2cpp
