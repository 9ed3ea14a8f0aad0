// Between the host's tensors and compiled regions, which fit some sizes and layouts only; C ABI only.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <mutex>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/tensor.h>

#include <torch2cpp/errors.h>
#include <torch2cpp/shim.h>

namespace torch2cpp::compiled {

// As many dimensions as ATen's own operators take.
inline constexpr size_t kMaxRank = 64;

// How often compiled code gave way to the `aten` form in this process.
inline std::atomic<int64_t> fallbacks{0};

// Kernels that divide ints note a division by zero in one variable of the process.
inline std::mutex integer_division;

// The sizes of a tensor, or null when it has another dtype or rank than the code was compiled for.
inline const int64_t* sizes(const torch::stable::Tensor& tensor, int32_t dtype, int64_t rank) {
  static constexpr std::array<int64_t, 1> kNone{};
  int32_t actual_dtype = 0;
  int64_t actual_rank = 0;
  int64_t* out = nullptr;
  check(aoti_torch_get_dtype(tensor.get(), &actual_dtype));
  check(aoti_torch_get_dim(tensor.get(), &actual_rank));
  if (actual_dtype != dtype || actual_rank != rank) {
    return nullptr;
  }
  check(aoti_torch_get_sizes(tensor.get(), &out));
  return rank == 0 ? kNone.data() : out;
}

// A contiguous tensor without values.
inline torch::stable::Tensor empty(const int64_t* sizes, int64_t rank, int32_t dtype) {
  std::array<int64_t, kMaxRank> strides{};
  int64_t stride = 1;
  for (int64_t i = rank - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= sizes[i] > 1 ? sizes[i] : 1;
  }
  AtenTensorHandle out = nullptr;
  check(aoti_torch_empty_strided(rank, sizes, strides.data(), dtype, aoti_torch_device_type_cpu(), -1, &out));
  return torch::stable::Tensor(out);
}
inline torch::stable::Tensor empty(std::initializer_list<int64_t> sizes, int32_t dtype) {
  return empty(sizes.begin(), static_cast<int64_t>(sizes.size()), dtype);
}

// A new handle to a tensor with the strides the code was compiled for: the same storage where it has
// them, otherwise a copy.
inline AtenTensorHandle input(const torch::stable::Tensor& tensor, const int64_t* sizes,
                              std::initializer_list<int64_t> strides) {
  int64_t* actual = nullptr;
  check(aoti_torch_get_strides(tensor.get(), &actual));
  bool same = true;
  bool empty = false;
  for (size_t i = 0; i < strides.size(); ++i) {
    empty = empty || sizes[i] == 0;
    same = same && (sizes[i] == 1 || actual[i] == strides.begin()[i]);
  }
  AtenTensorHandle out = nullptr;
  if (same || empty) {
    check(aoti_torch_new_tensor_handle(tensor.get(), &out));
    return out;
  }
  int32_t dtype = 0;
  check(aoti_torch_get_dtype(tensor.get(), &dtype));
  check(aoti_torch_empty_strided(static_cast<int64_t>(strides.size()), sizes, strides.begin(), dtype,
                                 aoti_torch_device_type_cpu(), -1, &out));
  const torch::stable::Tensor copy(out);
  check(aoti_torch_copy_(copy.get(), tensor.get(), 0));
  check(aoti_torch_new_tensor_handle(copy.get(), &out));
  return out;
}

// [N, C, H, W] with the channels last, as convolutions of images read their weights; the same sizes.
inline torch::stable::Tensor channels_last(const torch::stable::Tensor& tensor) {
  int64_t* sizes = nullptr;
  check(aoti_torch_get_sizes(tensor.get(), &sizes));
  const int64_t channels = sizes[1], height = sizes[2], width = sizes[3];
  return torch::stable::Tensor(input(tensor, sizes, {channels * height * width, 1, width * channels, channels}));
}

// A contiguous tensor of the same sizes and dtype, without values.
inline torch::stable::Tensor empty_like(const torch::stable::Tensor& tensor) {
  int32_t dtype = 0;
  int64_t rank = 0;
  int64_t* sizes = nullptr;
  check(aoti_torch_get_dtype(tensor.get(), &dtype));
  check(aoti_torch_get_dim(tensor.get(), &rank));
  check(aoti_torch_get_sizes(tensor.get(), &sizes));
  return empty(sizes, rank, dtype);
}

// The tensor itself where it is contiguous, otherwise a copy that is.
inline torch::stable::Tensor contiguous(const torch::stable::Tensor& tensor) {
  bool already = false;
  check(aoti_torch_is_contiguous(tensor.get(), &already));
  if (already) {
    return tensor;
  }
  torch::stable::Tensor out = empty_like(tensor);
  check(aoti_torch_copy_(out.get(), tensor.get(), 0));
  return out;
}

namespace detail {

// Whether no float among the bits has an exponent of ones alone, as NaN and the infinities have.
template <typename Bits>
bool finite(const void* data, int64_t count, Bits exponent) {
  constexpr int64_t kBlock = 64;  // of a fixed length, so that compilers make vectors of it
  const auto* bits = static_cast<const Bits*>(data);
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    Bits found = 0;
    for (int64_t j = 0; j < kBlock; ++j) {
      found |= static_cast<Bits>((bits[i + j] & exponent) == exponent);
    }
    if (found != 0) {
      return false;
    }
  }
  for (; i < count; ++i) {
    if ((bits[i] & exponent) == exponent) {
      return false;
    }
  }
  return true;
}

}  // namespace detail

// Whether a contiguous tensor of floats holds neither NaN nor an infinity.
inline bool finite(const torch::stable::Tensor& tensor) {
  int32_t dtype = 0;
  int64_t count = 0;
  void* data = nullptr;
  check(aoti_torch_get_dtype(tensor.get(), &dtype));
  check(aoti_torch_get_numel(tensor.get(), &count));
  check(aoti_torch_get_data_ptr(tensor.get(), &data));
  if (dtype == aoti_torch_dtype_float64()) {
    return detail::finite<uint64_t>(data, count, 0x7ff0000000000000U);
  }
  if (dtype == aoti_torch_dtype_float16()) {
    return detail::finite<uint16_t>(data, count, 0x7c00U);
  }
  return dtype == aoti_torch_dtype_bfloat16() ? detail::finite<uint16_t>(data, count, 0x7f80U)
                                              : detail::finite<uint32_t>(data, count, 0x7f800000U);
}

}  // namespace torch2cpp::compiled
