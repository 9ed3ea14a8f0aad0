// Operators that make, view, join, choose, reduce and order. See operators.h.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include <torch2cpp/slim/values.h>

namespace torch2cpp::slim::op {

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
Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1);
Tensor swapdims(const Tensor& self, int64_t dim0, int64_t dim1);
Tensor ravel(const Tensor& self);
Tensor broadcast_to(const Tensor& self, Ints size);
Tensors split_sizes(const Tensor& self, Ints split_size, int64_t dim);
Tensors tensor_split_sections(const Tensor& self, int64_t sections, int64_t dim);
Tensors meshgrid(const Tensors& tensors);
Tensors meshgrid_indexing(const Tensors& tensors, std::string_view indexing);
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
Tensor tile(const Tensor& self, Ints dims);
Tensor diag(const Tensor& self, int64_t diagonal);
Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);
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
Tensor scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view reduce, bool include_self);
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
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
std::tuple<Tensor, Tensor> cummax(const Tensor& self, int64_t dim);
std::tuple<Tensor, Tensor> cummin(const Tensor& self, int64_t dim);
Tensor logcumsumexp(const Tensor& self, int64_t dim);
std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim);
Tensor median(const Tensor& self);
std::tuple<Tensor, Tensor> median_dim(const Tensor& self, int64_t dim, bool keepdim);
Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation);
Tensor quantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                       std::string_view interpolation);
std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& self, bool sorted, bool return_inverse, bool return_counts);
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts);
Tensor isin_Tensor_Tensor(const Tensor& elements, const Tensor& test_elements, bool invert);
Tensor isin_Tensor_Scalar(const Tensor& elements, Number test_element, bool invert);
Tensor argwhere(const Tensor& self);
Tensor diff(const Tensor& self, int64_t n, int64_t dim, const OptionalTensor& prepend, const OptionalTensor& append);
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased);
std::tuple<Tensor, Tensor> var_mean_dim(const Tensor& self, std::optional<Ints> dim, bool unbiased, bool keepdim);
std::tuple<Tensor, Tensor> var_mean_correction(const Tensor& self, std::optional<Ints> dim,
                                               std::optional<Number> correction, bool keepdim);
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased);
std::tuple<Tensor, Tensor> std_mean_dim(const Tensor& self, std::optional<Ints> dim, bool unbiased, bool keepdim);
std::tuple<Tensor, Tensor> std_mean_correction(const Tensor& self, std::optional<Ints> dim,
                                               std::optional<Number> correction, bool keepdim);
Tensor nansum(const Tensor& self, std::optional<Ints> dim, bool keepdim, std::optional<ScalarType> dtype);
Tensor nanmean(const Tensor& self, std::optional<Ints> dim, bool keepdim, std::optional<ScalarType> dtype);
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
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

}  // namespace torch2cpp::slim::op
