// Products, linear algebra and layers. See operators.h.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include <torch2cpp/slim/values.h>

namespace torch2cpp::slim::op {

// -- products --
Tensor mm(const Tensor& self, const Tensor& mat2);
Tensor bmm(const Tensor& self, const Tensor& mat2);
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, Number beta, Number alpha);
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Number beta, Number alpha);
Tensor matmul(const Tensor& self, const Tensor& other);
Tensor mv(const Tensor& self, const Tensor& vec);
Tensor dot(const Tensor& self, const Tensor& tensor);
Tensor linear(const Tensor& input, const Tensor& weight, const OptionalTensor& bias);
Tensor outer(const Tensor& self, const Tensor& vec2);
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, Number beta, Number alpha);
Tensor tensordot(const Tensor& self, const Tensor& other, Ints dims_self, Ints dims_other);
Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim);
Tensor trace(const Tensor& self);
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps);
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim);
Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction);
Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction);
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
Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                       bool align_corners);
Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    bool align_corners);
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
