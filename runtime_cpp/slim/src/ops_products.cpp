// Matrix products of all ranks.
#include <algorithm>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/gemm.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/slim/rows.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

Tensor product(const Tensor& a, const Tensor& b) {
  const Shape x = impl(a).sizes(), y = impl(b).sizes();
  std::vector<int64_t> sizes(x.begin(), x.end());
  if (!sizes.empty() && !y.empty()) {
    sizes.back() = y.back();
  }
  const Tensor out = slim::empty(sizes, impl(a).dtype);
  matmul_into(impl(out), nullptr, impl(a), impl(b), 0, 1);
  return out;
}

Tensor sum_product(const Tensor& self, const Tensor& a, const Tensor& b, Number beta, Number alpha) {
  const Shape x = impl(a).sizes(), y = impl(b).sizes();
  std::vector<int64_t> sizes(x.begin(), x.end());
  if (!sizes.empty() && !y.empty()) {
    sizes.back() = y.back();
  }
  check_expandable(impl(self).sizes(), sizes);
  const Tensor out = slim::empty(sizes, impl(a).dtype);
  matmul_into(impl(out), &impl(self), impl(a), impl(b), beta.as<double>(), alpha.as<double>());
  return out;
}

void check_rank(const Tensor& t, int64_t rank, const char* what) {
  if (impl(t).rank() != rank) {
    raise_runtime_error(std::string(what) + " must be " + (rank == 1 ? "1D" : rank == 2 ? "a matrix" : "a 3D tensor"));
  }
}

}  // namespace

Tensor mm(const Tensor& self, const Tensor& mat2) {
  check_rank(self, 2, "self");
  check_rank(mat2, 2, "mat2");
  return product(self, mat2);
}
Tensor bmm(const Tensor& self, const Tensor& mat2) {
  check_rank(self, 3, "batch1");
  check_rank(mat2, 3, "batch2");
  return product(self, mat2);
}
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, Number beta, Number alpha) {
  check_rank(mat1, 2, "mat1");
  check_rank(mat2, 2, "mat2");
  return sum_product(self, mat1, mat2, beta, alpha);
}
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Number beta, Number alpha) {
  check_rank(batch1, 3, "batch1");
  check_rank(batch2, 3, "batch2");
  return sum_product(self, batch1, batch2, beta, alpha);
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  const int64_t a = impl(self).rank(), b = impl(other).rank();
  if (a == 0 || b == 0) {
    raise_runtime_error("both arguments to matmul need to be at least 1D, but they are " + std::to_string(a) +
                        "D and " + std::to_string(b) + "D");
  }
  // Vectors are matrices of one row or column for the time being.
  const Tensor left = a == 1 ? torch2cpp::unsqueeze(self, 0) : self;
  const Tensor right = b == 1 ? torch2cpp::unsqueeze(other, 1) : other;
  Tensor out;
  if (impl(right).rank() == 2) {
    const Tensor rows = impl(left).rank() == 2 ? left : flatten_using_ints(left, 0, -2);
    out = product(rows, right);
    if (impl(left).rank() > 2) {
      std::vector<int64_t> sizes(impl(left).sizes().begin(), impl(left).sizes().end());
      sizes.back() = impl(right).sizes()[1];
      out = view(out, sizes);
    }
  } else {
    // The leading dimensions broadcast.
    const auto leading = [](const Tensor& t) {
      Impl shape;
      shape.extents = Extents(impl(t).sizes().first(static_cast<std::size_t>(impl(t).rank() - 2)), {});
      return shape;
    };
    const Impl x = leading(left), y = leading(right);
    const Extents batch = broadcast({&x, &y});
    const auto as_batch = [&](const Tensor& t) {
      std::vector<int64_t> sizes(batch.sizes().begin(), batch.sizes().end());
      const Shape own = impl(t).sizes();
      sizes.insert(sizes.end(), own.end() - 2, own.end());
      const int64_t flat[] = {element_count(batch.sizes()), *(own.end() - 2), *(own.end() - 1)};
      return op::reshape(torch2cpp::expand(t, sizes), Ints(std::span<const int64_t>(flat)));
    };
    out = product(as_batch(left), as_batch(right));
    std::vector<int64_t> sizes(batch.sizes().begin(), batch.sizes().end());
    sizes.insert(sizes.end(), {impl(out).sizes()[1], impl(out).sizes()[2]});
    out = view(out, sizes);
  }
  if (b == 1) {
    out = torch2cpp::squeeze(out, -1);
  }
  return a == 1 ? torch2cpp::squeeze(out, b == 1 ? -1 : -2) : out;
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  check_rank(self, 2, "input");
  check_rank(vec, 1, "vec");
  return matmul(self, vec);
}
Tensor dot(const Tensor& self, const Tensor& tensor) {
  check_rank(self, 1, "self");
  check_rank(tensor, 1, "tensor");
  return matmul(self, tensor);
}

Tensor linear(const Tensor& input, const Tensor& weight, const OptionalTensor& bias) {
  const bool vector = impl(input).rank() == 1;
  const Tensor rows = vector                    ? torch2cpp::unsqueeze(input, 0)
                      : impl(input).rank() == 2 ? input
                                                : flatten_using_ints(input, 0, -2);
  const Tensor turned = impl(weight).rank() == 1 ? torch2cpp::unsqueeze(weight, 1) : torch2cpp::t(weight);
  const Tensor out = bias && bias->defined() ? sum_product(*bias, rows, turned, 1, 1) : product(rows, turned);
  std::vector<int64_t> sizes(impl(input).sizes().begin(), impl(input).sizes().end());
  sizes.back() = impl(turned).sizes()[1];
  if (impl(weight).rank() == 1) {
    sizes.pop_back();
  }
  return view(out, sizes);
}

namespace {

// Sums of squares along the last dimension, in eager's order: it shows in differences of such sums.
Tensor squared_norms(const Tensor& x) {
  const int64_t last[] = {-1};
  const ScalarType dtype = impl(x).dtype;
  return reduce<void>(x, last, true, dtype, dtype, []<class T>(const T* row, int64_t length) {
    T sums[4] = {};
    const int64_t whole = length / 4 * 4;
    for (int64_t i = 0; i < length; ++i) {
      const T square = row[i] * row[i];
      sums[i < whole ? i % 4 : 0] += square;
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
  });
}

// As |x|^2 - 2xy + |y|^2, by a product: where points are close, that rounds otherwise than squared differences.
Tensor distances_by_product(const Tensor& x1, const Tensor& x2) {
  const Tensor a = squared_norms(x1), b = squared_norms(x2);
  const Tensor left = cat({mul_Scalar(x1, -2.0), a, ones_like(a, std::nullopt)}, -1);
  const Tensor right = cat({x2, ones_like(b, std::nullopt), b}, -1);
  return sqrt(clamp_min(matmul(left, torch2cpp::transpose(right, -2, -1)), 0.0));
}

}  // namespace

Tensor cdist(const Tensor& x1, const Tensor& x2, double p) {
  // From so many points on, eager takes the product.
  constexpr int64_t kMany = 25;
  const int64_t points = std::max(torch2cpp::size(x1, -2), torch2cpp::size(x2, -2));
  if (p == 2.0 && points > kMany && torch2cpp::size(x1, -1) > 0) {
    return distances_by_product(x1, x2);
  }
  const Tensor off = sub_Tensor(torch2cpp::unsqueeze(x1, -2), torch2cpp::unsqueeze(x2, -3), 1);
  const int64_t last[] = {-1};
  return linalg_vector_norm(off, p, Ints(std::span<const int64_t>(last)), false, std::nullopt);
}

}  // namespace torch2cpp::slim::op
