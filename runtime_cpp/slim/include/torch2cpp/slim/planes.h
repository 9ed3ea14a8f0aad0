// Operators on images: each plane of the last two dimensions by itself.
#pragma once

#include <vector>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/elementwise.h>

namespace torch2cpp::slim {

// f(plane, y, x) -> value, over all planes of the last two dimensions.
template <class F>
Tensor pooled(const Tensor& input, int64_t out_height, int64_t out_width, F f) {
  const Impl& in = impl(input);
  if (in.rank() != 3 && in.rank() != 4) {
    raise_runtime_error("pooling expects 3 or 4 dimensions, got " + std::to_string(in.rank()));
  }
  const auto rank = in.sizes().size();
  const int64_t height = in.sizes()[rank - 2], width = in.sizes()[rank - 1];
  std::vector<int64_t> sizes(in.sizes().begin(), in.sizes().end());
  sizes[rank - 2] = out_height;
  sizes[rank - 1] = out_width;
  const Tensor out = slim::empty(sizes, in.dtype);
  with_compute(in.dtype, [&]<class T>(T) {
    const Tensor from = slim::contiguous(input, dtype_of<T>);
    std::vector<T> line(static_cast<std::size_t>(out_width));
    const int64_t planes = element_count(in.sizes().first(rank - 2));
    const auto bytes = static_cast<int64_t>(impl(out).width());
    for (int64_t plane = 0; plane < planes; ++plane) {
      const T* at = slim::data<T>(from) + plane * height * width;
      for (int64_t y = 0; y < out_height; ++y) {
        for (int64_t x = 0; x < out_width; ++x) {
          line[static_cast<std::size_t>(x)] = f(at, y, x);
        }
        store(line.data(), impl(out).data() + (plane * out_height + y) * out_width * bytes, in.dtype, 1, out_width);
      }
    }
  });
  return out;
}

}  // namespace torch2cpp::slim
