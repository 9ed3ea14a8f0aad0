// Operators that put tensors together, repeat them, or rearrange elements into a new tensor.
#include <algorithm>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

std::vector<int64_t> sizes_of(const Tensor& t) { return {impl(t).sizes().begin(), impl(t).sizes().end()}; }

void copy_into(const Tensor& to, const Tensor& from) { slim::copy(impl(to), impl(from)); }

}  // namespace

Tensor cat(const Tensors& tensors, int64_t dim) {
  if (tensors.empty()) {
    raise_value_error("torch.cat(): expected a non-empty list of Tensors");
  }
  // An empty tensor of one dimension fits to anything, as ever.
  const auto skipped = [](const Tensor& t) { return impl(t).rank() == 1 && impl(t).numel() == 0; };
  const Tensor* first = nullptr;
  std::vector<const Impl*> all;
  for (const Tensor& t : tensors) {
    all.push_back(&impl(t));
    if (first == nullptr && !skipped(t)) {
      first = &t;
    }
  }
  const ScalarType dtype = result_type(all);
  if (first == nullptr) {
    return slim::empty(impl(tensors[0]).sizes(), dtype);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (impl(tensors[i]).rank() == 0) {
      raise_runtime_error("zero-dimensional tensor (at position " + std::to_string(i) + ") cannot be concatenated");
    }
  }
  std::vector<int64_t> sizes = sizes_of(*first);
  const auto at = static_cast<std::size_t>(wrap_dim(dim, impl(*first).rank()));
  sizes[at] = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (skipped(tensors[i])) {
      continue;
    }
    const Shape own = impl(tensors[i]).sizes();
    if (own.size() != sizes.size()) {
      raise_runtime_error("Tensors must have same number of dimensions: got " + std::to_string(sizes.size()) + " and " +
                          std::to_string(own.size()));
    }
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (d != at && own[d] != sizes[d]) {
        raise_runtime_error("Sizes of tensors must match except in dimension " + std::to_string(at) +
                            ". Expected size " + std::to_string(sizes[d]) + " but got size " + std::to_string(own[d]) +
                            " for tensor number " + std::to_string(i) + " in the list.");
      }
    }
    sizes[at] += own[at];
  }
  const Tensor out = slim::empty(sizes, dtype);
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    if (!skipped(t)) {
      const int64_t length = impl(t).sizes()[at];
      copy_into(torch2cpp::narrow(out, static_cast<int64_t>(at), start, length), t);
      start += length;
    }
  }
  return out;
}
Tensor concat(const Tensors& tensors, int64_t dim) { return cat(tensors, dim); }

Tensor stack(const Tensors& tensors, int64_t dim) {
  if (tensors.empty()) {
    raise_runtime_error("stack expects a non-empty TensorList");
  }
  std::vector<const Impl*> all;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    all.push_back(&impl(tensors[i]));
    if (!std::ranges::equal(impl(tensors[i]).sizes(), impl(tensors[0]).sizes())) {
      raise_runtime_error("stack expects each tensor to be equal size, but got " +
                          shape_text(impl(tensors[0]).sizes()) + " at entry 0 and " +
                          shape_text(impl(tensors[i]).sizes()) + " at entry " + std::to_string(i));
    }
  }
  std::vector<int64_t> sizes = sizes_of(tensors[0]);
  const int64_t at = wrap_dim(dim, static_cast<int64_t>(sizes.size()) + 1);
  sizes.insert(sizes.begin() + at, static_cast<int64_t>(tensors.size()));
  const Tensor out = slim::empty(sizes, result_type(all));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    copy_into(torch2cpp::select(out, at, static_cast<int64_t>(i)), tensors[i]);
  }
  return out;
}

Tensor repeat(const Tensor& self, Ints repeats) {
  const auto times = repeats.get();
  std::vector<int64_t> own = sizes_of(self);
  if (times.size() < own.size()) {
    raise_runtime_error("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  }
  own.insert(own.begin(), times.size() - own.size(), 1);
  // Each dimension as (repeats, size): the copies are one broadcast.
  std::vector<int64_t> whole, apart, from;
  for (std::size_t i = 0; i < own.size(); ++i) {
    whole.push_back(own[i] * times[i]);
    apart.insert(apart.end(), {times[i], own[i]});
    from.insert(from.end(), {1, own[i]});
  }
  const Tensor out = slim::empty(whole, impl(self).dtype);
  if (impl(out).numel() != 0) {
    copy_into(view(out, apart), reshape(self, from));
  }
  return out;
}

Tensor repeat_interleave_self_int(const Tensor& self, int64_t repeats, std::optional<int64_t> dim) {
  const Tensor from = dim ? self : flatten_using_ints(self, 0, -1);
  const int64_t at = wrap_dim(dim.value_or(0), impl(from).rank());
  std::vector<int64_t> sizes = sizes_of(from);
  sizes.insert(sizes.begin() + at + 1, repeats);
  const Tensor spread = torch2cpp::expand(torch2cpp::unsqueeze(from, at + 1), sizes);
  return flatten_using_ints(clone_contiguous(spread), at, at + 1);
}

Tensor repeat_interleave_self_Tensor(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim) {
  const Tensor from = dim ? self : flatten_using_ints(self, 0, -1);
  const int64_t at = wrap_dim(dim.value_or(0), impl(from).rank()), length = torch2cpp::size(from, at);
  const Tensor times = slim::contiguous(repeats, ScalarType::Long);
  const int64_t given = impl(times).numel();
  if (given != 1 && given != length) {
    raise_runtime_error(
        "repeats must have the same size as input along dim, but got repeats.size(0) = " + std::to_string(given) +
        " and input.size(" + std::to_string(at) + ") = " + std::to_string(length));
  }
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t count = slim::data<int64_t>(times)[given == 1 ? 0 : i];
    if (count < 0) {
      raise_runtime_error("repeats can not be negative");
    }
    positions.insert(positions.end(), static_cast<std::size_t>(count), i);
  }
  const Tensor index = slim::empty(std::vector<int64_t>{static_cast<int64_t>(positions.size())}, ScalarType::Long);
  std::copy(positions.begin(), positions.end(), slim::data<int64_t>(index));
  return index_select(from, at, index);
}

Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  const int64_t rank = impl(self).rank(), r = upscale_factor;
  if (rank < 3 || r <= 0 || torch2cpp::size(self, -3) % (r * r) != 0) {
    raise_runtime_error(
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor");
  }
  std::vector<int64_t> sizes = sizes_of(self);
  const int64_t height = sizes[sizes.size() - 2], width = sizes.back(), channels = sizes[sizes.size() - 3] / (r * r);
  sizes.resize(sizes.size() - 3);
  std::vector<int64_t> apart = sizes, order, whole = sizes;
  apart.insert(apart.end(), {channels, r, r, height, width});
  whole.insert(whole.end(), {channels, height * r, width * r});
  const int64_t first = rank - 3;
  for (int64_t i = 0; i < first; ++i) {
    order.push_back(i);
  }
  order.insert(order.end(), {first, first + 3, first + 1, first + 4, first + 2});
  return reshape(torch2cpp::permute(reshape(self, apart), order), whole);
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const Impl& from = impl(self);
  const auto at = static_cast<std::size_t>(wrap(dimension, from.rank()));
  if (from.rank() == 0 || size < 0 || size > from.sizes()[at] || step <= 0) {
    raise_runtime_error("maximum size for tensor at dimension " + std::to_string(at) + " is " +
                        std::to_string(from.rank() == 0 ? 1 : from.sizes()[at]) + " but size is " +
                        std::to_string(size));
  }
  std::vector<int64_t> sizes = sizes_of(self), strides(from.strides().begin(), from.strides().end());
  const int64_t stride = strides[at];
  sizes[at] = (sizes[at] - size) / step + 1;
  strides[at] *= step;
  sizes.push_back(size);
  strides.push_back(stride);
  return view_of(from, sizes, strides, from.offset);
}

Tensor flip(const Tensor& self, Ints dims) {
  const Impl& from = impl(self);
  std::vector<int64_t> strides(from.strides().begin(), from.strides().end());
  int64_t offset = from.offset;
  for (const int64_t each : dims.get()) {
    const auto dim = static_cast<std::size_t>(wrap_dim(each, from.rank()));
    offset += (std::max<int64_t>(from.sizes()[dim], 1) - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  Tensor out = slim::empty(from.sizes(), from.dtype);
  if (from.numel() != 0) {
    slim::copy(impl(out), impl(view_of(from, from.sizes(), strides, offset)));
  }
  return out;
}

Tensor roll(const Tensor& self, Ints shifts, Ints dims) {
  if (dims.get().empty() && shifts.get().size() == 1) {
    const int64_t zero[] = {0};
    return op::view(roll(flatten_using_ints(self, 0, -1), shifts, Ints(std::span<const int64_t>(zero))),
                    Ints(impl(self).sizes()));
  }
  if (dims.get().size() != shifts.get().size()) {
    raise_runtime_error("shifts and dimensions must align. shifts: " + std::to_string(shifts.get().size()) +
                        ", dims:" + std::to_string(dims.get().size()));
  }
  Tensor out = clone_contiguous(self);
  for (std::size_t i = 0; i < dims.get().size(); ++i) {
    const int64_t dim = wrap_dim(dims.get()[i], impl(self).rank());
    const int64_t size = impl(self).sizes()[static_cast<std::size_t>(dim)];
    if (size == 0) {
      continue;
    }
    const int64_t start = ((-shifts.get()[i] % size) + size) % size;
    out = cat({torch2cpp::narrow(out, dim, start, size - start), torch2cpp::narrow(out, dim, 0, start)}, dim);
  }
  return out;
}

namespace {

Tensor triangle(const Tensor& self, int64_t diagonal, bool upper) {
  if (impl(self).rank() < 2) {
    raise_runtime_error("tril and triu: input tensor must have at least 2 dimensions");
  }
  Tensor out = clone_contiguous(self);
  const int64_t rows = torch2cpp::size(self, -2), columns = torch2cpp::size(self, -1);
  const int64_t matrices = rows * columns == 0 ? 0 : impl(self).numel() / (rows * columns);
  const auto bytes = static_cast<int64_t>(impl(out).width());
  for (int64_t i = 0; i < matrices * rows; ++i) {
    const int64_t edge = std::clamp<int64_t>(i % rows + diagonal + (upper ? 0 : 1), 0, columns);
    char* row = impl(out).data() + i * columns * bytes;
    std::fill_n(row + (upper ? 0 : edge * bytes), (upper ? edge : columns - edge) * bytes, '\0');
  }
  return out;
}

}  // namespace

Tensor tril(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, false); }
Tensor triu(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, true); }

Tensor constant_pad_nd(const Tensor& self, Ints pad, Number value) {
  const auto by = pad.get();
  if (by.size() % 2 != 0 || by.size() / 2 > static_cast<std::size_t>(impl(self).rank())) {
    raise_runtime_error("Padding length should be even and not longer than twice the number of dimensions");
  }
  std::vector<int64_t> sizes = sizes_of(self);
  Tensor from = self;
  std::vector<std::pair<int64_t, int64_t>> places;  // of what is kept: start and dimension
  for (std::size_t i = 0; i < by.size() / 2; ++i) {
    const std::size_t dim = sizes.size() - 1 - i;
    const int64_t before = by[2 * i], after = by[2 * i + 1];
    sizes[dim] += before + after;
    if (sizes[dim] < 0) {
      raise_runtime_error("The input size, plus negative padding resulted in a negative output size");
    }
    // Negative padding cuts.
    const int64_t cut = std::max<int64_t>(-before, 0);
    const int64_t kept = torch2cpp::size(from, static_cast<int64_t>(dim)) - cut - std::max<int64_t>(-after, 0);
    from = torch2cpp::narrow(from, static_cast<int64_t>(dim), cut, std::max<int64_t>(kept, 0));
    places.emplace_back(std::max<int64_t>(before, 0), static_cast<int64_t>(dim));
  }
  const Tensor out = fill_in_place_Scalar(slim::empty(sizes, impl(self).dtype), value);
  Tensor inside = out;
  for (const auto& [start, dim] : places) {
    inside = torch2cpp::narrow(inside, dim, start, torch2cpp::size(from, dim));
  }
  copy_into(inside, from);
  return out;
}

namespace {

// Positions of the source along one dimension for modes that repeat what is there.
std::vector<int64_t> padded_positions(int64_t size, int64_t before, int64_t after, std::string_view mode) {
  if (mode == "reflect" && (before >= size || after >= size)) {
    raise_runtime_error("Argument #4: Padding size should be less than the corresponding input dimension");
  }
  std::vector<int64_t> out;
  for (int64_t i = -before; i < size + after; ++i) {
    if (mode == "replicate") {
      out.push_back(std::clamp<int64_t>(i, 0, size - 1));
    } else if (mode == "reflect") {
      out.push_back(i < 0 ? -i : i >= size ? 2 * size - 2 - i : i);
    } else {
      out.push_back(((i % size) + size) % size);
    }
  }
  return out;
}

}  // namespace

Tensor pad(const Tensor& self, Ints pad, std::string_view mode, std::optional<double> value) {
  if (mode == "constant") {
    return constant_pad_nd(self, pad, value.value_or(0.0));
  }
  Tensor out = self;
  for (std::size_t i = 0; i < pad.get().size() / 2; ++i) {
    const int64_t dim = impl(self).rank() - 1 - static_cast<int64_t>(i);
    const auto positions = padded_positions(torch2cpp::size(self, dim), pad.get()[2 * i], pad.get()[2 * i + 1], mode);
    Tensor index = slim::empty(std::vector<int64_t>{static_cast<int64_t>(positions.size())}, ScalarType::Long);
    std::copy(positions.begin(), positions.end(), slim::data<int64_t>(index));
    out = index_select(out, dim, index);
  }
  return out;
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  const Tensor from = slim::contiguous(self, ScalarType::Long);
  const int64_t* at = slim::data<int64_t>(from);
  const int64_t count = impl(from).numel();
  int64_t most = -1;
  for (int64_t i = 0; i < count; ++i) {
    if (at[i] < 0) {
      raise_runtime_error("Class values must be non-negative.");
    }
    most = std::max(most, at[i]);
  }
  const int64_t classes = num_classes == -1 ? most + 1 : num_classes;
  if (most >= classes || classes <= 0) {
    raise_runtime_error("Class values must be smaller than num_classes.");
  }
  std::vector<int64_t> sizes = sizes_of(self);
  sizes.push_back(classes);
  Tensor out = zeros(sizes, ScalarType::Long);
  for (int64_t i = 0; i < count; ++i) {
    slim::data<int64_t>(out)[i * classes + at[i]] = 1;
  }
  return out;
}

Tensor tile(const Tensor& self, Ints dims) {
  std::vector<int64_t> repeats(dims.get().begin(), dims.get().end());
  const auto rank = static_cast<std::size_t>(impl(self).rank());
  if (repeats.size() < rank) {
    repeats.insert(repeats.begin(), rank - repeats.size(), 1);
  }
  return repeat(self, repeats);
}

}  // namespace torch2cpp::slim::op
