// Small linear algebra: factorisations and solutions, worked out in double for each matrix of a batch.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// A copy in double, and its last two sizes.
struct Matrices {
  Tensor elements;
  int64_t count, rows, columns;

  double* at(int64_t i) const { return slim::data<double>(elements) + i * rows * columns; }
};

Matrices matrices(const Tensor& t, const char* name) {
  const Impl& from = impl(t);
  if (from.rank() < 2) {
    raise_runtime_error(std::string(name) + ": The input tensor A must have at least 2 dimensions.");
  }
  if (from.dtype != ScalarType::Float && from.dtype != ScalarType::Double) {
    raise_runtime_error(std::string(name) + ": Expected a floating point or complex tensor as input. Got " +
                        std::string(dtype_name(from.dtype)));
  }
  const Tensor wide = slim::empty(from.sizes(), ScalarType::Double);
  slim::copy(impl(wide), from);
  const int64_t rows = torch2cpp::size(t, -2), columns = torch2cpp::size(t, -1);
  return {wide, rows * columns == 0 ? 0 : from.numel() / (rows * columns), rows, columns};
}

Matrices square(const Tensor& t, const char* name) {
  const Matrices out = matrices(t, name);
  if (out.rows != out.columns) {
    raise_runtime_error(std::string(name) + ": A must be batches of square matrices, but they are " +
                        std::to_string(out.rows) + " by " + std::to_string(out.columns) + " matrices");
  }
  return out;
}

Tensor as_given(const Tensor& wide, const Tensor& like) { return slim::contiguous(wide, impl(like).dtype); }

[[noreturn]] void fails(const Tensor& t, int64_t batch, const std::string& name, const std::string& why) {
  const std::string where = impl(t).rank() > 2 ? "(Batch element " + std::to_string(batch) + "): " : "";
  raise_error("LinAlgError", name + ": " + where + why);
}

// LU with row exchanges, in place. Gives the sign of the exchanges, and where a pivot is zero.
double factor(double* a, int64_t n, std::vector<int64_t>& order, int64_t& zero) {
  double sign = 1;
  zero = -1;
  order.resize(static_cast<std::size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    order[static_cast<std::size_t>(i)] = i;
  }
  for (int64_t step = 0; step < n; ++step) {
    int64_t pivot = step;
    for (int64_t i = step + 1; i < n; ++i) {
      pivot = std::abs(a[i * n + step]) > std::abs(a[pivot * n + step]) ? i : pivot;
    }
    if (pivot != step) {
      std::swap_ranges(a + step * n, a + (step + 1) * n, a + pivot * n);
      std::swap(order[static_cast<std::size_t>(step)], order[static_cast<std::size_t>(pivot)]);
      sign = -sign;
    }
    const double head = a[step * n + step];
    if (head == 0) {
      zero = zero < 0 ? step : zero;
      continue;
    }
    for (int64_t i = step + 1; i < n; ++i) {
      const double scale = a[i * n + step] /= head;
      for (int64_t j = step + 1; j < n; ++j) {
        a[i * n + j] -= scale * a[step * n + j];
      }
    }
  }
  return sign;
}

// b <- inverse of a triangle of `a`, times b (n x m).
void solve_triangle(const double* a, int64_t n, double* b, int64_t m, bool upper, bool unit) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = upper ? n - 1 - step : step;
    for (int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) {
      for (int64_t c = 0; c < m; ++c) {
        b[i * m + c] -= a[i * n + j] * b[j * m + c];
      }
    }
    for (int64_t c = 0; c < m && !unit; ++c) {
      b[i * m + c] /= a[i * n + i];
    }
  }
}

// x of a x = b for square `a`, both of one batch.
Tensor solved(const Tensor& A, const Tensor& B, const char* name) {
  const Matrices a = square(A, name), b = matrices(B, name);
  if (b.rows != a.rows) {
    raise_runtime_error(std::string(name) + ": Incompatible shapes of A and B for the equation AX = B");
  }
  std::vector<int64_t> order;
  std::vector<double> moved(static_cast<std::size_t>(b.rows * b.columns));
  for (int64_t i = 0; i < a.count; ++i) {
    int64_t zero = -1;
    factor(a.at(i), a.rows, order, zero);
    if (zero >= 0) {
      fails(A, i, name, "The solver failed because the input matrix is singular.");
    }
    double* right = b.at(i);
    for (int64_t row = 0; row < b.rows; ++row) {
      std::copy_n(right + order[static_cast<std::size_t>(row)] * b.columns, b.columns, moved.data() + row * b.columns);
    }
    std::copy(moved.begin(), moved.end(), right);
    solve_triangle(a.at(i), a.rows, right, b.columns, false, true);
    solve_triangle(a.at(i), a.rows, right, b.columns, true, false);
  }
  return as_given(b.elements, B);
}

// The leading dimensions of both made equal.
std::pair<Tensor, Tensor> batches(const Tensor& a, const Tensor& b) {
  Impl x, y;
  const auto leading = [](const Tensor& t) { return impl(t).sizes().first(impl(t).sizes().size() - 2); };
  x.extents = Extents(leading(a), {});
  y.extents = Extents(leading(b), {});
  const Extents together = broadcast({&x, &y});
  const auto spread = [&](const Tensor& t) {
    std::vector<int64_t> sizes(together.sizes().begin(), together.sizes().end());
    sizes.insert(sizes.end(), {torch2cpp::size(t, -2), torch2cpp::size(t, -1)});
    return torch2cpp::expand(t, sizes);
  };
  return {spread(a), spread(b)};
}

Tensor turned(const Tensor& t) { return torch2cpp::transpose(t, -2, -1); }

}  // namespace

Tensor linalg_cholesky(const Tensor& self, bool upper) {
  const Matrices a = square(upper ? turned(self) : self, "linalg.cholesky");
  const int64_t n = a.rows;
  for (int64_t batch = 0; batch < a.count; ++batch) {
    double* m = a.at(batch);
    for (int64_t j = 0; j < n; ++j) {
      double sum = m[j * n + j];
      for (int64_t k = 0; k < j; ++k) {
        sum -= m[j * n + k] * m[j * n + k];
      }
      if (!(sum > 0)) {
        fails(self, batch, "linalg.cholesky",
              "The factorization could not be completed because the input is not positive-definite (the leading minor "
              "of order " +
                  std::to_string(j + 1) + " is not positive-definite).");
      }
      m[j * n + j] = std::sqrt(sum);
      for (int64_t i = j + 1; i < n; ++i) {
        double rest = m[i * n + j];
        for (int64_t k = 0; k < j; ++k) {
          rest -= m[i * n + k] * m[j * n + k];
        }
        m[i * n + j] = rest / m[j * n + j];
        m[j * n + i] = 0;
      }
    }
  }
  const Tensor out = as_given(a.elements, self);
  return upper ? turned(out) : out;
}

Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  // A vector, or a batch of them, where it has one dimension less than the matrices.
  const int64_t rank = impl(A).rank();
  const bool vectors = impl(B).rank() == 1 ||
                       (impl(B).rank() == rank - 1 &&
                        std::ranges::equal(impl(B).sizes(), impl(A).sizes().first(static_cast<std::size_t>(rank) - 1)));
  Tensor right = vectors ? torch2cpp::unsqueeze(B, -1) : B;
  if (!left && !vectors) {
    const auto [a, b] = batches(turned(A), turned(right));
    return turned(solved(a, b, "torch.linalg.solve"));
  }
  const auto [a, b] = batches(A, right);
  const Tensor out = solved(a, b, "torch.linalg.solve");
  return vectors ? torch2cpp::squeeze(out, -1) : out;
}

Tensor linalg_inv(const Tensor& A) {
  const Matrices shape = square(A, "linalg.inv");
  const Tensor one = torch2cpp::expand(eye(shape.rows, impl(A).dtype), Ints(impl(A).sizes()));
  try {
    return solved(A, one, "linalg.inv");
  } catch (const PyError& error) {
    if (error.type_name() != "LinAlgError") {
      throw;
    }
    fails(A, 0, "linalg.inv",
          "The diagonal element of the factorization is zero, the inversion could not be completed because the input "
          "matrix is singular.");
  }
}

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular) {
  if (!left) {
    return turned(linalg_solve_triangular(turned(self), turned(B), !upper, true, unitriangular));
  }
  const auto [first, second] = batches(self, B);
  const Matrices a = square(first, "linalg.solve_triangular"), b = matrices(second, "linalg.solve_triangular");
  if (b.rows != a.rows) {
    raise_runtime_error("linalg.solve_triangular: Incompatible shapes of A and B for the equation AX = B");
  }
  for (int64_t i = 0; i < b.count; ++i) {
    solve_triangle(a.at(i), a.rows, b.at(i), b.columns, upper, unitriangular);
  }
  return as_given(b.elements, B);
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  const Tensor lower = upper ? turned(input2) : input2;
  return linalg_solve_triangular(turned(lower), linalg_solve_triangular(lower, self, false, true, false), true, true,
                                 false);
}

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  const Matrices a = square(A, "linalg.slogdet");
  const Shape leading = impl(A).sizes().first(impl(A).sizes().size() - 2);
  const Tensor sign = slim::empty(leading, ScalarType::Double), log = slim::empty(leading, ScalarType::Double);
  slim::fill(impl(sign), 1.0);
  slim::fill(impl(log), 0.0);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < a.count; ++i) {
    int64_t zero = -1;
    double which = factor(a.at(i), a.rows, order, zero), sum = 0;
    for (int64_t j = 0; j < a.rows; ++j) {
      const double pivot = a.at(i)[j * a.rows + j];
      which = pivot == 0 ? 0 : pivot < 0 ? -which : which;
      sum += std::log(std::abs(pivot));
    }
    slim::data<double>(sign)[i] = which;
    slim::data<double>(log)[i] = sum;
  }
  return {as_given(sign, A), as_given(log, A)};
}

Tensor linalg_det(const Tensor& A) {
  const auto [sign, log] = linalg_slogdet(A);
  return mul_Tensor(sign, exp(log));
}

}  // namespace torch2cpp::slim::op
