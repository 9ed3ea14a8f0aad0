// Operators that choose elements by index or mask, for reading and for writing; those along one dimension are in
// ops_scatter.cpp.
#include <algorithm>
#include <cstring>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/indices.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

std::vector<int64_t> extents_of(const Tensor& t) { return {impl(t).sizes().begin(), impl(t).sizes().end()}; }

// Indices as advanced indexing takes them: masks become positions, all have one shape.
struct Chosen {
  // By dimension of the source; empty where it is taken whole.
  std::vector<std::optional<Tensor>> index;
  // Of the positions chosen.
  std::vector<int64_t> sizes;
  // Dimension of the result where they go.
  std::size_t place = 0;
};

Chosen choose(const Tensor& self, const OptionalTensors& indices) {
  Chosen out;
  for (const OptionalTensor& index : indices) {
    if (!index || !index->defined()) {
      out.index.emplace_back();
      continue;
    }
    const ScalarType dtype = impl(*index).dtype;
    if (dtype == ScalarType::Bool || dtype == ScalarType::Byte) {
      // A mask stands for as many dimensions as it has.
      const Shape mask = impl(*index).sizes();
      for (std::size_t i = 0; i < mask.size(); ++i) {
        const std::size_t dim = out.index.size() + i;
        const Shape own = impl(self).sizes();
        if (dim >= own.size() || own[dim] != mask[i]) {
          raise_index_error("The shape of the mask " + shape_text(mask) + " at index " + std::to_string(i) +
                            " does not match the shape of the indexed tensor " + shape_text(own) + " at index " +
                            std::to_string(dim));
        }
      }
      const Tensor where = nonzero(*index);
      for (int64_t i = 0; i < impl(where).sizes()[1]; ++i) {
        out.index.emplace_back(torch2cpp::select(where, 1, i));
      }
    } else {
      out.index.emplace_back(longs(*index, "index"));
    }
  }
  if (out.index.size() > impl(self).sizes().size()) {
    raise_index_error("too many indices for tensor of dimension " + std::to_string(impl(self).rank()));
  }
  out.index.resize(impl(self).sizes().size());
  Extents together;
  Impl so_far;
  for (const auto& index : out.index) {
    if (index) {
      try {
        so_far.extents = broadcast({&so_far, &impl(*index)});
      } catch (const PyError&) {
        raise_index_error("shape mismatch: indexing tensors could not be broadcast together with shapes " +
                          shape_text(so_far.sizes()) + ", " + shape_text(impl(*index).sizes()));
      }
    }
  }
  out.sizes.assign(so_far.sizes().begin(), so_far.sizes().end());
  for (auto& index : out.index) {
    if (index) {
      index = clone_contiguous(torch2cpp::expand(*index, out.sizes));
    }
  }
  // Indices side by side go where the first of them was, others to the front.
  std::size_t first = out.index.size(), last = 0, count = 0;
  for (std::size_t i = 0; i < out.index.size(); ++i) {
    if (out.index[i]) {
      first = std::min(first, i);
      last = i;
      ++count;
    }
  }
  out.place = count != 0 && last - first + 1 == count ? first : 0;
  return out;
}

// Calls `visit(i, offset)` for each choice: its number, and where it lies in the source, in elements.
template <class Visit>
void each_choice(const Tensor& self, const Chosen& chosen, Visit visit) {
  const int64_t count = element_count(chosen.sizes);
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (std::size_t dim = 0; dim < chosen.index.size(); ++dim) {
      if (chosen.index[dim]) {
        const int64_t at = slim::data<int64_t>(*chosen.index[dim])[i];
        offset += checked(at, impl(self).sizes()[dim], static_cast<int64_t>(dim)) * impl(self).strides()[dim];
      }
    }
    visit(i, offset);
  }
}

// Sizes and strides of the dimensions taken whole.
void whole_dimensions(const Tensor& self, const Chosen& chosen, std::vector<int64_t>& sizes,
                      std::vector<int64_t>& strides) {
  for (std::size_t dim = 0; dim < chosen.index.size(); ++dim) {
    if (!chosen.index[dim]) {
      sizes.push_back(impl(self).sizes()[dim]);
      strides.push_back(impl(self).strides()[dim]);
    }
  }
}

// The result with the choices in front -> with them at their place.
Tensor put_in_place(const Tensor& front, std::size_t chosen, std::size_t place) {
  std::vector<int64_t> order;
  const std::size_t rank = impl(front).sizes().size();
  for (std::size_t i = 0; i < place; ++i) {
    order.push_back(static_cast<int64_t>(chosen + i));
  }
  for (std::size_t i = 0; i < chosen; ++i) {
    order.push_back(static_cast<int64_t>(i));
  }
  for (std::size_t i = chosen + place; i < rank; ++i) {
    order.push_back(static_cast<int64_t>(i));
  }
  return torch2cpp::permute(front, order);
}

Tensor put(const Tensor& self, const OptionalTensors& indices, const Tensor& values, bool accumulate) {
  if (impl(self).dtype != impl(values).dtype) {
    raise_runtime_error("Index put requires the source and destination dtypes match, got " +
                        std::string(dtype_name(impl(self).dtype)) + " for the destination and " +
                        std::string(dtype_name(impl(values).dtype)) + " for the source.");
  }
  const Chosen chosen = choose(self, indices);
  std::vector<int64_t> sizes, strides;
  whole_dimensions(self, chosen, sizes, strides);
  std::vector<int64_t> result = sizes;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(chosen.place), chosen.sizes.begin(), chosen.sizes.end());
  check_expandable(impl(values).sizes(), result);
  Tensor given = torch2cpp::expand(values, result);
  // The choices to the front.
  std::vector<int64_t> order;
  for (std::size_t i = 0; i < chosen.sizes.size(); ++i) {
    order.push_back(static_cast<int64_t>(chosen.place + i));
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i < chosen.place || i >= chosen.place + chosen.sizes.size()) {
      order.push_back(static_cast<int64_t>(i));
    }
  }
  given = clone_contiguous(torch2cpp::permute(given, order));
  const int64_t part = element_count(sizes);
  each_choice(self, chosen, [&](int64_t i, int64_t offset) {
    const Tensor target = view_of(impl(self), sizes, strides, impl(self).offset + offset);
    const Tensor source = view_of(impl(given), sizes, {}, i * part);
    slim::copy(impl(target), impl(accumulate ? add_Tensor(target, source, 1) : source));
  });
  return self;
}

}  // namespace

Tensor index_Tensor(const Tensor& self, const OptionalTensors& indices) {
  const Chosen chosen = choose(self, indices);
  std::vector<int64_t> sizes, strides;
  whole_dimensions(self, chosen, sizes, strides);
  std::vector<int64_t> all = chosen.sizes;
  all.insert(all.end(), sizes.begin(), sizes.end());
  const Tensor out = slim::empty(all, impl(self).dtype);
  const int64_t part = element_count(sizes);
  const auto bytes = static_cast<int64_t>(impl(self).width());
  if (part != 0) {
    const bool dense = Tensor(view_of(impl(self), sizes, strides, impl(self).offset)).is_contiguous();
    each_choice(self, chosen, [&](int64_t i, int64_t offset) {
      if (dense) {
        std::memcpy(impl(out).data() + i * part * bytes, impl(self).data() + offset * bytes,
                    static_cast<std::size_t>(part * bytes));
      } else {
        slim::copy(impl(view_of(impl(out), sizes, {}, i * part)),
                   impl(view_of(impl(self), sizes, strides, impl(self).offset + offset)));
      }
    });
  }
  return chosen.place == 0 ? out : clone_contiguous(put_in_place(out, chosen.sizes.size(), chosen.place));
}

Tensor index_put_in_place(const Tensor& self, const OptionalTensors& indices, const Tensor& values, bool accumulate) {
  return put(self, indices, values, accumulate);
}
Tensor index_put(const Tensor& self, const OptionalTensors& indices, const Tensor& values, bool accumulate) {
  return put(clone_contiguous(self), indices, values, accumulate);
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  if (impl(index).rank() > 1) {
    raise_index_error("index_select(): Index is supposed to be a vector");
  }
  const int64_t at = wrap(dim, impl(self).rank());
  const Tensor flat = impl(index).rank() == 0 ? torch2cpp::unsqueeze(index, 0) : index;
  if (impl(self).rank() == 0) {
    return slim::clone(self);
  }
  OptionalTensors indices(static_cast<std::size_t>(at));
  indices.emplace_back(longs(flat, "index_select"));
  for (int64_t i = 0; i < impl(flat).numel(); ++i) {
    if (slim::data<int64_t>(*indices.back())[i] < 0) {
      raise_index_error("index out of range in self");
    }
  }
  return index_Tensor(self, indices);
}

Tensor embedding(const Tensor& weight, const Tensor& indices) {
  const Tensor index = longs(indices, "embedding");
  const int64_t rows = torch2cpp::size(weight, 0), width = torch2cpp::size(weight, 1);
  const Tensor table = slim::contiguous(weight);
  std::vector<int64_t> sizes = extents_of(index);
  sizes.push_back(width);
  const Tensor out = slim::empty(sizes, impl(weight).dtype);
  const auto bytes = static_cast<std::size_t>(width) * impl(weight).width();
  for (int64_t i = 0; i < impl(index).numel(); ++i) {
    const int64_t row = slim::data<int64_t>(index)[i];
    if (row < 0 || row >= rows) {
      raise_index_error("index out of range in self");
    }
    std::memcpy(impl(out).data() + static_cast<std::size_t>(i) * bytes,
                impl(table).data() + static_cast<std::size_t>(row) * bytes, bytes);
  }
  return out;
}

Tensor take(const Tensor& self, const Tensor& index) { return index_Tensor(flatten_using_ints(self, 0, -1), {index}); }
Tensor bincount(const Tensor& self, const OptionalTensor& weights, int64_t minlength) {
  const Tensor values = slim::contiguous(self, ScalarType::Long);
  const int64_t count = impl(values).numel();
  const int64_t* at = slim::data<int64_t>(values);
  int64_t length = minlength;
  for (int64_t i = 0; i < count; ++i) {
    if (at[i] < 0) {
      raise_runtime_error("bincount only supports 1-d non-negative integral inputs.");
    }
    length = std::max(length, at[i] + 1);
  }
  const bool weighted = weights && weights->defined();
  const ScalarType dtype = !weighted                                   ? ScalarType::Long
                           : impl(*weights).dtype == ScalarType::Float ? ScalarType::Float
                                                                       : ScalarType::Double;
  std::vector<double> sums(static_cast<std::size_t>(length), 0.0);
  const Tensor given = weighted ? slim::contiguous(*weights, ScalarType::Double) : Tensor();
  for (int64_t i = 0; i < count; ++i) {
    sums[static_cast<std::size_t>(at[i])] += weighted ? slim::data<double>(given)[i] : 1.0;
  }
  const Tensor out = slim::empty({&length, 1}, dtype);
  store(sums.data(), impl(out).data(), dtype, 1, length);
  return out;
}

Tensor nonzero(const Tensor& self) {
  const Impl& from = impl(self);
  const Tensor flags = slim::contiguous(self, ScalarType::Bool);
  const bool* set = slim::data<bool>(flags);
  const int64_t count = from.numel(), rank = from.rank();
  const auto found = static_cast<int64_t>(std::count(set, set + count, true));
  // Column by column in memory, as eager lays it out.
  const int64_t sizes[] = {found, rank}, strides[] = {1, std::max<int64_t>(found, 1)};
  const Tensor out = slim::empty(sizes, ScalarType::Long, strides);
  int64_t* to = slim::data<int64_t>(out);
  for (int64_t i = 0, row = 0; i < count; ++i) {
    if (set[i]) {
      int64_t rest = i;
      for (int64_t dim = rank; dim-- > 0;) {
        const int64_t size = from.sizes()[static_cast<std::size_t>(dim)];
        to[dim * strides[1] + row] = rest % size;
        rest /= size;
      }
      ++row;
    }
  }
  return out;
}
Tensors nonzero_numpy(const Tensor& self) {
  const Tensor all = nonzero(impl(self).rank() == 0 ? torch2cpp::unsqueeze(self, 0) : self);
  return unbind_int(all, 1);
}
Tensors where(const Tensor& condition) { return nonzero_numpy(condition); }

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  if (impl(mask).dtype != ScalarType::Bool) {
    raise_runtime_error("masked_select: expected BoolTensor for mask");
  }
  const Extents sizes = broadcast({&impl(self), &impl(mask)});
  return index_Tensor(torch2cpp::expand(self, Ints(sizes.sizes())), {torch2cpp::expand(mask, Ints(sizes.sizes()))});
}

}  // namespace torch2cpp::slim::op
