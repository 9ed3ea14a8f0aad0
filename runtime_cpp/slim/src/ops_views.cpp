// Operators whose results share memory with their operand; most are the support library's.
#include <algorithm>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// Sizes with -1 worked out.
std::vector<int64_t> whole_sizes(Shape wanted, int64_t count) {
  std::vector<int64_t> out(wanted.begin(), wanted.end());
  int64_t known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      if (open >= 0) {
        raise_runtime_error("only one dimension can be inferred");
      }
      open = static_cast<std::ptrdiff_t>(i);
    } else if (out[i] < 0) {
      raise_runtime_error("invalid shape dimension " + std::to_string(out[i]));
    } else {
      known *= out[i];
    }
  }
  if (open >= 0 && known == 0) {
    raise_runtime_error("cannot reshape tensor of 0 elements into shape " + shape_text(wanted) +
                        " because the unspecified dimension size -1 can be any value and is ambiguous");
  }
  if (open >= 0 && count % known == 0) {
    out[static_cast<std::size_t>(open)] = count / known;
    known = count;
  }
  if (known != count) {
    raise_runtime_error("shape '" + shape_text(wanted) + "' is invalid for input of size " + std::to_string(count));
  }
  return out;
}

// Strides under which the same memory has the sizes; false where there are none.
bool strides_for(const Impl& self, Shape sizes, std::vector<int64_t>& out) {
  out.assign(sizes.size(), 1);
  if (self.numel() == 0) {
    const Extents contiguous(sizes, {});
    out.assign(contiguous.strides().begin(), contiguous.strides().end());
    return true;
  }
  const auto old_sizes = self.sizes(), old_strides = self.strides();
  std::ptrdiff_t at = static_cast<std::ptrdiff_t>(sizes.size()) - 1;
  int64_t base = old_sizes.empty() ? 1 : old_strides.back(), have = 1, used = 1;
  for (std::ptrdiff_t dim = static_cast<std::ptrdiff_t>(old_sizes.size()) - 1; dim >= 0; --dim) {
    const auto d = static_cast<std::size_t>(dim);
    have *= old_sizes[d];
    // A run of dimensions that lie behind each other ends here.
    if (dim == 0 || (old_sizes[d - 1] != 1 && old_strides[d - 1] != have * base)) {
      while (at >= 0 && (used < have || sizes[static_cast<std::size_t>(at)] == 1)) {
        out[static_cast<std::size_t>(at)] = used * base;
        used *= sizes[static_cast<std::size_t>(at)];
        --at;
      }
      if (used != have) {
        return false;
      }
      if (dim > 0) {
        base = old_strides[d - 1];
        have = used = 1;
      }
    }
  }
  if (old_sizes.empty()) {
    return true;
  }
  return at < 0;
}

Tensors tensors(const List<Tensor>& list) { return list.items(); }

}  // namespace

Tensor view(const Tensor& self, Ints size) {
  const Impl& from = impl(self);
  const auto sizes = whole_sizes(size.get(), from.numel());
  std::vector<int64_t> strides;
  if (!strides_for(from, sizes, strides)) {
    raise_runtime_error(
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous subspaces). Use .reshape(...) instead.");
  }
  return view_of(from, sizes, strides, from.offset);
}
Tensor reshape(const Tensor& self, Ints shape) {
  const Impl& from = impl(self);
  const auto sizes = whole_sizes(shape.get(), from.numel());
  std::vector<int64_t> strides;
  if (strides_for(from, sizes, strides)) {
    return view_of(from, sizes, strides, from.offset);
  }
  return view(clone_contiguous(self), sizes);
}
Tensor view_as(const Tensor& self, const Tensor& other) { return op::view(self, Ints(impl(other).sizes())); }

Tensor flatten_using_ints(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const Impl& from = impl(self);
  const int64_t start = wrap(start_dim, from.rank()), end = wrap(end_dim, from.rank());
  if (start > end) {
    raise_runtime_error("flatten() has invalid args: start_dim cannot come after end_dim");
  }
  std::vector<int64_t> sizes;
  int64_t joined = 1;
  for (int64_t dim = 0; dim < from.rank(); ++dim) {
    const int64_t size = from.sizes()[static_cast<std::size_t>(dim)];
    if (dim < start || dim > end) {
      sizes.push_back(size);
    } else {
      joined *= size;
      if (dim == end) {
        sizes.push_back(joined);
      }
    }
  }
  if (from.rank() == 0) {
    sizes.push_back(1);
  }
  return start == end && from.rank() != 0 ? self : reshape(self, sizes);
}
Tensor unflatten_int(const Tensor& self, int64_t dim, Ints sizes) {
  const Impl& from = impl(self);
  const auto at = static_cast<std::size_t>(wrap_dim(dim, from.rank()));
  const auto parts = whole_sizes(sizes.get(), from.sizes()[at]);
  std::vector<int64_t> all(from.sizes().begin(), from.sizes().end());
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), parts.begin(), parts.end());
  return view(self, all);
}

Tensor alias(const Tensor& self) { return torch2cpp::alias(self); }
Tensor detach(const Tensor& self) { return torch2cpp::alias(self); }
Tensor select_int(const Tensor& self, int64_t dim, int64_t index) { return torch2cpp::select(self, dim, index); }
Tensor slice_Tensor(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step) {
  return torch2cpp::slice(self, dim, start, end, step);
}
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return torch2cpp::narrow(self, dim, start, length);
}
Tensor unsqueeze(const Tensor& self, int64_t dim) { return torch2cpp::unsqueeze(self, dim); }
Tensor squeeze(const Tensor& self) { return torch2cpp::squeeze(self); }
Tensor squeeze_dim(const Tensor& self, int64_t dim) { return torch2cpp::squeeze(self, dim); }
Tensor transpose_int(const Tensor& self, int64_t dim0, int64_t dim1) { return torch2cpp::transpose(self, dim0, dim1); }
Tensor t(const Tensor& self) { return torch2cpp::t(self); }
Tensor mT(const Tensor& self) { return torch2cpp::transpose(self, -2, -1); }
Tensor numpy_T(const Tensor& self) {
  std::vector<int64_t> dims;
  for (int64_t dim = impl(self).rank(); dim-- > 0;) {
    dims.push_back(dim);
  }
  return torch2cpp::permute(self, dims);
}
Tensor permute(const Tensor& self, Ints dims) { return torch2cpp::permute(self, dims); }
Tensor expand(const Tensor& self, Ints size) { return torch2cpp::expand(self, size); }
Tensor expand_as(const Tensor& self, const Tensor& other) { return torch2cpp::expand_as(self, other); }

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const Impl& from = impl(self);
  const auto a = static_cast<std::size_t>(wrap_dim(dim1, from.rank()));
  const auto b = static_cast<std::size_t>(wrap_dim(dim2, from.rank()));
  if (a == b) {
    raise_runtime_error("diagonal dimensions cannot be identical " + std::to_string(dim1) + ", " +
                        std::to_string(dim2));
  }
  std::vector<int64_t> sizes, strides;
  for (std::size_t dim = 0; dim < from.sizes().size(); ++dim) {
    if (dim != a && dim != b) {
      sizes.push_back(from.sizes()[dim]);
      strides.push_back(from.strides()[dim]);
    }
  }
  const int64_t rows = from.sizes()[a] - std::max<int64_t>(-offset, 0);
  const int64_t columns = from.sizes()[b] - std::max<int64_t>(offset, 0);
  const int64_t length = std::max<int64_t>(std::min(rows, columns), 0);
  const int64_t skipped = length == 0 ? 0 : offset >= 0 ? offset * from.strides()[b] : -offset * from.strides()[a];
  sizes.push_back(length);
  strides.push_back(from.strides()[a] + from.strides()[b]);
  return view_of(from, sizes, strides, from.offset + skipped);
}

Tensors unbind_int(const Tensor& self, int64_t dim) { return tensors(torch2cpp::unbind(self, dim)); }
Tensors split_Tensor(const Tensor& self, int64_t split_size, int64_t dim) {
  return tensors(torch2cpp::split(self, split_size, dim));
}
Tensors split_with_sizes(const Tensor& self, Ints split_sizes, int64_t dim) {
  return tensors(torch2cpp::split_with_sizes(self, split_sizes, dim));
}
Tensors chunk(const Tensor& self, int64_t chunks, int64_t dim) { return tensors(torch2cpp::chunk(self, chunks, dim)); }
Tensor resolve_conj(const Tensor& self) { return self; }
Tensor requires_grad_in_place(const Tensor& self, bool requires_grad) {
  impl(self).requires_grad = requires_grad;
  return self;
}

Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1) { return transpose_int(self, axis0, axis1); }
Tensor swapdims(const Tensor& self, int64_t dim0, int64_t dim1) { return transpose_int(self, dim0, dim1); }
Tensor ravel(const Tensor& self) { return flatten_using_ints(op::contiguous(self), 0, -1); }
Tensor broadcast_to(const Tensor& self, Ints size) { return op::expand(self, size); }
Tensors split_sizes(const Tensor& self, Ints split_size, int64_t dim) {
  return op::split_with_sizes(self, split_size, dim);
}
Tensors tensor_split_sections(const Tensor& self, int64_t sections, int64_t dim) {
  if (sections <= 0) {
    raise_runtime_error("number of sections must be larger than 0, got " + std::to_string(sections));
  }
  const int64_t size = torch2cpp::size(self, dim), least = size / sections, longer = size % sections;
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < sections; ++i) {
    sizes.push_back(least + (i < longer ? 1 : 0));
  }
  return op::split_with_sizes(self, sizes, dim);
}
Tensors meshgrid_indexing(const Tensors& tensors, std::string_view indexing) {
  const bool turned = indexing == "xy" && tensors.size() >= 2;
  std::vector<int64_t> sizes;
  for (const Tensor& t : tensors) {
    sizes.push_back(impl(t).numel());
  }
  Tensors out;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<int64_t> own(tensors.size(), 1);
    own[i] = sizes[i];
    const Tensor grid = torch2cpp::expand(op::reshape(tensors[i], own), sizes);
    out.push_back(turned ? torch2cpp::transpose(grid, 0, 1) : grid);
  }
  return out;
}
Tensors meshgrid(const Tensors& tensors) { return meshgrid_indexing(tensors, "ij"); }
Tensor movedim_intlist(const Tensor& self, Ints source, Ints destination) {
  const int64_t rank = impl(self).rank();
  const Shape from = source.get(), to = destination.get();
  if (from.size() != to.size()) {
    raise_runtime_error("movedim: Invalid source or destination dims: source (" + shape_text(from) +
                        " dims) should contain the same number of dims as destination (" + shape_text(to) + " dims)");
  }
  std::vector<int64_t> order(static_cast<std::size_t>(rank), -1);
  std::vector<bool> moved(static_cast<std::size_t>(rank), false);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto source_dim = static_cast<std::size_t>(wrap(from[i], rank)),
               place = static_cast<std::size_t>(wrap(to[i], rank));
    if (rank == 0) {
      return self;
    }
    if (moved[source_dim] || order[place] >= 0) {
      raise_runtime_error("movedim: repeated dim in `source` or `destination`");
    }
    moved[source_dim] = true;
    order[place] = static_cast<int64_t>(source_dim);
  }
  int64_t next = 0;
  for (int64_t& dim : order) {
    while (dim < 0 && moved[static_cast<std::size_t>(next)]) {
      ++next;
    }
    dim = dim < 0 ? next++ : dim;
  }
  return torch2cpp::permute(self, order);
}
Tensor movedim_int(const Tensor& self, int64_t source, int64_t destination) {
  return movedim_intlist(self, {source}, {destination});
}

}  // namespace torch2cpp::slim::op
