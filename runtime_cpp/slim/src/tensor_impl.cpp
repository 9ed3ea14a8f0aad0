#include <algorithm>
#include <string>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/dtypes.h>
#include <torch2cpp/slim/tensor_impl.h>

bool AtenTensorOpaque::is_contiguous() const {
  int64_t expected = 1;
  const auto all_sizes = sizes(), all_strides = strides();
  for (std::size_t i = all_sizes.size(); i-- > 0;) {
    if (all_sizes[i] == 0) {
      return true;
    }
    if (all_sizes[i] != 1) {
      if (all_strides[i] != expected) {
        // An empty tensor is contiguous whatever its strides are.
        return numel() == 0;
      }
      expected *= all_sizes[i];
    }
  }
  return true;
}

namespace torch2cpp::slim {

void Extents::reserve(std::size_t rank) {
  if (rank > kMaxRank) {
    raise_runtime_error("a tensor of " + std::to_string(rank) + " dimensions; 64 are possible");
  }
  rank_ = rank;
  heap_ = rank > kInline ? std::make_unique<int64_t[]>(2 * rank) : nullptr;
}

Extents::Extents(Shape all_sizes, Shape all_strides) {
  reserve(all_sizes.size());
  std::copy(all_sizes.begin(), all_sizes.end(), sizes().begin());
  if (!all_strides.empty()) {
    std::copy(all_strides.begin(), all_strides.end(), strides().begin());
    return;
  }
  int64_t stride = 1;
  for (std::size_t i = rank_; i-- > 0;) {
    strides()[i] = stride;
    stride *= std::max<int64_t>(all_sizes[i], 1);
  }
}

Extents::Extents(const Extents& other) : Extents(other.sizes(), other.strides()) {}

Extents& Extents::operator=(const Extents& other) {
  if (this != &other) {
    *this = Extents(other);
  }
  return *this;
}

int64_t element_count(Shape sizes) {
  int64_t out = 1;
  for (const int64_t size : sizes) {
    out *= size;
  }
  return out;
}

int64_t extent_of(Shape sizes, Shape strides) {
  int64_t out = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      return 0;
    }
    out += (sizes[i] - 1) * strides[i];
  }
  return out;
}

std::size_t width(ScalarType dtype) { return dtype_width(dtype); }

namespace {

void check_sizes(Shape sizes, std::size_t element) {
  uint64_t total = element;
  for (const int64_t size : sizes) {
    if (size < 0) {
      raise_runtime_error("Trying to create tensor with negative dimension " + std::to_string(size));
    }
    if (__builtin_mul_overflow(total, static_cast<uint64_t>(std::max<int64_t>(size, 1)), &total) ||
        total > static_cast<uint64_t>(INT64_MAX)) {
      raise_runtime_error("Storage size calculation overflowed");
    }
  }
}

}  // namespace

std::unique_ptr<Impl> make_empty(Shape sizes, ScalarType dtype, Shape strides) {
  check_sizes(sizes, width(dtype));
  auto made = std::make_unique<Impl>();
  made->dtype = dtype;
  made->extents = Extents(sizes, strides);
  const int64_t elements = extent_of(made->sizes(), made->strides());
  made->storage = Storage::allocate(static_cast<std::size_t>(elements) * width(dtype));
  return made;
}

std::unique_ptr<Impl> make_view(const Impl& self, Shape sizes, Shape strides, int64_t offset) {
  auto made = std::make_unique<Impl>();
  made->dtype = self.dtype;
  made->extents = Extents(sizes, strides);
  made->storage = self.storage;
  made->offset = offset;
  made->requires_grad = self.requires_grad;
  return made;
}

Tensor empty(Shape sizes, ScalarType dtype, Shape strides) {
  return Tensor(make_empty(sizes, dtype, strides).release());
}

Tensor view_of(const Impl& self, Shape sizes, Shape strides, int64_t offset) {
  return Tensor(make_view(self, sizes, strides, offset).release());
}

Tensor empty_like(const Impl& like, ScalarType dtype) {
  // Dense: the dimensions by falling stride tile the memory without gaps or overlaps.
  const auto sizes = like.sizes(), strides = like.strides();
  std::array<std::size_t, kMaxRank> order{};
  const std::size_t rank = sizes.size();
  for (std::size_t i = 0; i < rank; ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rank),
                   [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  int64_t expected = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const std::size_t dim = order[i];
    if (sizes[dim] != 1) {
      if (strides[dim] != expected) {
        return empty(sizes, dtype);
      }
      expected *= sizes[dim];
    }
  }
  return empty(sizes, dtype, strides);
}

}  // namespace torch2cpp::slim
