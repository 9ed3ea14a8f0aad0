// Elementwise operations: operands are converted to a type to compute in, a few hundred elements at a time.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <torch2cpp/slim/dtypes.h>
#include <torch2cpp/slim/runs.h>

namespace torch2cpp::slim {

inline constexpr int64_t kChunk = 256;

// out[i] = f(in[i]...): `In` is computed in, `Out` is what f gives; out may be strided and any dtype.
template <class In, class Out, std::size_t N, class F>
void elementwise(const Impl& out, const std::array<const Impl*, N>& in, F f) {
  std::array<const Impl*, N + 1> all{&out};
  std::copy(in.begin(), in.end(), all.begin() + 1);
  std::array<int64_t, N + 1> width;
  for (std::size_t k = 0; k <= N; ++k) {
    width[k] = static_cast<int64_t>(all[k]->width());
  }
  const bool direct_out = out.dtype == dtype_of<Out>;
  Runs<N + 1>(out.sizes(), all).each([&](const auto& pointers, const auto& strides, int64_t count) {
    alignas(64) In chunks[N == 0 ? 1 : N][kChunk];
    alignas(64) Out results[kChunk];
    for (int64_t start = 0; start < count; start += kChunk) {
      const int64_t n = std::min(kChunk, count - start);
      std::array<const In*, N> from;
      for (std::size_t k = 0; k != N; ++k) {
        const char* at = pointers[k + 1] + start * strides[k + 1] * width[k + 1];
        if (strides[k + 1] == 1 && in[k]->dtype == dtype_of<In>) {
          from[k] = reinterpret_cast<const In*>(at);
        } else {
          load(at, in[k]->dtype, strides[k + 1], n, chunks[k]);
          from[k] = chunks[k];
        }
      }
      char* to = pointers[0] + start * strides[0] * width[0];
      // An operand may be the result itself: each element is read before it is written.
      Out* target = direct_out && strides[0] == 1 ? reinterpret_cast<Out*>(to) : results;
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        for (int64_t i = 0; i < n; ++i) {
          target[i] = f(from[K][i]...);
        }
      }(std::make_index_sequence<N>{});
      if (target == results) {
        store(results, to, out.dtype, strides[0], n);
      }
    }
  });
}

// to[...] = from[...], converting and broadcasting; the two may not overlap in other places than the same.
void copy(const Impl& to, const Impl& from);
// Every element to the value, as `fill_` converts it.
void fill(const Impl& to, double value);
void fill(const Impl& to, int64_t value);

// The tensor itself, or a contiguous copy, of the given dtype.
Tensor contiguous(const Tensor& t, ScalarType dtype);
inline Tensor contiguous(const Tensor& t) { return contiguous(t, impl(t).dtype); }
// A contiguous copy.
Tensor clone_contiguous(const Tensor& t);
// A copy laid out like the tensor.
Tensor clone(const Tensor& t);

}  // namespace torch2cpp::slim
