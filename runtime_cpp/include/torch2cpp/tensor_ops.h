// Tensor operations of the host program: views with run-time integers, lists of tensors, copies.
//
// Views share storage with their source, as in eager; errors are eager's.
#pragma once

#include <cstdint>

#include <torch2cpp/list.h>
#include <torch2cpp/slice.h>
#include <torch2cpp/tensor.h>

namespace torch2cpp {

// t.select(dim, index)
Tensor select(const Tensor& t, int64_t dim, int64_t index);
// t[..., index] with `dim` the indexed dimension: select, with the error text of indexing, which calls it `shown`.
Tensor subscript(const Tensor& t, int64_t dim, int64_t index, int64_t shown = -1);
// t[..., start:stop:step]: bounds are clamped.
Tensor slice(const Tensor& t, int64_t dim = 0, Bound start = {}, Bound stop = {}, int64_t step = 1);
Tensor narrow(const Tensor& t, int64_t dim, int64_t start, int64_t length);
Tensor unsqueeze(const Tensor& t, int64_t dim);
Tensor squeeze(const Tensor& t);
Tensor squeeze(const Tensor& t, int64_t dim);
Tensor transpose(const Tensor& t, int64_t dim0, int64_t dim1);
// t.t(): at most two dimensions.
Tensor t(const Tensor& self);
Tensor permute(const Tensor& t, Ints dims);
// -1 keeps a size.
Tensor expand(const Tensor& t, Ints sizes);
Tensor expand_as(const Tensor& t, const Tensor& other);
Tensor view(const Tensor& t, Ints sizes);
Tensor reshape(const Tensor& t, Ints sizes);
// Another tensor object on the same storage: detach(), alias.
Tensor alias(const Tensor& t);
inline Tensor detach(const Tensor& t) { return alias(t); }

Tensor clone(const Tensor& t);
// The tensor itself where it is contiguous already.
Tensor contiguous(const Tensor& t);
// Writes into `t`, converting and broadcasting, and gives `t` back.
Tensor copy_(const Tensor& t, const Tensor& source);
Tensor zero_(const Tensor& t);
template <class T>
Tensor fill_(const Tensor& t, T value) {
  return copy_(t, make_tensor(value, t.scalar_type()));
}

Tensor stack(const List<Tensor>& tensors, int64_t dim = 0);
Tensor cat(const List<Tensor>& tensors, int64_t dim = 0);
inline Tensor concat(const List<Tensor>& tensors, int64_t dim = 0) { return cat(tensors, dim); }
List<Tensor> unbind(const Tensor& t, int64_t dim = 0);
// What `for x in t` runs over.
List<Tensor> iterate(const Tensor& t);
List<Tensor> split(const Tensor& t, int64_t split_size, int64_t dim = 0);
List<Tensor> split_with_sizes(const Tensor& t, Ints split_sizes, int64_t dim = 0);
List<Tensor> chunk(const Tensor& t, int64_t chunks, int64_t dim = 0);

}  // namespace torch2cpp
