// Copies, and lists of tensors.
#include <algorithm>
#include <string>
#include <vector>

#include <torch2cpp/dispatch.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp {
namespace {

void check_rank(const Tensor& t, const char* operation) {
  if (rank(t) == 0) {
    raise_runtime_error(std::string(operation) + " expects at least a 1-dimensional tensor");
  }
}

}  // namespace

Tensor clone(const Tensor& t) {
  AtenTensorHandle out = nullptr;
  check(aoti_torch_clone(t.get(), &out));
  return Tensor(out);
}

Tensor contiguous(const Tensor& t) { return t.is_contiguous() ? t : copy_(empty(sizes(t), t.scalar_type()), t); }

Tensor copy_(const Tensor& t, const Tensor& source) {
  check(aoti_torch_copy_(t.get(), source.get(), 0));
  return t;
}

Tensor zero_(const Tensor& t) {
  check(aoti_torch_zero_(t.get()));
  return t;
}

Tensor stack(const List<Tensor>& tensors, int64_t dim) {
  if (tensors.size() == 0) {
    raise_runtime_error("stack expects a non-empty TensorList");
  }
  const std::vector<Tensor>& items = tensors.items();
  wrap_dim(dim, rank(items[0]) + 1);
  const auto first = sizes(items[0]);
  for (std::size_t i = 1; i < items.size(); ++i) {
    const auto other = sizes(items[i]);
    if (!std::equal(first.begin(), first.end(), other.begin(), other.end())) {
      raise_runtime_error("stack expects each tensor to be equal size, but got " + shape_text(first) +
                          " at entry 0 and " + shape_text(other) + " at entry " + std::to_string(i));
    }
  }
  return dispatch<Tensor>("aten::stack", "", items, dim);
}

Tensor cat(const List<Tensor>& tensors, int64_t dim) {
  if (tensors.size() == 0) {
    raise_value_error("torch.cat(): expected a non-empty list of Tensors");
  }
  return dispatch<Tensor>("aten::cat", "", tensors.items(), dim);
}

List<Tensor> unbind(const Tensor& t, int64_t dim) {
  const int64_t at = wrap_dim(dim, std::max<int64_t>(rank(t), 1)), count = size(t, at);
  List<Tensor> out;
  for (int64_t i = 0; i < count; ++i) {
    out.append(select(t, at, i));
  }
  return out;
}

List<Tensor> iterate(const Tensor& t) {
  if (rank(t) == 0) {
    raise_type_error("iteration over a 0-d tensor");
  }
  return unbind(t, 0);
}

List<Tensor> split(const Tensor& t, int64_t split_size, int64_t dim) {
  check_rank(t, "split");
  if (split_size < 0) {
    raise_runtime_error("split expects split_size be non-negative, but got split_size=" + std::to_string(split_size));
  }
  const int64_t at = wrap_dim(dim, rank(t)), length = size(t, at);
  if (split_size == 0 && length != 0) {
    raise_runtime_error("split_size can only be 0 if dimension size is 0, but got dimension size of " +
                        std::to_string(length));
  }
  List<Tensor> out;
  int64_t start = 0;
  // An empty dimension gives one empty part.
  do {
    const int64_t part = split_size < length - start ? split_size : length - start;
    out.append(narrow(t, at, start, part));
    start += part;
  } while (start < length);
  return out;
}

List<Tensor> split_with_sizes(const Tensor& t, Ints split_sizes, int64_t dim) {
  check_rank(t, "split");
  const int64_t length = size(t, dim);
  int64_t total = 0;
  for (const int64_t part : split_sizes.get()) {
    if (part < 0) {
      raise_runtime_error("split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=" +
                          shape_text(split_sizes.get()));
    }
    total = detail::int_add(total, part);
  }
  if (total != length) {
    raise_runtime_error("split_with_sizes expects split_sizes to sum exactly to " + std::to_string(length) +
                        " (input tensor's size at dimension " + std::to_string(dim) +
                        "), but got split_sizes=" + shape_text(split_sizes.get()));
  }
  List<Tensor> out;
  int64_t start = 0;
  for (const int64_t part : split_sizes.get()) {
    out.append(narrow(t, dim, start, part));
    start += part;
  }
  return out;
}

List<Tensor> chunk(const Tensor& t, int64_t chunks, int64_t dim) {
  check_rank(t, "chunk");
  if (chunks <= 0) {
    raise_runtime_error("chunk expects `chunks` to be greater than 0, got: " + std::to_string(chunks));
  }
  const int64_t length = size(t, dim), part = (length + chunks - 1) / chunks;
  if (part == 0) {
    // An empty dimension keeps the number of chunks.
    return split_with_sizes(t, std::vector<int64_t>(static_cast<std::size_t>(chunks), 0), dim);
  }
  return split(t, part, dim);
}

}  // namespace torch2cpp
