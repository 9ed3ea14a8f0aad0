// Products of vectors, diagonals, distances.
#include <cmath>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

Ints dims_of(const int64_t (&dims)[1]) { return Ints(std::span<const int64_t>(dims)); }

// Of a loss: 0 each, 1 the mean, 2 the sum.
Tensor reduced(const Tensor& each, int64_t reduction) {
  return reduction == 1 ? mean(each, std::nullopt) : reduction == 2 ? sum(each, std::nullopt) : each;
}

}  // namespace

Tensor outer(const Tensor& self, const Tensor& vec2) {
  if (impl(self).rank() != 1 || impl(vec2).rank() != 1) {
    raise_runtime_error("outer: Expected 1-D arguments, but got " + std::to_string(impl(self).rank()) + "-D and " +
                        std::to_string(impl(vec2).rank()) + "-D");
  }
  return mul_Tensor(torch2cpp::unsqueeze(self, 1), torch2cpp::unsqueeze(vec2, 0));
}
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, Number beta, Number alpha) {
  return add_Tensor(mul_Scalar(self, beta), mv(mat, vec), alpha);
}
Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  if (torch2cpp::size(self, dim) != 3 || torch2cpp::size(other, dim) != 3) {
    raise_runtime_error("linalg.cross: inputs dimension " + std::to_string(dim) + " must have length 3.");
  }
  const auto part = [&](const Tensor& t, int64_t i) { return torch2cpp::select(t, dim, i % 3); };
  Tensors parts;
  for (int64_t i = 0; i < 3; ++i) {
    parts.push_back(sub_Tensor(mul_Tensor(part(self, i + 1), part(other, i + 2)),
                               mul_Tensor(part(self, i + 2), part(other, i + 1)), 1));
  }
  return stack(parts, dim);
}
Tensor tensordot(const Tensor& self, const Tensor& other, Ints dims_self, Ints dims_other) {
  const Shape mine = dims_self.get(), theirs = dims_other.get();
  if (mine.size() != theirs.size()) {
    raise_runtime_error("both dimension lists should have same length");
  }
  std::vector<int64_t> sizes, left, right, order_left, order_right;
  int64_t depth = 1;
  const auto rest = [](const Tensor& t, Shape used, std::vector<int64_t>& order) {
    for (int64_t d = 0; d < impl(t).rank(); ++d) {
      bool taken = false;
      for (const int64_t u : used) {
        taken = taken || wrap(u, impl(t).rank()) == d;
      }
      if (!taken) {
        order.push_back(d);
      }
    }
  };
  rest(self, mine, order_left);
  const std::size_t kept = order_left.size();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const int64_t size = torch2cpp::size(self, mine[i]);
    if (size != torch2cpp::size(other, theirs[i])) {
      raise_runtime_error("contracted dimensions need to match, but first has size " + std::to_string(size) +
                          " in dim " + std::to_string(mine[i]) + " and second has size " +
                          std::to_string(torch2cpp::size(other, theirs[i])) + " in dim " + std::to_string(theirs[i]));
    }
    depth *= size;
    order_left.push_back(wrap(mine[i], impl(self).rank()));
    order_right.push_back(wrap(theirs[i], impl(other).rank()));
  }
  rest(other, theirs, order_right);
  for (std::size_t i = 0; i < kept; ++i) {
    sizes.push_back(torch2cpp::size(self, order_left[i]));
  }
  const int64_t rows = element_count(sizes);
  for (std::size_t i = mine.size(); i < order_right.size(); ++i) {
    sizes.push_back(torch2cpp::size(other, order_right[i]));
  }
  const int64_t columns = element_count(Shape(sizes).subspan(kept));
  const int64_t flat_left[] = {rows, depth}, flat_right[] = {depth, columns};
  const Tensor a = op::reshape(torch2cpp::permute(self, order_left), Ints(std::span<const int64_t>(flat_left)));
  const Tensor b = op::reshape(torch2cpp::permute(other, order_right), Ints(std::span<const int64_t>(flat_right)));
  return op::reshape(mm(a, b), sizes);
}

Tensor trace(const Tensor& self) {
  if (impl(self).rank() != 2) {
    raise_runtime_error("trace: expected a matrix, but got tensor with dim " + std::to_string(impl(self).rank()));
  }
  return sum(diagonal(self, 0, 0, 1), std::nullopt);
}
Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = impl(self).rank() + 1, first = wrap(dim1, rank), second = wrap(dim2, rank);
  if (first == second) {
    raise_runtime_error("diagonal dimensions cannot be identical");
  }
  const int64_t size = torch2cpp::size(self, -1) + std::abs(offset);
  std::vector<int64_t> sizes(impl(self).sizes().begin(), impl(self).sizes().end() - 1);
  sizes.insert(sizes.begin() + std::min(first, second), size);
  sizes.insert(sizes.begin() + std::max(first, second), size);
  const Tensor out = new_zeros(self, sizes, std::nullopt);
  slim::copy(impl(diagonal(out, offset, first, second)), impl(self));
  return out;
}
Tensor diag(const Tensor& self, int64_t diagonal) {
  return impl(self).rank() == 1 ? diag_embed(self, diagonal, 0, 1)
                                : slim::clone_contiguous(op::diagonal(self, diagonal, 0, 1));
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const int64_t dims[] = {dim};
  const auto length = [&](const Tensor& t) {
    return clamp_min(linalg_vector_norm(t, 2, dims_of(dims), true, std::nullopt), eps);
  };
  // Eager broadcasts first: the dimension is counted in what comes of it.
  const Extents sizes = broadcast({&impl(x1), &impl(x2)});
  const Tensor a = torch2cpp::expand(x1, sizes.sizes()), b = torch2cpp::expand(x2, sizes.sizes());
  const Tensor products = mul_Tensor(div_Tensor(a, length(a)), div_Tensor(b, length(b)));
  return sum_dim_IntList(products, dims_of(dims), false, std::nullopt);
}
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const int64_t last[] = {-1};
  return linalg_vector_norm(add_Scalar(sub_Tensor(x1, x2, 1), eps, 1), p, dims_of(last), keepdim, std::nullopt);
}
Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced(square(sub_Tensor(self, target, 1)), reduction);
}
Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced(op::abs(sub_Tensor(self, target, 1)), reduction);
}

}  // namespace torch2cpp::slim::op
