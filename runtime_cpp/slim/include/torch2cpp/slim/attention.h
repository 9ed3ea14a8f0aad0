// Attention: softmax(scale * query key^T + mask) value.
#pragma once

#include <torch2cpp/slim/values.h>

namespace torch2cpp::slim {

struct Attention {
  Tensor output;
  // log of the sum of the exponentials of each row of scores.
  Tensor logsumexp;
};

// query, key, value: (..., length, width). A bool mask says what may be looked at, another one is added.
Attention attention(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask,
                    bool is_causal, std::optional<double> scale);

}  // namespace torch2cpp::slim
