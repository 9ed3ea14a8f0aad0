// Matrix products: c = alpha * a b + beta * c over matrices with any strides.
#pragma once

#include <cstdint>

#include <torch2cpp/slim/tensor_impl.h>

namespace torch2cpp::slim {

// Elements `row` apart between rows, `column` apart between columns.
template <class T>
struct Matrix {
  T* data;
  int64_t row, column;
};

// a is m x k, b is k x n, c is m x n. With beta 0, what c held does not matter.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c);
template <>
void gemm<float>(int64_t m, int64_t n, int64_t k, float alpha, Matrix<const float> a, Matrix<const float> b, float beta,
                 Matrix<float> c);

// out = alpha * a b + beta * self over tensors of two dimensions, or three with equal first ones; all of
// one dtype. `self` broadcasts to `out` and may be null. RuntimeError for sizes that do not fit.
void matmul_into(const Impl& out, const Impl* self, const Impl& a, const Impl& b, double beta, double alpha);

}  // namespace torch2cpp::slim
