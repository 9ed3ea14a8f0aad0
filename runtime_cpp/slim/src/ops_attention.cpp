// Attention.
#include <algorithm>
#include <cmath>
#include <vector>

#include <torch2cpp/slim/attention.h>
#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/gemm.h>
#include <torch2cpp/slim/kernels.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim {
namespace {

// Which scores of one matrix do not count, or what is added to them.
struct Mask {
  const char* data = nullptr;
  bool is_bool = false;
  int64_t row = 0, column = 0;

  void apply(int64_t i, int64_t count, float* scores) const {
    for (int64_t j = 0; data != nullptr && j < count; ++j) {
      const int64_t at = i * row + j * column;
      if (is_bool) {
        scores[j] = data[at] != 0 ? scores[j] : -HUGE_VALF;
      } else {
        scores[j] += reinterpret_cast<const float*>(data)[at];
      }
    }
  }
};

// A mask that broadcasts to the scores, for the matrix of so many: its dimensions before the last two are counted.
Mask mask_of(const Tensor& expanded, int64_t matrix) {
  const Impl& t = impl(expanded);
  int64_t offset = 0;
  for (std::size_t d = t.sizes().size() - 2; d-- > 0;) {
    offset += matrix % t.sizes()[d] * t.strides()[d];
    matrix /= t.sizes()[d];
  }
  const auto width = static_cast<int64_t>(t.width());
  return {t.data() + offset * width, t.dtype == ScalarType::Bool, *(t.strides().end() - 2), t.strides().back()};
}

bool same_batch(const Impl& a, const Impl& b) {
  const std::size_t leading = a.sizes().size() - 2;
  return a.rank() == b.rank() && std::ranges::equal(a.sizes().first(leading), b.sizes().first(leading));
}

// Floats with equal leading dimensions: one matrix of scores at a time.
bool goes_by_matrix(const Impl& query, const Impl& key, const Impl& value, const OptionalTensor& mask) {
  const auto is_float = [](const Impl& t) { return t.dtype == ScalarType::Float; };
  const bool masked = mask && mask->defined();
  return is_float(query) && is_float(key) && is_float(value) && query.rank() >= 2 && same_batch(query, key) &&
         same_batch(query, value) && query.sizes().back() == key.sizes().back() && query.sizes().back() > 0 &&
         *(key.sizes().end() - 2) == *(value.sizes().end() - 2) &&
         (!masked || is_float(impl(*mask)) || impl(*mask).dtype == ScalarType::Bool);
}

Attention by_matrix(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask,
                    bool is_causal, double factor) {
  const int64_t length = torch2cpp::size(query, -2), keys = torch2cpp::size(key, -2),
                depth = torch2cpp::size(query, -1), width = torch2cpp::size(value, -1);
  std::vector<int64_t> sizes(impl(query).sizes().begin(), impl(query).sizes().end() - 1);
  const int64_t matrices = element_count(Shape(sizes).first(sizes.size() - 1));
  const Tensor sums = empty(sizes, ScalarType::Float);
  sizes.push_back(keys);
  const Tensor masks = mask && mask->defined() ? torch2cpp::expand(*mask, sizes) : Tensor();
  sizes.back() = width;
  const Tensor out = empty(sizes, ScalarType::Float);
  const Tensor q = contiguous(query), k = contiguous(key), v = contiguous(value);
  std::vector<float> scores(static_cast<std::size_t>(length * keys));
  for (int64_t matrix = 0; matrix < matrices; ++matrix) {
    gemm<float>(length, keys, depth, static_cast<float>(factor), {data<float>(q) + matrix * length * depth, depth, 1},
                {data<float>(k) + matrix * keys * depth, 1, depth}, 0.0F, {scores.data(), keys, 1});
    const Mask masked = masks.defined() ? mask_of(masks, matrix) : Mask{};
    for (int64_t i = 0; i < length; ++i) {
      float* row = scores.data() + i * keys;
      if (is_causal && i + 1 < keys) {
        std::fill(row + i + 1, row + keys, -HUGE_VALF);
      }
      masked.apply(i, keys, row);
      data<float>(sums)[matrix * length + i] = kernels().softmax(keys, row);
    }
    gemm<float>(length, width, keys, 1.0F, {scores.data(), keys, 1}, {data<float>(v) + matrix * keys * width, width, 1},
                0.0F, {data<float>(out) + matrix * length * width, width, 1});
  }
  return {out, sums};
}

}  // namespace

Attention attention(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask,
                    bool is_causal, std::optional<double> scale) {
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(torch2cpp::size(query, -1))));
  if (goes_by_matrix(impl(query), impl(key), impl(value), mask)) {
    return by_matrix(query, key, value, mask, is_causal, factor);
  }
  Tensor scores = op::mul_Scalar(op::matmul(query, torch2cpp::transpose(key, -2, -1)), factor);
  const ScalarType dtype = impl(scores).dtype;
  if (is_causal) {
    const int64_t sizes[] = {torch2cpp::size(query, -2), torch2cpp::size(key, -2)};
    const Tensor allowed = op::tril(op::ones(Ints(std::span<const int64_t>(sizes)), ScalarType::Bool), 0);
    scores = op::masked_fill_Scalar(scores, op::logical_not(allowed), -HUGE_VAL);
  }
  if (mask && mask->defined()) {
    scores = impl(*mask).dtype == ScalarType::Bool ? op::masked_fill_Scalar(scores, op::logical_not(*mask), -HUGE_VAL)
                                                   : op::add_Tensor(scores, op::to_dtype(*mask, dtype, false), 1);
  }
  const int64_t last[] = {-1};
  const Tensor sums = op::logsumexp(scores, Ints(std::span<const int64_t>(last)), true);
  // A row that may look at nothing looks at nothing.
  const Tensor nothing = op::eq_Scalar(sums, -HUGE_VAL);
  const Tensor weights = op::masked_fill_Scalar(
      op::exp(op::sub_Tensor(scores, op::masked_fill_Scalar(sums, nothing, 0.0), 1)), nothing, 0.0);
  return {op::matmul(weights, value), torch2cpp::squeeze(sums, -1)};
}

namespace op {
namespace {

// (batch, length, heads * width) -> (batch, heads, length, width)
Tensor by_heads(const Tensor& t, int64_t heads) {
  const int64_t width = torch2cpp::size(t, -1) / heads;
  const int64_t sizes[] = {torch2cpp::size(t, 0), torch2cpp::size(t, 1), heads, width};
  return torch2cpp::transpose(op::reshape(t, Ints(std::span<const int64_t>(sizes))), 1, 2);
}

// Which scores of (batch, heads, length, length) do not count: a mask of (length, length) is one for all, one of
// (batch, length) is about keys.
Tensor masked_scores(const Tensor& scores, const Tensor& mask, int64_t type) {
  Tensor where = to_dtype(mask, ScalarType::Bool, false);
  if (type == 1) {
    where = torch2cpp::unsqueeze(torch2cpp::unsqueeze(where, 1), 1);
  }
  return masked_fill_Scalar(scores, where, -HUGE_VAL);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const OptionalTensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  if (dropout_p != 0.0) {
    raise_not_implemented("attention with dropout without libtorch");
  }
  if (!enable_gqa) {
    return attention(query, key, value, attn_mask, is_causal, scale).output;
  }
  // Several heads of the query share one of the keys.
  const int64_t heads = torch2cpp::size(query, -3), keys = torch2cpp::size(key, -3);
  if (keys == 0 || heads % keys != 0) {
    raise_runtime_error("Number of heads in key and value must divide the number of heads in query");
  }
  return attention(query, repeat_interleave_self_int(key, heads / keys, -3),
                   repeat_interleave_self_int(value, heads / torch2cpp::size(value, -3), -3), attn_mask, is_causal,
                   scale)
      .output;
}

std::tuple<Tensor, Tensor> _native_multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        int64_t embed_dim, int64_t num_head, const Tensor& qkv_weight,
                                                        const Tensor& qkv_bias, const Tensor& proj_weight,
                                                        const Tensor& proj_bias, const OptionalTensor& mask,
                                                        bool need_weights, bool average_attn_weights,
                                                        std::optional<int64_t> mask_type) {
  if (num_head <= 0 || embed_dim % num_head != 0 || torch2cpp::size(query, -1) != embed_dim) {
    raise_runtime_error("embed_dim must be the last dimension of query and divisible by num_head");
  }
  const auto projected = [&](const Tensor& t, int64_t which) {
    return by_heads(linear(t, torch2cpp::narrow(qkv_weight, 0, which * embed_dim, embed_dim),
                           torch2cpp::narrow(qkv_bias, 0, which * embed_dim, embed_dim)),
                    num_head);
  };
  const double scale = 1 / std::sqrt(static_cast<double>(embed_dim / num_head));
  Tensor scores = matmul(mul_Scalar(projected(query, 0), scale), torch2cpp::transpose(projected(key, 1), -2, -1));
  if (mask && mask->defined()) {
    scores = masked_scores(scores, *mask, mask_type.value_or(2));
  }
  const Tensor weights = softmax_int(scores, -1, std::nullopt);
  const Tensor heads = torch2cpp::transpose(matmul(weights, projected(value, 2)), 1, 2);
  const Tensor out = linear(flatten_using_ints(heads, 2, 3), proj_weight, proj_bias);
  if (!need_weights) {
    return {out, Tensor()};
  }
  const int64_t over_heads[] = {1};
  return {out, average_attn_weights ? mean_dim(weights, Ints(std::span<const int64_t>(over_heads)), false, std::nullopt)
                                    : weights};
}

}  // namespace op
}  // namespace torch2cpp::slim
