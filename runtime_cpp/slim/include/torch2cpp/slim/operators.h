// The operators that programs without libtorch have, one function an overload: `aten::add.Tensor` is add_Tensor,
// `aten::add_.Tensor` add_in_place_Tensor.
//
// The transpiler reads this file: what is not declared here is refused. A parameter has its name in the operator's
// schema; those left out (layout, device, memory format...) must have their usual values. Errors are Python's.
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
Tensor scatter_in_place_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter_in_place_value(const Tensor& self, int64_t dim, const Tensor& index, Number value);
Tensor scatter_add_in_place(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor index_add_in_place(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Number alpha);

// -- new tensors --
Tensor empty_memory_format(Ints size, std::optional<ScalarType> dtype);
Tensor zeros(Ints size, std::optional<ScalarType> dtype);
Tensor ones(Ints size, std::optional<ScalarType> dtype);
Tensor full(Ints size, Number fill_value, std::optional<ScalarType> dtype);
Tensor empty_like(const Tensor& self, std::optional<ScalarType> dtype);
Tensor zeros_like(const Tensor& self, std::optional<ScalarType> dtype);
Tensor ones_like(const Tensor& self, std::optional<ScalarType> dtype);
Tensor full_like(const Tensor& self, Number fill_value, std::optional<ScalarType> dtype);
Tensor new_empty(const Tensor& self, Ints size, std::optional<ScalarType> dtype);
Tensor new_zeros(const Tensor& self, Ints size, std::optional<ScalarType> dtype);
Tensor new_ones(const Tensor& self, Ints size, std::optional<ScalarType> dtype);
Tensor new_full(const Tensor& self, Ints size, Number fill_value, std::optional<ScalarType> dtype);
Tensor scalar_tensor(Number s, std::optional<ScalarType> dtype);
Tensor arange(Number end, std::optional<ScalarType> dtype);
Tensor arange_start(Number start, Number end, std::optional<ScalarType> dtype);
Tensor arange_start_step(Number start, Number end, Number step, std::optional<ScalarType> dtype);
Tensor linspace(Number start, Number end, int64_t steps, std::optional<ScalarType> dtype);
Tensor eye(int64_t n, std::optional<ScalarType> dtype);
Tensor clone(const Tensor& self);
Tensor contiguous(const Tensor& self);
Tensor to_dtype(const Tensor& self, ScalarType dtype, bool copy);
Tensor to_dtype_layout(const Tensor& self, std::optional<ScalarType> dtype, bool copy);
Tensor to_other(const Tensor& self, const Tensor& other, bool copy);
Tensor to_device(const Tensor& self, ScalarType dtype, bool copy);
Tensor _to_copy(const Tensor& self, std::optional<ScalarType> dtype);
Tensor type_as(const Tensor& self, const Tensor& other);

// -- views --
Tensor alias(const Tensor& self);
Tensor detach(const Tensor& self);
Tensor view(const Tensor& self, Ints size);
Tensor view_as(const Tensor& self, const Tensor& other);
Tensor reshape(const Tensor& self, Ints shape);
Tensor flatten_using_ints(const Tensor& self, int64_t start_dim, int64_t end_dim);
Tensor unflatten_int(const Tensor& self, int64_t dim, Ints sizes);
Tensor select_int(const Tensor& self, int64_t dim, int64_t index);
Tensor slice_Tensor(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step);
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);
Tensor unsqueeze(const Tensor& self, int64_t dim);
Tensor squeeze(const Tensor& self);
Tensor squeeze_dim(const Tensor& self, int64_t dim);
Tensor transpose_int(const Tensor& self, int64_t dim0, int64_t dim1);
Tensor t(const Tensor& self);
Tensor numpy_T(const Tensor& self);
Tensor mT(const Tensor& self);
Tensor permute(const Tensor& self, Ints dims);
Tensor movedim_int(const Tensor& self, int64_t source, int64_t destination);
Tensor movedim_intlist(const Tensor& self, Ints source, Ints destination);
Tensor expand(const Tensor& self, Ints size);
Tensor expand_as(const Tensor& self, const Tensor& other);
Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);
Tensors unbind_int(const Tensor& self, int64_t dim);
Tensors split_Tensor(const Tensor& self, int64_t split_size, int64_t dim);
Tensors split_with_sizes(const Tensor& self, Ints split_sizes, int64_t dim);
Tensors chunk(const Tensor& self, int64_t chunks, int64_t dim);
Tensor resolve_conj(const Tensor& self);
Tensor requires_grad_in_place(const Tensor& self, bool requires_grad);

// -- put together and taken apart --
Tensor cat(const Tensors& tensors, int64_t dim);
Tensor concat(const Tensors& tensors, int64_t dim);
Tensor stack(const Tensors& tensors, int64_t dim);
Tensor repeat(const Tensor& self, Ints repeats);
Tensor repeat_interleave_self_int(const Tensor& self, int64_t repeats, std::optional<int64_t> dim);
Tensor repeat_interleave_self_Tensor(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim);
Tensor flip(const Tensor& self, Ints dims);
Tensor roll(const Tensor& self, Ints shifts, Ints dims);
Tensor tril(const Tensor& self, int64_t diagonal);
Tensor triu(const Tensor& self, int64_t diagonal);
Tensor pad(const Tensor& self, Ints pad, std::string_view mode, std::optional<double> value);
Tensor constant_pad_nd(const Tensor& self, Ints pad, Number value);
Tensor one_hot(const Tensor& self, int64_t num_classes);
Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor);
Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step);

// -- chosen by index --
Tensor embedding(const Tensor& weight, const Tensor& indices);
// Only the first result is there; the others serve gradients.
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices,
                                                         const Tensor& offsets, int64_t mode,
                                                         const OptionalTensor& per_sample_weights,
                                                         bool include_last_offset);
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag_padding_idx(const Tensor& weight, const Tensor& indices,
                                                                     const Tensor& offsets, int64_t mode,
                                                                     const OptionalTensor& per_sample_weights,
                                                                     bool include_last_offset,
                                                                     std::optional<int64_t> padding_idx);
Tensor index_Tensor(const Tensor& self, const OptionalTensors& indices);
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index);
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim);
Tensor scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, Number value);
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Number alpha);
Tensor take(const Tensor& self, const Tensor& index);
Tensor bincount(const Tensor& self, const OptionalTensor& weights, int64_t minlength);
Tensor masked_select(const Tensor& self, const Tensor& mask);
Tensor nonzero(const Tensor& self);
Tensors where(const Tensor& condition);
Tensors nonzero_numpy(const Tensor& self);

// -- reductions --
Tensor sum(const Tensor& self, std::optional<ScalarType> dtype);
Tensor sum_dim_IntList(const Tensor& self, std::optional<Ints> dim, bool keepdim, std::optional<ScalarType> dtype);
Tensor mean(const Tensor& self, std::optional<ScalarType> dtype);
Tensor mean_dim(const Tensor& self, std::optional<Ints> dim, bool keepdim, std::optional<ScalarType> dtype);
Tensor prod(const Tensor& self, std::optional<ScalarType> dtype);
Tensor prod_dim_int(const Tensor& self, int64_t dim, bool keepdim, std::optional<ScalarType> dtype);
Tensor max(const Tensor& self);
Tensor min(const Tensor& self);
std::tuple<Tensor, Tensor> max_dim(const Tensor& self, int64_t dim, bool keepdim);
std::tuple<Tensor, Tensor> min_dim(const Tensor& self, int64_t dim, bool keepdim);
Tensor amax(const Tensor& self, Ints dim, bool keepdim);
Tensor amin(const Tensor& self, Ints dim, bool keepdim);
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
Tensor any(const Tensor& self);
Tensor any_dim(const Tensor& self, int64_t dim, bool keepdim);
Tensor all(const Tensor& self);
Tensor all_dim(const Tensor& self, int64_t dim, bool keepdim);
Tensor norm_Scalar(const Tensor& self, Number p);
Tensor norm_ScalarOpt_dim(const Tensor& self, std::optional<Number> p, Ints dim, bool keepdim);
Tensor linalg_vector_norm(const Tensor& self, Number ord, std::optional<Ints> dim, bool keepdim,
                          std::optional<ScalarType> dtype);
Tensor var(const Tensor& self, bool unbiased);
Tensor var_dim(const Tensor& self, std::optional<Ints> dim, bool unbiased, bool keepdim);
Tensor var_correction(const Tensor& self, std::optional<Ints> dim, std::optional<Number> correction, bool keepdim);
Tensor std(const Tensor& self, bool unbiased);
Tensor std_dim(const Tensor& self, std::optional<Ints> dim, bool unbiased, bool keepdim);
Tensor std_correction(const Tensor& self, std::optional<Ints> dim, std::optional<Number> correction, bool keepdim);
Tensor logsumexp(const Tensor& self, Ints dim, bool keepdim);
Tensor softmax_int(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype);
Tensor log_softmax_int(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype);
Tensor cumsum(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype);
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype);
Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim);
bool equal(const Tensor& self, const Tensor& other);

// -- in order --
std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending);
std::tuple<Tensor, Tensor> sort_stable(const Tensor& self, std::optional<bool> stable, int64_t dim, bool descending);
Tensor argsort(const Tensor& self, int64_t dim, bool descending);
Tensor argsort_stable(const Tensor& self, bool stable, int64_t dim, bool descending);
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted);

Tensor searchsorted_Tensor(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                           std::optional<std::string_view> side, const OptionalTensor& sorter);
Tensor searchsorted_Scalar(const Tensor& sorted_sequence, Number self, bool out_int32, bool right,
                           std::optional<std::string_view> side, const OptionalTensor& sorter);
Tensor bucketize_Tensor(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right);
Tensor bucketize_Scalar(Number self, const Tensor& boundaries, bool out_int32, bool right);

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

// -- products --
Tensor mm(const Tensor& self, const Tensor& mat2);
Tensor bmm(const Tensor& self, const Tensor& mat2);
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, Number beta, Number alpha);
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Number beta, Number alpha);
Tensor matmul(const Tensor& self, const Tensor& other);
Tensor mv(const Tensor& self, const Tensor& vec);
Tensor dot(const Tensor& self, const Tensor& tensor);
Tensor linear(const Tensor& input, const Tensor& weight, const OptionalTensor& bias);
Tensor einsum(std::string_view equation, const Tensors& tensors);
Tensor cdist(const Tensor& x1, const Tensor& x2, double p);

// -- linear algebra --
Tensor linalg_cholesky(const Tensor& self, bool upper);
Tensor linalg_inv(const Tensor& A);
Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left);
Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular);
Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper);
std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A);
Tensor linalg_det(const Tensor& A);

// -- layers --
Tensor convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride, Ints padding,
                   Ints dilation, bool transposed, Ints output_padding, int64_t groups);
Tensor conv1d(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride, Ints padding,
              Ints dilation, int64_t groups);
Tensor conv2d(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride, Ints padding,
              Ints dilation, int64_t groups);
Tensor conv3d(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride, Ints padding,
              Ints dilation, int64_t groups);
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride,
                        Ints padding, Ints output_padding, int64_t groups, Ints dilation);
Tensor conv_transpose2d_input(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride,
                              Ints padding, Ints output_padding, int64_t groups, Ints dilation);
Tensor conv_transpose3d_input(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Ints stride,
                              Ints padding, Ints output_padding, int64_t groups, Ints dilation);
Tensor layer_norm(const Tensor& input, Ints normalized_shape, const OptionalTensor& weight, const OptionalTensor& bias,
                  double eps);
Tensor group_norm(const Tensor& input, int64_t num_groups, const OptionalTensor& weight, const OptionalTensor& bias,
                  double eps);
Tensor batch_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                  const OptionalTensor& running_mean, const OptionalTensor& running_var, bool training, double momentum,
                  double eps);
Tensor instance_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                     const OptionalTensor& running_mean, const OptionalTensor& running_var, bool use_input_stats,
                     double momentum, double eps);
Tensor rms_norm(const Tensor& input, Ints normalized_shape, const OptionalTensor& weight, std::optional<double> eps);
Tensor max_pool1d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, Ints dilation, bool ceil_mode);
Tensor max_pool2d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, Ints dilation, bool ceil_mode);
Tensor avg_pool2d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override);
Tensor avg_pool1d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, bool ceil_mode,
                  bool count_include_pad);
Tensor adaptive_avg_pool1d(const Tensor& self, Ints output_size);
Tensor adaptive_avg_pool2d(const Tensor& self, Ints output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, Ints output_size);
Tensor upsample_nearest2d(const Tensor& self, Ints output_size, std::optional<double> scales_h,
                          std::optional<double> scales_w);
Tensor upsample_bilinear2d(const Tensor& self, Ints output_size, bool align_corners, std::optional<double> scales_h,
                           std::optional<double> scales_w);
Tensor upsample_nearest2d_vec(const Tensor& input, std::optional<Ints> output_size,
                              std::optional<Doubles> scale_factors);
Tensor upsample_bilinear2d_vec(const Tensor& input, std::optional<Ints> output_size, bool align_corners,
                               std::optional<Doubles> scale_factors);
Tensor upsample_bicubic2d(const Tensor& self, Ints output_size, bool align_corners, std::optional<double> scales_h,
                          std::optional<double> scales_w);
Tensor upsample_bicubic2d_vec(const Tensor& input, std::optional<Ints> output_size, bool align_corners,
                              std::optional<Doubles> scale_factors);
Tensor upsample_nearest1d(const Tensor& self, Ints output_size, std::optional<double> scales);
Tensor upsample_nearest1d_vec(const Tensor& input, std::optional<Ints> output_size,
                              std::optional<Doubles> scale_factors);
Tensor upsample_linear1d(const Tensor& self, Ints output_size, bool align_corners, std::optional<double> scales);
Tensor upsample_linear1d_vec(const Tensor& input, std::optional<Ints> output_size, bool align_corners,
                             std::optional<Doubles> scale_factors);
std::tuple<Tensor, Tensor> _native_multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        int64_t embed_dim, int64_t num_head, const Tensor& qkv_weight,
                                                        const Tensor& qkv_bias, const Tensor& proj_weight,
                                                        const Tensor& proj_bias, const OptionalTensor& mask,
                                                        bool need_weights, bool average_attn_weights,
                                                        std::optional<int64_t> mask_type);
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const OptionalTensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa);

// -- recurrent layers --
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const OptionalTensor& b_ih, const OptionalTensor& b_hh);
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const Tensors& hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const OptionalTensor& b_ih, const OptionalTensor& b_hh);
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const OptionalTensor& b_ih, const OptionalTensor& b_hh);
std::tuple<Tensor, Tensor> gru_input(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases,
                                     int64_t num_layers, double dropout, bool train, bool bidirectional,
                                     bool batch_first);
std::tuple<Tensor, Tensor> gru_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                    const Tensors& params, bool has_biases, int64_t num_layers, double dropout,
                                    bool train, bool bidirectional);
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const OptionalTensor& b_ih, const OptionalTensor& b_hh);
std::tuple<Tensor, Tensor> rnn_tanh_input(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases,
                                          int64_t num_layers, double dropout, bool train, bool bidirectional,
                                          bool batch_first);
std::tuple<Tensor, Tensor> rnn_tanh_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                         const Tensors& params, bool has_biases, int64_t num_layers, double dropout,
                                         bool train, bool bidirectional);
std::tuple<Tensor, Tensor> rnn_relu_input(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases,
                                          int64_t num_layers, double dropout, bool train, bool bidirectional,
                                          bool batch_first);
std::tuple<Tensor, Tensor> rnn_relu_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                         const Tensors& params, bool has_biases, int64_t num_layers, double dropout,
                                         bool train, bool bidirectional);
std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, const Tensors& hx, const Tensors& params,
                                              bool has_biases, int64_t num_layers, double dropout, bool train,
                                              bool bidirectional, bool batch_first);
std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes, const Tensors& hx,
                                             const Tensors& params, bool has_biases, int64_t num_layers, double dropout,
                                             bool train, bool bidirectional);
std::tuple<Tensor, Tensor> _pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first);
std::tuple<Tensor, Tensor> _pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes, bool batch_first,
                                                Number padding_value, int64_t total_length);

}  // namespace torch2cpp::slim::op
