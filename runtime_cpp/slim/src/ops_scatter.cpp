// Operators whose index tensor gives, element by element, the place along one dimension.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/indices.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// Calls `visit(place in index, place in self)`, in elements, for each element of index: self's place has the
// dimension's coordinate replaced by the index.
template <class Visit>
void each_gathered(const Impl& self, std::size_t dim, const Impl& index, const Impl& other, Visit visit) {
  const int64_t count = index.numel();
  const auto* at = reinterpret_cast<const int64_t*>(index.data());
  std::vector<int64_t> place(index.sizes().size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t here = 0, there = 0;
    for (std::size_t d = 0; d < place.size(); ++d) {
      const int64_t coordinate =
          d == dim ? checked(at[i], self.sizes().empty() ? 1 : self.sizes()[d], static_cast<int64_t>(dim)) : place[d];
      here += coordinate * (self.strides().empty() ? 0 : self.strides()[d]);
      there += place[d] * (other.strides().empty() ? 0 : other.strides()[d]);
    }
    visit(i, here, there);
    for (std::size_t d = place.size(); d-- > 0;) {
      if (++place[d] < index.sizes()[d]) {
        break;
      }
      place[d] = 0;
    }
  }
}

void check_index_sizes(const Impl& self, std::size_t dim, const Impl& index, const char* operation) {
  if (std::max<int64_t>(index.rank(), 1) != std::max<int64_t>(self.rank(), 1)) {
    raise_runtime_error("Index tensor must have the same number of dimensions as input tensor");
  }
  for (std::size_t d = 0; d < index.sizes().size(); ++d) {
    if (d != dim && index.sizes()[d] > self.sizes()[d]) {
      raise_runtime_error("Size does not match at dimension " + std::to_string(d) + " expected index " +
                          shape_text(index.sizes()) + " to be no larger than self " + shape_text(self.sizes()) +
                          " apart from dimension " + std::to_string(dim) + " in " + operation);
    }
  }
}

Tensor scatter_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, bool adds) {
  const auto at = static_cast<std::size_t>(wrap(dim, impl(self).rank()));
  const Tensor where = longs(index, "scatter");
  if (impl(where).numel() == 0) {
    return self;
  }
  check_index_sizes(impl(self), at, impl(where), "scatter");
  const Tensor from = impl(src).dtype == impl(self).dtype ? src : to_dtype(src, impl(self).dtype, false);
  const auto bytes = impl(self).width();
  each_gathered(impl(self), at, impl(where), impl(from), [&](int64_t, int64_t here, int64_t there) {
    char* to = impl(self).data() + here * static_cast<int64_t>(bytes);
    const char* value = impl(from).data() + there * static_cast<int64_t>(bytes);
    if (!adds) {
      std::memcpy(to, value, bytes);
      return;
    }
    with_compute(impl(self).dtype, [&]<class T>(T) {
      T pair[2];
      load(to, impl(self).dtype, 1, 1, pair);
      load(value, impl(self).dtype, 1, 1, pair + 1);
      pair[0] += pair[1];
      store(pair, to, impl(self).dtype, 1, 1);
    });
  });
  return self;
}

// How often a place was written to, and what comes of the next value there.
enum class Joined { Sum, Product, Mean, Most, Least };

Joined joined_by(std::string_view reduce) {
  constexpr std::pair<std::string_view, Joined> kNames[] = {{"sum", Joined::Sum},
                                                            {"prod", Joined::Product},
                                                            {"mean", Joined::Mean},
                                                            {"amax", Joined::Most},
                                                            {"amin", Joined::Least}};
  for (const auto& [name, joined] : kNames) {
    if (name == reduce) {
      return joined;
    }
  }
  raise_runtime_error("reduce argument must be either sum, prod, mean, amax or amin, got " + std::string(reduce));
}

template <class T>
T join(Joined by, T held, T value) {
  switch (by) {
    case Joined::Product:
      return held * value;
    case Joined::Most:
      return held != held || held > value ? held : value;
    case Joined::Least:
      return held != held || held < value ? held : value;
    default:
      return held + value;
  }
}

}  // namespace

Tensor scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view reduce, bool include_self) {
  const Joined by = joined_by(reduce);
  const auto at = static_cast<std::size_t>(wrap(dim, impl(self).rank()));
  const Tensor where = longs(index, "scatter_reduce");
  if (impl(where).numel() == 0) {
    return slim::clone(self);
  }
  check_index_sizes(impl(self), at, impl(where), "scatter_reduce");
  if (impl(src).dtype != impl(self).dtype) {
    raise_runtime_error("scatter(): Expected self.dtype to be equal to src.dtype");
  }
  Tensor out;
  with_compute(impl(self).dtype, [&]<class T>(T) {
    out = clone_contiguous(slim::contiguous(self, dtype_of<T>));
    const Tensor from = slim::contiguous(src, dtype_of<T>);
    T* held = slim::data<T>(out);
    std::vector<int64_t> times(static_cast<std::size_t>(impl(out).numel()), include_self ? 1 : 0);
    each_gathered(impl(out), at, impl(where), impl(from), [&](int64_t, int64_t here, int64_t there) {
      int64_t& count = times[static_cast<std::size_t>(here)];
      const T value = slim::data<T>(from)[there];
      held[here] = count++ == 0 ? value : join(by, held[here], value);
    });
    for (std::size_t i = 0; by == Joined::Mean && i < times.size(); ++i) {
      if (times[i] > 1) {
        const auto mean = static_cast<double>(held[i]) / static_cast<double>(times[i]);
        held[i] = static_cast<T>(std::is_integral_v<T> ? std::floor(mean) : mean);
      }
    }
  });
  return slim::contiguous(out, impl(self).dtype);
}
Tensor scatter_reduce_in_place_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                                   std::string_view reduce, bool include_self) {
  slim::copy(impl(self), impl(scatter_reduce_two(self, dim, index, src, reduce, include_self)));
  return self;
}
Tensor index_copy_in_place(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor where = longs(index, "index_copy_");
  const int64_t count = impl(where).numel();
  if (impl(self).rank() == 0 || impl(source).rank() != impl(self).rank() || torch2cpp::size(source, dim) != count) {
    raise_index_error("index_copy_(): Number of indices (" + std::to_string(count) +
                      ") should be equal to source.size(dim)");
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t to = checked(slim::data<int64_t>(where)[i], torch2cpp::size(self, dim), wrap(dim, impl(self).rank()));
    slim::copy(impl(torch2cpp::select(self, dim, to)), impl(torch2cpp::select(source, dim, i)));
  }
  return self;
}
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return index_copy_in_place(slim::clone(self), dim, index, source);
}

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index) {
  const auto at = static_cast<std::size_t>(wrap(dim, impl(self).rank()));
  const Tensor where = longs(index, "gather");
  const Tensor out = slim::empty(impl(where).sizes(), impl(self).dtype);
  if (impl(where).numel() == 0) {
    return out;
  }
  check_index_sizes(impl(self), at, impl(where), "gather");
  const auto bytes = impl(self).width();
  each_gathered(impl(self), at, impl(where), impl(out), [&](int64_t i, int64_t here, int64_t) {
    std::memcpy(impl(out).data() + i * static_cast<int64_t>(bytes),
                impl(self).data() + here * static_cast<int64_t>(bytes), bytes);
  });
  return out;
}
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  if (!dim) {
    return gather(flatten_using_ints(self, 0, -1), 0, flatten_using_ints(indices, 0, -1));
  }
  const auto at = static_cast<std::size_t>(wrap_dim(*dim, impl(self).rank()));
  std::vector<int64_t> mine = {impl(self).sizes().begin(), impl(self).sizes().end()},
                       theirs = {impl(indices).sizes().begin(), impl(indices).sizes().end()};
  for (std::size_t d = 0; d < mine.size() && d < theirs.size(); ++d) {
    if (d != at) {
      mine[d] = theirs[d] = std::max(mine[d], theirs[d]);
    }
  }
  return gather(torch2cpp::expand(self, mine), *dim, torch2cpp::expand(indices, theirs));
}
Tensor scatter_in_place_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_into(self, dim, index, src, false);
}
Tensor scatter_in_place_value(const Tensor& self, int64_t dim, const Tensor& index, Number value) {
  const Tensor spread = torch2cpp::expand(to_dtype(number(value), impl(self).dtype, true), Ints(impl(index).sizes()));
  return scatter_into(self, dim, index, spread, false);
}
Tensor scatter_add_in_place(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_into(self, dim, index, src, true);
}
Tensor scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_in_place_src(clone_contiguous(self), dim, index, src);
}
Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, Number value) {
  return scatter_in_place_value(clone_contiguous(self), dim, index, value);
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_add_in_place(clone_contiguous(self), dim, index, src);
}
Tensor index_fill_in_place_int_Scalar(const Tensor& self, int64_t dim, const Tensor& index, Number value) {
  const int64_t at = wrap_dim(dim, impl(self).rank());
  const Tensor where = longs(index, "index_fill_");
  for (int64_t i = 0; i < impl(where).numel(); ++i) {
    const int64_t row = checked(slim::data<int64_t>(where)[i], torch2cpp::size(self, at), at);
    fill_in_place_Scalar(torch2cpp::select(self, at, row), value);
  }
  return self;
}

Tensor index_add_in_place(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Number alpha) {
  const int64_t at = wrap(dim, impl(self).rank());
  const Tensor where = longs(index, "index_add_");
  if (impl(self).rank() > 1 && impl(self).numel() == 0) {
    // Eager does not look at the index then.
    return self;
  }
  for (int64_t i = 0; i < impl(where).numel(); ++i) {
    const int64_t row = slim::data<int64_t>(where)[i];
    if (row < 0 || row >= torch2cpp::size(self, at)) {
      raise_index_error("index out of range in self");
    }
    const Tensor target = torch2cpp::select(self, at, row);
    slim::copy(impl(target), impl(add_Tensor(target, torch2cpp::select(source, at, i), alpha)));
  }
  return self;
}
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Number alpha) {
  return index_add_in_place(clone_contiguous(self), dim, index, source, alpha);
}

}  // namespace torch2cpp::slim::op
