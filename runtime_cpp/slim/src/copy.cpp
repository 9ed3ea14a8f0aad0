#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/conv.h>
#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/tensor.h>

namespace torch2cpp::slim {
namespace {

// Elements of one width moved without looking at them.
template <class Word>
void move_words(const char* from, int64_t step, char* to, int64_t stride, int64_t count) {
  const auto* source = reinterpret_cast<const Word*>(from);
  auto* target = reinterpret_cast<Word*>(to);
  if (step == 1 && stride == 1) {
    std::memmove(to, from, static_cast<std::size_t>(count) * sizeof(Word));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    target[i * stride] = source[i * step];
  }
}

struct Word16 {
  uint64_t low, high;
};

void move_elements(std::size_t width, const char* from, int64_t step, char* to, int64_t stride, int64_t count) {
  switch (width) {
    case 1:
      return move_words<uint8_t>(from, step, to, stride, count);
    case 2:
      return move_words<uint16_t>(from, step, to, stride, count);
    case 4:
      return move_words<uint32_t>(from, step, to, stride, count);
    case 8:
      return move_words<uint64_t>(from, step, to, stride, count);
    default:
      return move_words<Word16>(from, step, to, stride, count);
  }
}

template <class T>
void convert(const Impl& to, const Impl& from) {
  const auto from_width = static_cast<int64_t>(from.width()), to_width = static_cast<int64_t>(to.width());
  Runs<2>(to.sizes(), {&to, &from}).each([&](const auto& pointers, const auto& strides, int64_t count) {
    T chunk[kChunk];
    for (int64_t start = 0; start < count; start += kChunk) {
      const int64_t n = std::min(kChunk, count - start);
      load(pointers[1] + start * strides[1] * from_width, from.dtype, strides[1], n, chunk);
      store(chunk, pointers[0] + start * strides[0] * to_width, to.dtype, strides[0], n);
    }
  });
}

// Whether both are images whose channels lie last: runs of elements do not show that they lie alike.
bool lie_alike(const Impl& a, const Impl& b) {
  return a.rank() == 4 && a.numel() != 0 && std::ranges::equal(a.sizes(), b.sizes()) &&
         std::ranges::equal(a.strides(), b.strides()) &&
         std::ranges::equal(a.strides(), channels_last_strides(a.sizes()));
}

}  // namespace

Extents broadcast(std::initializer_list<const Impl*> operands) {
  std::size_t rank = 0;
  for (const Impl* t : operands) {
    rank = std::max(rank, static_cast<std::size_t>(t->rank()));
  }
  std::vector<int64_t> sizes(rank, 1);
  for (const Impl* t : operands) {
    const Shape own = t->sizes();
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t dim = rank - own.size() + i;
      if (own[i] == 1 || own[i] == sizes[dim]) {
        continue;
      }
      if (sizes[dim] != 1) {
        raise_runtime_error("The size of tensor a (" + std::to_string(sizes[dim]) +
                            ") must match the size of tensor b (" + std::to_string(own[i]) +
                            ") at non-singleton dimension " + std::to_string(dim));
      }
      sizes[dim] = own[i];
    }
  }
  return {sizes, {}};
}

void check_expandable(Shape from, Shape to) {
  bool fits = from.size() <= to.size();
  for (std::size_t i = 0; fits && i < from.size(); ++i) {
    fits = from[i] == 1 || from[i] == to[to.size() - from.size() + i];
  }
  if (!fits) {
    raise_runtime_error("The expanded size of the tensor must match the existing size.  Target sizes: " +
                        shape_text(to) + ".  Tensor sizes: " + shape_text(from));
  }
}

void copy(const Impl& to, const Impl& from) {
  check_expandable(from.sizes(), to.sizes());
  if (to.dtype == from.dtype && lie_alike(to, from)) {
    std::memmove(to.data(), from.data(), static_cast<std::size_t>(to.numel()) * to.width());
  } else if (to.dtype == from.dtype) {
    const std::size_t width = to.width();
    Runs<2>(to.sizes(), {&to, &from}).each([&](const auto& pointers, const auto& strides, int64_t count) {
      move_elements(width, pointers[1], strides[1], pointers[0], strides[0], count);
    });
  } else if (to.dtype == ScalarType::Bool && compute_type(from.dtype) != Compute::Int) {
    convert<double>(to, from);
  } else if (compute_type(from.dtype) == Compute::Int) {
    convert<int64_t>(to, from);
  } else if (compute_type(from.dtype) == Compute::Double) {
    convert<double>(to, from);
  } else {
    convert<float>(to, from);
  }
}

namespace {

template <class T>
void fill_as(const Impl& to, T value) {
  alignas(64) char element[16] = {};
  store(&value, element, to.dtype, 1, 1);
  Impl one;
  one.storage = Storage::borrow(element, sizeof(element), nullptr, nullptr);
  one.dtype = to.dtype;
  one.extents = Extents({}, {});
  copy(to, one);
}

}  // namespace

void fill(const Impl& to, double value) { fill_as(to, value); }
void fill(const Impl& to, int64_t value) { fill_as(to, value); }

Tensor contiguous(const Tensor& t, ScalarType dtype) {
  const Impl& self = impl(t);
  if (self.dtype == dtype && self.is_contiguous()) {
    return t;
  }
  Tensor out = empty(self.sizes(), dtype);
  copy(impl(out), self);
  return out;
}

Tensor clone_contiguous(const Tensor& t) {
  Tensor out = empty(impl(t).sizes(), impl(t).dtype);
  copy(impl(out), impl(t));
  return out;
}

Tensor clone(const Tensor& t) {
  Tensor out = empty_like(impl(t));
  copy(impl(out), impl(t));
  return out;
}

}  // namespace torch2cpp::slim
