// Elementwise operators, those that write in place, and random numbers. See operators.h.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include <torch2cpp/slim/values.h>

namespace torch2cpp::slim::op {

// -- elementwise, one operand --
Tensor abs(const Tensor& self);
Tensor neg(const Tensor& self);
Tensor exp(const Tensor& self);
Tensor exp2(const Tensor& self);
Tensor expm1(const Tensor& self);
Tensor log(const Tensor& self);
Tensor log2(const Tensor& self);
Tensor log10(const Tensor& self);
Tensor log1p(const Tensor& self);
Tensor sqrt(const Tensor& self);
Tensor rsqrt(const Tensor& self);
Tensor reciprocal(const Tensor& self);
Tensor square(const Tensor& self);
Tensor sin(const Tensor& self);
Tensor cos(const Tensor& self);
Tensor tan(const Tensor& self);
Tensor asin(const Tensor& self);
Tensor acos(const Tensor& self);
Tensor atan(const Tensor& self);
Tensor sinh(const Tensor& self);
Tensor cosh(const Tensor& self);
Tensor tanh(const Tensor& self);
Tensor erf(const Tensor& self);
Tensor erfc(const Tensor& self);
Tensor erfinv(const Tensor& self);
Tensor asinh(const Tensor& self);
Tensor acosh(const Tensor& self);
Tensor atanh(const Tensor& self);
Tensor lgamma(const Tensor& self);
Tensor sigmoid(const Tensor& self);
Tensor relu(const Tensor& self);
Tensor relu6(const Tensor& self);
Tensor silu(const Tensor& self);
Tensor mish(const Tensor& self);
Tensor selu(const Tensor& self);
Tensor hardswish(const Tensor& self);
Tensor hardsigmoid(const Tensor& self);
Tensor log_sigmoid(const Tensor& self);
Tensor gelu(const Tensor& self, std::string_view approximate);
Tensor softplus(const Tensor& self, Number beta, Number threshold);
Tensor leaky_relu(const Tensor& self, Number negative_slope);
Tensor elu(const Tensor& self, Number alpha, Number scale, Number input_scale);
Tensor prelu(const Tensor& self, const Tensor& weight);
Tensor hardtanh(const Tensor& self, Number min_val, Number max_val);
Tensor celu(const Tensor& self, Number alpha);
Tensor threshold(const Tensor& self, Number threshold, Number value);
Tensor softshrink(const Tensor& self, Number lambd);
Tensor hardshrink(const Tensor& self, Number lambd);
Tensor glu(const Tensor& self, int64_t dim);
Tensor sgn(const Tensor& self);
Tensor frac(const Tensor& self);
Tensor floor(const Tensor& self);
Tensor ceil(const Tensor& self);
Tensor round(const Tensor& self);
Tensor trunc(const Tensor& self);
Tensor sign(const Tensor& self);
Tensor isnan(const Tensor& self);
Tensor isinf(const Tensor& self);
Tensor isfinite(const Tensor& self);
Tensor logical_not(const Tensor& self);
Tensor bitwise_not(const Tensor& self);
Tensor clamp(const Tensor& self, std::optional<Number> min, std::optional<Number> max);
Tensor clamp_Tensor(const Tensor& self, const OptionalTensor& min, const OptionalTensor& max);
Tensor clamp_min(const Tensor& self, Number min);
Tensor clamp_max(const Tensor& self, Number max);
Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf);
Tensor logit(const Tensor& self, std::optional<double> eps);

// -- elementwise, two or more operands --
Tensor add_Tensor(const Tensor& self, const Tensor& other, Number alpha);
Tensor add_Scalar(const Tensor& self, Number other, Number alpha);
Tensor sub_Tensor(const Tensor& self, const Tensor& other, Number alpha);
Tensor sub_Scalar(const Tensor& self, Number other, Number alpha);
Tensor rsub_Tensor(const Tensor& self, const Tensor& other, Number alpha);
Tensor rsub_Scalar(const Tensor& self, Number other, Number alpha);
Tensor mul_Tensor(const Tensor& self, const Tensor& other);
Tensor mul_Scalar(const Tensor& self, Number other);
Tensor div_Tensor(const Tensor& self, const Tensor& other);
Tensor div_Scalar(const Tensor& self, Number other);
Tensor div_Tensor_mode(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode);
Tensor div_Scalar_mode(const Tensor& self, Number other, std::optional<std::string_view> rounding_mode);
Tensor floor_divide(const Tensor& self, const Tensor& other);
Tensor floor_divide_Scalar(const Tensor& self, Number other);
Tensor remainder_Tensor(const Tensor& self, const Tensor& other);
Tensor remainder_Scalar(const Tensor& self, Number other);
Tensor fmod_Tensor(const Tensor& self, const Tensor& other);
Tensor fmod_Scalar(const Tensor& self, Number other);
Tensor pow_Tensor_Tensor(const Tensor& self, const Tensor& exponent);
Tensor pow_Tensor_Scalar(const Tensor& self, Number exponent);
Tensor pow_Scalar(Number self, const Tensor& exponent);
Tensor atan2(const Tensor& self, const Tensor& other);
Tensor hypot(const Tensor& self, const Tensor& other);
Tensor logaddexp(const Tensor& self, const Tensor& other);
Tensor xlogy_Tensor(const Tensor& self, const Tensor& other);
Tensor copysign_Tensor(const Tensor& self, const Tensor& other);
Tensor fmax(const Tensor& self, const Tensor& other);
Tensor fmin(const Tensor& self, const Tensor& other);
Tensor maximum(const Tensor& self, const Tensor& other);
Tensor minimum(const Tensor& self, const Tensor& other);
Tensor max_other(const Tensor& self, const Tensor& other);
Tensor min_other(const Tensor& self, const Tensor& other);
Tensor eq_Tensor(const Tensor& self, const Tensor& other);
Tensor eq_Scalar(const Tensor& self, Number other);
Tensor ne_Tensor(const Tensor& self, const Tensor& other);
Tensor ne_Scalar(const Tensor& self, Number other);
Tensor lt_Tensor(const Tensor& self, const Tensor& other);
Tensor lt_Scalar(const Tensor& self, Number other);
Tensor le_Tensor(const Tensor& self, const Tensor& other);
Tensor le_Scalar(const Tensor& self, Number other);
Tensor gt_Tensor(const Tensor& self, const Tensor& other);
Tensor gt_Scalar(const Tensor& self, Number other);
Tensor ge_Tensor(const Tensor& self, const Tensor& other);
Tensor ge_Scalar(const Tensor& self, Number other);
Tensor logical_and(const Tensor& self, const Tensor& other);
Tensor logical_or(const Tensor& self, const Tensor& other);
Tensor logical_xor(const Tensor& self, const Tensor& other);
Tensor bitwise_and_Tensor(const Tensor& self, const Tensor& other);
Tensor bitwise_and_Scalar(const Tensor& self, Number other);
Tensor bitwise_or_Tensor(const Tensor& self, const Tensor& other);
Tensor bitwise_or_Scalar(const Tensor& self, Number other);
Tensor bitwise_xor_Tensor(const Tensor& self, const Tensor& other);
Tensor bitwise_xor_Scalar(const Tensor& self, Number other);
Tensor where_self(const Tensor& condition, const Tensor& self, const Tensor& other);
Tensor where_ScalarSelf(const Tensor& condition, Number self, const Tensor& other);
Tensor where_ScalarOther(const Tensor& condition, const Tensor& self, Number other);
Tensor where_Scalar(const Tensor& condition, Number self, Number other);
Tensor masked_fill_Scalar(const Tensor& self, const Tensor& mask, Number value);
Tensor masked_fill_Tensor(const Tensor& self, const Tensor& mask, const Tensor& value);
Tensor lerp_Scalar(const Tensor& self, const Tensor& end, Number weight);
Tensor lerp_Tensor(const Tensor& self, const Tensor& end, const Tensor& weight);
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Number value);

// -- written in place --
Tensor add_in_place_Tensor(const Tensor& self, const Tensor& other, Number alpha);
Tensor add_in_place_Scalar(const Tensor& self, Number other, Number alpha);
Tensor sub_in_place_Tensor(const Tensor& self, const Tensor& other, Number alpha);
Tensor sub_in_place_Scalar(const Tensor& self, Number other, Number alpha);
Tensor mul_in_place_Tensor(const Tensor& self, const Tensor& other);
Tensor mul_in_place_Scalar(const Tensor& self, Number other);
Tensor div_in_place_Tensor(const Tensor& self, const Tensor& other);
Tensor div_in_place_Scalar(const Tensor& self, Number other);
Tensor relu_in_place(const Tensor& self);
Tensor sigmoid_in_place(const Tensor& self);
Tensor tanh_in_place(const Tensor& self);
Tensor exp_in_place(const Tensor& self);
Tensor neg_in_place(const Tensor& self);
Tensor sqrt_in_place(const Tensor& self);
Tensor bitwise_and_in_place_Tensor(const Tensor& self, const Tensor& other);
Tensor bitwise_and_in_place_Scalar(const Tensor& self, Number other);
Tensor bitwise_or_in_place_Tensor(const Tensor& self, const Tensor& other);
Tensor bitwise_or_in_place_Scalar(const Tensor& self, Number other);
Tensor bitwise_xor_in_place_Tensor(const Tensor& self, const Tensor& other);
Tensor bitwise_xor_in_place_Scalar(const Tensor& self, Number other);
Tensor remainder_in_place_Tensor(const Tensor& self, const Tensor& other);
Tensor remainder_in_place_Scalar(const Tensor& self, Number other);
Tensor pow_in_place_Scalar(const Tensor& self, Number exponent);
Tensor abs_in_place(const Tensor& self);
Tensor log_in_place(const Tensor& self);
Tensor floor_in_place(const Tensor& self);
Tensor round_in_place(const Tensor& self);
Tensor silu_in_place(const Tensor& self);
Tensor logical_not_in_place(const Tensor& self);
Tensor leaky_relu_in_place(const Tensor& self, Number negative_slope);
Tensor lerp_in_place_Scalar(const Tensor& self, const Tensor& end, Number weight);
Tensor lerp_in_place_Tensor(const Tensor& self, const Tensor& end, const Tensor& weight);
Tensor addcmul_in_place(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Number value);
Tensor resize_in_place(const Tensor& self, Ints size);
Tensor clamp_in_place(const Tensor& self, std::optional<Number> min, std::optional<Number> max);
Tensor clamp_min_in_place(const Tensor& self, Number min);
Tensor clamp_max_in_place(const Tensor& self, Number max);
Tensor copy_in_place(const Tensor& self, const Tensor& src);
Tensor zero_in_place(const Tensor& self);
Tensor fill_in_place_Scalar(const Tensor& self, Number value);
Tensor fill_in_place_Tensor(const Tensor& self, const Tensor& value);
Tensor masked_fill_in_place_Scalar(const Tensor& self, const Tensor& mask, Number value);
Tensor masked_fill_in_place_Tensor(const Tensor& self, const Tensor& mask, const Tensor& value);
Tensor index_put(const Tensor& self, const OptionalTensors& indices, const Tensor& values, bool accumulate);
Tensor index_put_in_place(const Tensor& self, const OptionalTensors& indices, const Tensor& values, bool accumulate);
Tensor index_fill_in_place_int_Scalar(const Tensor& self, int64_t dim, const Tensor& index, Number value);
Tensor index_copy_in_place(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
Tensor scatter_reduce_in_place_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                                   std::string_view reduce, bool include_self);
Tensor scatter_in_place_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter_in_place_value(const Tensor& self, int64_t dim, const Tensor& index, Number value);
Tensor scatter_add_in_place(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor index_add_in_place(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Number alpha);

// -- random numbers --
Tensor normal_in_place(const Tensor& self, double mean, double std);
Tensor uniform_in_place(const Tensor& self, double from, double to);
Tensor exponential_in_place(const Tensor& self, double lambd);
Tensor bernoulli_in_place_float(const Tensor& self, double p);
Tensor bernoulli_in_place_Tensor(const Tensor& self, const Tensor& p);
Tensor bernoulli(const Tensor& self);
Tensor bernoulli_p(const Tensor& self, double p);
Tensor rand(Ints size, std::optional<ScalarType> dtype);
Tensor randn(Ints size, std::optional<ScalarType> dtype);
Tensor rand_like(const Tensor& self, std::optional<ScalarType> dtype);
Tensor randn_like(const Tensor& self, std::optional<ScalarType> dtype);
Tensor randint(int64_t high, Ints size, std::optional<ScalarType> dtype);
Tensor randint_low(int64_t low, int64_t high, Ints size, std::optional<ScalarType> dtype);
Tensor randint_like(const Tensor& self, int64_t high, std::optional<ScalarType> dtype);
Tensor randint_like_low_dtype(const Tensor& self, int64_t low, int64_t high, std::optional<ScalarType> dtype);
Tensor randperm(int64_t n, std::optional<ScalarType> dtype);
Tensor normal_float_float(double mean, double std, Ints size, std::optional<ScalarType> dtype);
Tensor normal_Tensor_float(const Tensor& mean, double std);
Tensor normal_float_Tensor(double mean, const Tensor& std);
Tensor normal_Tensor_Tensor(const Tensor& mean, const Tensor& std);
Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement);
Tensor dropout(const Tensor& input, double p, bool train);
Tensor dropout_in_place(const Tensor& self, double p, bool train);
Tensor feature_dropout(const Tensor& input, double p, bool train);

}  // namespace torch2cpp::slim::op
