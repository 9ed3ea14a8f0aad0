// The C ABI's matrix products and convolutions, which write into tensors that Inductor planned.
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <torch2cpp/slim/attention.h>
#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/gemm.h>
#include <torch2cpp/slim/guard.h>
#include <torch2cpp/slim/shim_args.h>

using namespace torch2cpp::slim;

extern "C" {

AOTITorchError aoti_torch_cpu_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2) {
  return guarded([&] { matmul_into(*out, nullptr, *self, *mat2, 0, 1); });
}

AOTITorchError aoti_torch_cpu_bmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2) {
  return guarded([&] { matmul_into(*out, nullptr, *self, *mat2, 0, 1); });
}

AOTITorchError aoti_torch_cpu_addmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat1,
                                        AtenTensorHandle mat2, double beta, double alpha) {
  return guarded([&] { matmul_into(*out, self, *mat1, *mat2, beta, alpha); });
}

AOTITorchError aoti_torch_cpu_baddbmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle batch1,
                                          AtenTensorHandle batch2, double beta, double alpha) {
  return guarded([&] { matmul_into(*out, self, *batch1, *batch2, beta, alpha); });
}

AOTITorchError aoti_torch_cpu_convolution(AtenTensorHandle input, AtenTensorHandle weight, AtenTensorHandle* bias,
                                          const int64_t* stride, int64_t stride_count, const int64_t* padding,
                                          int64_t padding_count, const int64_t* dilation, int64_t dilation_count,
                                          int32_t transposed, const int64_t* output_padding,
                                          int64_t output_padding_count, int64_t groups, AtenTensorHandle* ret) {
  return guarded([&] {
    give(op::convolution(borrowed(input), borrowed(weight), optional(bias), ints(stride, stride_count),
                         ints(padding, padding_count), ints(dilation, dilation_count), transposed != 0,
                         ints(output_padding, output_padding_count), groups),
         ret);
  });
}

AOTITorchError aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
    AtenTensorHandle query, AtenTensorHandle key, AtenTensorHandle value, double dropout_p, int32_t is_causal,
    AtenTensorHandle* attn_mask, double* scale, AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return guarded([&] {
    if (dropout_p != 0.0) {
      torch2cpp::raise_not_implemented("attention with dropout without libtorch");
    }
    const Attention made = attention(borrowed(query), borrowed(key), borrowed(value), optional(attn_mask),
                                     is_causal != 0, optional_value<double>(scale));
    // Heads lie inside the positions, as libtorch lays them out; the sums likewise.
    const auto turned = [](const Tensor& t) {
      const Shape sizes = impl(t).sizes();
      const int64_t width = sizes.size() == 4 ? sizes[3] : 1;
      const int64_t strides[] = {sizes[1] * sizes[2] * width, width, sizes[1] * width, 1};
      const Tensor out = empty(sizes, impl(t).dtype, Shape(strides, sizes.size()));
      copy(impl(out), impl(t));
      return out;
    };
    give(turned(made.output), ret0);
    give(turned(made.logsumexp), ret1);
  });
}

}  // extern "C"
