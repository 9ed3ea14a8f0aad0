#include <vector>

#include <torch2cpp/numpy_sum.h>

namespace torch2cpp {
namespace {

// numpy's pairwise summation: eight running sums, halves above 128 elements.
template <class T>
T pairwise(const T* data, int64_t count) {
  if (count < 8) {
    T total = T(-0.0);
    for (int64_t i = 0; i < count; ++i) {
      total += data[i];
    }
    return total;
  }
  if (count > 128) {
    const int64_t half = count / 2 - count / 2 % 8;
    return pairwise(data, half) + pairwise(data + half, count - half);
  }
  T sums[8];
  for (int j = 0; j < 8; ++j) {
    sums[j] = data[j];
  }
  int64_t i = 8;
  for (; i < count - count % 8; i += 8) {
    for (int j = 0; j < 8; ++j) {
      sums[j] += data[i + j];
    }
  }
  T total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (; i < count; ++i) {
    total += data[i];
  }
  return total;
}

// `outer` blocks of `count` rows of `inner` elements, summed over the rows.
template <class T>
void sum_rows(const Tensor& t, const Tensor& out, int64_t outer, int64_t count, int64_t inner) {
  const T* data = static_cast<const T*>(t.const_data_ptr());
  T* to = static_cast<T*>(out.data_ptr());
  for (int64_t block = 0; block < outer; ++block, data += count * inner, to += inner) {
    if (inner == 1) {
      *to = T(0) + pairwise(data, count);
      continue;
    }
    for (int64_t i = 0; i < inner; ++i) {
      to[i] = T(0);
      for (int64_t row = 0; row < count; ++row) {
        to[i] += data[row * inner + i];
      }
    }
  }
}

}  // namespace

Tensor numpy_sum(const Tensor& t, std::optional<int64_t> axis) {
  if (!t.is_contiguous()) {
    raise_not_implemented("numpy's sum of an array that is not contiguous");
  }
  int64_t outer = 1, count = 1, inner = 1;
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < t.dim(); ++i) {
    const int64_t size = t.size(i);
    if (!axis || i == *axis) {
      count *= size;
      continue;
    }
    sizes.push_back(size);
    (i < *axis ? outer : inner) *= size;
  }
  const Tensor out = empty(sizes, t.scalar_type());
  if (t.scalar_type() == ScalarType::Float) {
    sum_rows<float>(t, out, outer, count, inner);
  } else {
    sum_rows<double>(t, out, outer, count, inner);
  }
  return out;
}

}  // namespace torch2cpp
