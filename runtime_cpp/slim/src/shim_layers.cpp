// The C ABI's pooling and searching, where Inductor does not write them out.
#include <string_view>

#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <torch2cpp/slim/conv.h>
#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/guard.h>
#include <torch2cpp/slim/shim_args.h>

using namespace torch2cpp::slim;

namespace {

// An image laid out as the one it came from: generated code reckons with eager's strides.
void give_image(const Tensor& made, AtenTensorHandle from, AtenTensorHandle* ret) {
  if (!is_channels_last(*from)) {
    give(made, ret);
    return;
  }
  const Shape sizes = impl(made).sizes();
  const auto strides = channels_last_strides(sizes);
  const Tensor turned = empty(sizes, impl(made).dtype, strides);
  copy(impl(turned), impl(made));
  give(turned, ret);
}

std::optional<std::string_view> optional_text(const char** text) {
  return text == nullptr || *text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
}

}  // namespace

extern "C" {

AOTITorchError aoti_torch_cpu__adaptive_avg_pool2d(AtenTensorHandle self, const int64_t* output_size, int64_t count,
                                                   AtenTensorHandle* ret) {
  return guarded([&] { give_image(op::adaptive_avg_pool2d(borrowed(self), ints(output_size, count)), self, ret); });
}

AOTITorchError aoti_torch_cpu_adaptive_max_pool2d(AtenTensorHandle self, const int64_t* output_size, int64_t count,
                                                  AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return guarded([&] {
    const auto [values, indices] = op::adaptive_max_pool2d(borrowed(self), ints(output_size, count));
    give_image(values, self, ret0);
    give_image(indices, self, ret1);
  });
}

AOTITorchError aoti_torch_cpu_avg_pool2d(AtenTensorHandle self, const int64_t* kernel_size, int64_t kernel_count,
                                         const int64_t* stride, int64_t stride_count, const int64_t* padding,
                                         int64_t padding_count, int32_t ceil_mode, int32_t count_include_pad,
                                         int64_t* divisor_override, AtenTensorHandle* ret) {
  return guarded([&] {
    const Tensor made = op::avg_pool2d(borrowed(self), ints(kernel_size, kernel_count), ints(stride, stride_count),
                                       ints(padding, padding_count), ceil_mode != 0, count_include_pad != 0,
                                       optional_value<int64_t>(divisor_override));
    give_image(made, self, ret);
  });
}

AOTITorchError aoti_torch_cpu_searchsorted_Tensor(AtenTensorHandle sorted_sequence, AtenTensorHandle self,
                                                  int32_t out_int32, int32_t right, const char** side,
                                                  AtenTensorHandle* sorter, AtenTensorHandle* ret) {
  return guarded([&] {
    give(op::searchsorted_Tensor(borrowed(sorted_sequence), borrowed(self), out_int32 != 0, right != 0,
                                 optional_text(side), optional(sorter)),
         ret);
  });
}

AOTITorchError aoti_torch_cpu_bucketize_Tensor(AtenTensorHandle self, AtenTensorHandle boundaries, int32_t out_int32,
                                               int32_t right, AtenTensorHandle* ret) {
  return guarded(
      [&] { give(op::bucketize_Tensor(borrowed(self), borrowed(boundaries), out_int32 != 0, right != 0), ret); });
}

AOTITorchError aoti_torch_cpu_squeeze_dim(AtenTensorHandle self, int64_t dim, AtenTensorHandle* ret) {
  return guarded([&] { give(op::squeeze_dim(borrowed(self), dim), ret); });
}

}  // extern "C"
