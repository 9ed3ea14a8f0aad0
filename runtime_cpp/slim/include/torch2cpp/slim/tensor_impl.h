// What a tensor handle of the C ABI points to: storage, dtype, sizes and strides.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <torch2cpp/slim/storage.h>

namespace torch2cpp::slim {

using ScalarType = torch::headeronly::ScalarType;
using Tensor = torch::stable::Tensor;
using Shape = std::span<const int64_t>;

// As many dimensions as ATen's own operators take.
inline constexpr std::size_t kMaxRank = 64;

// Sizes and strides; from the heap only for more than six dimensions.
class Extents {
 public:
  Extents() = default;
  // `strides` may be empty: those of a contiguous tensor.
  Extents(Shape sizes, Shape strides);
  Extents(const Extents& other);
  Extents& operator=(const Extents& other);
  Extents(Extents&&) noexcept = default;
  Extents& operator=(Extents&&) noexcept = default;

  int64_t rank() const { return static_cast<int64_t>(rank_); }
  std::span<int64_t> sizes() { return {data(), rank_}; }
  std::span<int64_t> strides() { return {data() + rank_, rank_}; }
  Shape sizes() const { return {data(), rank_}; }
  Shape strides() const { return {data() + rank_, rank_}; }

 private:
  static constexpr std::size_t kInline = 6;
  int64_t* data() { return heap_ ? heap_.get() : local_.data(); }
  const int64_t* data() const { return heap_ ? heap_.get() : local_.data(); }
  void reserve(std::size_t rank);

  std::size_t rank_ = 0;
  std::array<int64_t, 2 * kInline> local_{};
  std::unique_ptr<int64_t[]> heap_;
};

int64_t element_count(Shape sizes);
std::size_t width(ScalarType dtype);
// Elements a storage needs for these sizes and strides.
int64_t extent_of(Shape sizes, Shape strides);

}  // namespace torch2cpp::slim

struct AtenTensorOpaque {
  torch2cpp::slim::Storage::Ref storage;
  int64_t offset = 0;
  torch2cpp::slim::ScalarType dtype = torch2cpp::slim::ScalarType::Float;
  torch2cpp::slim::Extents extents;
  // A Python number that stands for a tensor: it does not decide dtypes.
  bool is_number = false;
  bool requires_grad = false;

  bool defined() const { return static_cast<bool>(storage); }
  torch2cpp::slim::Shape sizes() const { return extents.sizes(); }
  torch2cpp::slim::Shape strides() const { return extents.strides(); }
  int64_t rank() const { return extents.rank(); }
  int64_t numel() const { return torch2cpp::slim::element_count(extents.sizes()); }
  std::size_t width() const { return torch2cpp::slim::width(dtype); }
  char* data() const { return storage ? storage->data() + offset * static_cast<int64_t>(width()) : nullptr; }
  bool is_contiguous() const;
};

namespace torch2cpp::slim {

using Impl = AtenTensorOpaque;

// What the functions below wrap.
std::unique_ptr<Impl> make_empty(Shape sizes, ScalarType dtype, Shape strides = {});
std::unique_ptr<Impl> make_view(const Impl& self, Shape sizes, Shape strides, int64_t offset);
// A new tensor, contiguous where `strides` is empty.
Tensor empty(Shape sizes, ScalarType dtype, Shape strides = {});
// Another tensor on the same storage.
Tensor view_of(const Impl& self, Shape sizes, Shape strides, int64_t offset);
// A tensor whose elements lie in the order of `like` where that is dense, otherwise contiguous.
Tensor empty_like(const Impl& like, ScalarType dtype);
inline Tensor empty_like(const Impl& like) { return empty_like(like, like.dtype); }

inline Impl& impl(const Tensor& t) { return *t.get(); }
// The elements of a contiguous tensor.
template <class T>
T* data(const Tensor& t) {
  return reinterpret_cast<T*>(impl(t).data());
}

}  // namespace torch2cpp::slim
