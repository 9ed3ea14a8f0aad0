// Medians, running extremes, spreads, and what else says something about many elements.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <torch2cpp/slim/operators.h>
#include <torch2cpp/slim/rows.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// Positions and comparisons of ints stay exact, of floats they are those of doubles.
ScalarType exact_type(const Tensor& self) {
  return compute_type(impl(self).dtype) == Compute::Int ? ScalarType::Long : ScalarType::Double;
}

// The best element so far and where it lies, the later of equal ones; NaN is better than everything.
std::tuple<Tensor, Tensor> running(const Tensor& self, int64_t dim, bool largest) {
  const ScalarType dtype = exact_type(self);
  const auto goes_on = [=](auto next, auto best) {
    return next != next || (best == best && (largest ? next >= best : next <= best));
  };
  const auto run = [&](bool places) {
    return transform_rows(to_dtype(self, dtype, false), dim, dtype, [&]<class T>(const T* from, T* to, int64_t length) {
      int64_t best = 0;
      for (int64_t i = 0; i < length; ++i) {
        best = goes_on(from[i], from[best]) ? i : best;
        to[i] = places ? static_cast<T>(best) : from[best];
      }
    });
  };
  return {to_dtype(run(false), impl(self).dtype, false), to_dtype(run(true), ScalarType::Long, false)};
}

std::tuple<Tensor, Tensor> at_place(const std::tuple<Tensor, Tensor>& sorted, int64_t dim, int64_t place,
                                    bool keepdim) {
  const auto pick = [&](const Tensor& t) {
    if (impl(t).rank() == 0) {
      return t;
    }
    return slim::clone_contiguous(keepdim ? torch2cpp::narrow(t, dim, place, 1) : torch2cpp::select(t, dim, place));
  };
  return {pick(std::get<0>(sorted)), pick(std::get<1>(sorted))};
}

int64_t length_of(const Tensor& self, int64_t dim) { return impl(self).rank() == 0 ? 1 : torch2cpp::size(self, dim); }

std::vector<int64_t> all_dims(const Tensor& self, const std::optional<Ints>& dim) {
  if (dim && !dim->get().empty()) {
    return {dim->get().begin(), dim->get().end()};
  }
  std::vector<int64_t> out;
  for (int64_t d = 0; d < impl(self).rank(); ++d) {
    out.push_back(d);
  }
  return out;
}

}  // namespace

std::tuple<Tensor, Tensor> cummax(const Tensor& self, int64_t dim) { return running(self, dim, true); }
std::tuple<Tensor, Tensor> cummin(const Tensor& self, int64_t dim) { return running(self, dim, false); }
Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  return transform_rows(self, dim, impl(self).dtype, []<class T>(const T* from, T* to, int64_t length) {
    double sum = -HUGE_VAL;
    for (int64_t i = 0; i < length; ++i) {
      const auto x = static_cast<double>(from[i]);
      const double high = std::max(sum, x), low = std::min(sum, x);
      sum = std::isinf(high) && low == high ? high : high + std::log1p(std::exp(low - high));
      to[i] = static_cast<T>(sum);
    }
  });
}

std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  if (k <= 0 || k > length_of(self, dim)) {
    raise_runtime_error("kthvalue(): selected number k out of range for dimension " + std::to_string(dim));
  }
  return at_place(sort(self, dim, false), dim, k - 1, keepdim);
}
std::tuple<Tensor, Tensor> median_dim(const Tensor& self, int64_t dim, bool keepdim) {
  const int64_t length = length_of(self, dim);
  if (length == 0) {
    raise_index_error("median(): Expected reduction dim " + std::to_string(dim) + " to have non-zero size.");
  }
  const auto sorted = sort(self, dim, false);
  const auto [values, places] = at_place(sorted, dim, (length - 1) / 2, keepdim);
  // One NaN makes the median NaN: they lie last, the first of them is named.
  const Tensor broken = any_dim(isnan(self), dim, keepdim);
  const auto [last, unused] = at_place(sorted, dim, length - 1, keepdim);
  const Tensor first = argmax(to_dtype(isnan(self), ScalarType::Int, false), dim, keepdim);
  return {where_self(broken, last, values), where_self(broken, first, places)};
}
Tensor median(const Tensor& self) {
  if (impl(self).numel() == 0) {
    return full_like(sum(self, impl(self).dtype), std::numeric_limits<double>::quiet_NaN(), std::nullopt);
  }
  return std::get<0>(median_dim(flatten_using_ints(self, 0, -1), 0, false));
}

std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased) {
  return {var(self, unbiased), mean(self, std::nullopt)};
}
std::tuple<Tensor, Tensor> var_mean_dim(const Tensor& self, std::optional<Ints> dim, bool unbiased, bool keepdim) {
  return {var_dim(self, dim, unbiased, keepdim), mean_dim(self, dim, keepdim, std::nullopt)};
}
std::tuple<Tensor, Tensor> var_mean_correction(const Tensor& self, std::optional<Ints> dim,
                                               std::optional<Number> correction, bool keepdim) {
  return {var_correction(self, dim, correction, keepdim), mean_dim(self, dim, keepdim, std::nullopt)};
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased) {
  return {op::std(self, unbiased), mean(self, std::nullopt)};
}
std::tuple<Tensor, Tensor> std_mean_dim(const Tensor& self, std::optional<Ints> dim, bool unbiased, bool keepdim) {
  return {std_dim(self, dim, unbiased, keepdim), mean_dim(self, dim, keepdim, std::nullopt)};
}
std::tuple<Tensor, Tensor> std_mean_correction(const Tensor& self, std::optional<Ints> dim,
                                               std::optional<Number> correction, bool keepdim) {
  return {std_correction(self, dim, correction, keepdim), mean_dim(self, dim, keepdim, std::nullopt)};
}

Tensor nansum(const Tensor& self, std::optional<Ints> dim, bool keepdim, std::optional<ScalarType> dtype) {
  return sum_dim_IntList(masked_fill_Scalar(self, isnan(self), 0), Ints(all_dims(self, dim)), keepdim, dtype);
}
Tensor nanmean(const Tensor& self, std::optional<Ints> dim, bool keepdim, std::optional<ScalarType> dtype) {
  const std::vector<int64_t> dims = all_dims(self, dim);
  const Tensor count = sum_dim_IntList(logical_not(isnan(self)), Ints(dims), keepdim, std::nullopt);
  return div_Tensor(nansum(self, Ints(dims), keepdim, dtype), count);
}
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  if (!dim && keepdim) {
    const std::vector<int64_t> dims = all_dims(self, std::nullopt);
    return {amin(self, Ints(dims), true), amax(self, Ints(dims), true)};
  }
  if (!dim) {
    return {min(self), max(self)};
  }
  return {amin(self, Ints({*dim}), keepdim), amax(self, Ints({*dim}), keepdim)};
}

}  // namespace torch2cpp::slim::op
