#include <string>
#include <type_traits>
#include <vector>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/gemm.h>
#include <torch2cpp/tensor.h>

namespace torch2cpp::slim {

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  std::vector<T> sums(static_cast<std::size_t>(n));
  for (int64_t i = 0; i < m; ++i) {
    sums.assign(static_cast<std::size_t>(n), T{});
    for (int64_t step = 0; step < k; ++step) {
      const T left = a.data[i * a.row + step * a.column];
      const T* right = b.data + step * b.row;
      for (int64_t j = 0; j < n; ++j) {
        sums[static_cast<std::size_t>(j)] += left * right[j * b.column];
      }
    }
    for (int64_t j = 0; j < n; ++j) {
      T& at = c.data[i * c.row + j * c.column];
      at = alpha * sums[static_cast<std::size_t>(j)] + (beta == T{} ? T{} : beta * at);
    }
  }
}

template void gemm<double>(int64_t, int64_t, int64_t, double, Matrix<const double>, Matrix<const double>, double,
                           Matrix<double>);
template void gemm<int64_t>(int64_t, int64_t, int64_t, int64_t, Matrix<const int64_t>, Matrix<const int64_t>, int64_t,
                            Matrix<int64_t>);

namespace {

template <class T>
void multiply(const Impl& out, const Impl& a, const Impl& b, double beta, double alpha) {
  const std::size_t r = out.sizes().size() - 2;
  const int64_t batch = r == 0 ? 1 : out.sizes()[0];
  const int64_t m = out.sizes()[r], n = out.sizes()[r + 1], k = a.sizes()[r + 1];
  const auto at = [&](const Impl& t, int64_t i) {
    return reinterpret_cast<T*>(t.data()) + (r == 0 ? 0 : i * t.strides()[0]);
  };
  for (int64_t i = 0; i < batch; ++i) {
    gemm<T>(m, n, k, static_cast<T>(alpha), {at(a, i), a.strides()[r], a.strides()[r + 1]},
            {at(b, i), b.strides()[r], b.strides()[r + 1]}, static_cast<T>(beta),
            {at(out, i), out.strides()[r], out.strides()[r + 1]});
  }
}

void check_shapes(const Impl& a, const Impl& b) {
  const auto x = a.sizes(), y = b.sizes();
  const std::size_t rank = x.size();
  if ((rank != 2 && rank != 3) || y.size() != rank) {
    raise_runtime_error("a matrix product of tensors with " + std::to_string(x.size()) + " and " +
                        std::to_string(y.size()) + " dimensions");
  }
  if (x[rank - 1] != y[rank - 2] || (rank == 3 && x[0] != y[0])) {
    const auto text = [](Shape s) { return std::to_string(s[s.size() - 2]) + "x" + std::to_string(s[s.size() - 1]); };
    raise_runtime_error(rank == 2 ? "mat1 and mat2 shapes cannot be multiplied (" + text(x) + " and " + text(y) + ")"
                                  : "batch1 and batch2 shapes cannot be multiplied: " + shape_text(x) + " and " +
                                        shape_text(y));
  }
}

template <class T>
void multiply_into(const Impl& out, const Impl* self, const Impl& a, const Impl& b, double beta, double alpha) {
  if (out.dtype == dtype_of<T>) {
    const bool adds = self != nullptr && beta != 0.0;
    if (adds && self->data() != out.data()) {
      copy(out, *self);
    }
    multiply<T>(out, a, b, adds ? beta : 0.0, alpha);
    return;
  }
  // Other widths are computed in the type that holds them.
  const auto as = [](const Impl& t) { return contiguous(view_of(t, t.sizes(), t.strides(), t.offset), dtype_of<T>); };
  const Tensor wide = empty(out.sizes(), dtype_of<T>), left = as(a), right = as(b);
  const bool adds = self != nullptr && beta != 0.0;
  if (adds) {
    copy(impl(wide), *self);
  }
  multiply<T>(impl(wide), impl(left), impl(right), adds ? beta : 0.0, alpha);
  copy(out, impl(wide));
}

}  // namespace

void matmul_into(const Impl& out, const Impl* self, const Impl& a, const Impl& b, double beta, double alpha) {
  check_shapes(a, b);
  if (a.dtype != b.dtype) {
    raise_runtime_error("expected m1 and m2 to have the same dtype, but got: " + std::string(dtype_name(a.dtype)) +
                        " != " + std::string(dtype_name(b.dtype)));
  }
  with_compute(out.dtype, [&]<class T>(T) { multiply_into<T>(out, self, a, b, beta, alpha); });
}

}  // namespace torch2cpp::slim
