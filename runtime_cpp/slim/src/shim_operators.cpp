// The C ABI's other operators, those that Inductor leaves to a library.
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/guard.h>
#include <torch2cpp/slim/shim_args.h>

using namespace torch2cpp::slim;

extern "C" {

AOTITorchError aoti_torch_cpu_topk(AtenTensorHandle self, int64_t k, int64_t dim, int32_t largest, int32_t sorted,
                                   AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return guarded([&] {
    const auto [values, indices] = op::topk(borrowed(self), k, dim, largest != 0, sorted != 0);
    give(values, ret0);
    give(indices, ret1);
  });
}

AOTITorchError aoti_torch_cpu_sort(AtenTensorHandle self, int64_t dim, int32_t descending, AtenTensorHandle* ret0,
                                   AtenTensorHandle* ret1) {
  return guarded([&] {
    const auto [values, indices] = op::sort(borrowed(self), dim, descending != 0);
    give(values, ret0);
    give(indices, ret1);
  });
}

AOTITorchError aoti_torch_cpu_sort_stable(AtenTensorHandle self, int32_t*, int64_t dim, int32_t descending,
                                          AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return aoti_torch_cpu_sort(self, dim, descending, ret0, ret1);
}

AOTITorchError aoti_torch_cpu_nonzero(AtenTensorHandle self, AtenTensorHandle* ret) {
  return guarded([&] { give(op::nonzero(borrowed(self)), ret); });
}

AOTITorchError aoti_torch_cpu_index_Tensor(AtenTensorHandle self, const AtenTensorHandle** indices, int64_t count,
                                           AtenTensorHandle* ret) {
  return guarded([&] { give(op::index_Tensor(borrowed(self), optionals(indices, count)), ret); });
}

AOTITorchError aoti_torch_cpu_index_put(AtenTensorHandle self, const AtenTensorHandle** indices, int64_t count,
                                        AtenTensorHandle values, int32_t accumulate, AtenTensorHandle* ret) {
  return guarded(
      [&] { give(op::index_put(borrowed(self), optionals(indices, count), borrowed(values), accumulate != 0), ret); });
}

AOTITorchError aoti_torch_index_put_out(AtenTensorHandle out, AtenTensorHandle self, const AtenTensorHandle* indices,
                                        uint32_t count, AtenTensorHandle values, bool accumulate) {
  return guarded([&] {
    OptionalTensors all;
    for (uint32_t i = 0; i < count; ++i) {
      all.push_back(indices[i] == nullptr ? OptionalTensor() : OptionalTensor(borrowed(indices[i])));
    }
    if (out->data() != self->data()) {
      copy(*out, *self);
    }
    op::index_put_in_place(borrowed(out), all, borrowed(values), accumulate);
  });
}

AOTITorchError aoti_torch_cpu_masked_select(AtenTensorHandle self, AtenTensorHandle mask, AtenTensorHandle* ret) {
  return guarded([&] { give(op::masked_select(borrowed(self), borrowed(mask)), ret); });
}

AOTITorchError aoti_torch_cpu_cumsum(AtenTensorHandle self, int64_t dim, int32_t* dtype, AtenTensorHandle* ret) {
  return guarded([&] { give(op::cumsum(borrowed(self), dim, optional_dtype(dtype)), ret); });
}

AOTITorchError aoti_torch_cpu_cumprod(AtenTensorHandle self, int64_t dim, int32_t* dtype, AtenTensorHandle* ret) {
  return guarded([&] { give(op::cumprod(borrowed(self), dim, optional_dtype(dtype)), ret); });
}

AOTITorchError aoti_torch_cpu_cat(const AtenTensorHandle* tensors, int64_t count, int64_t dim, AtenTensorHandle* ret) {
  return guarded([&] { give(op::cat(borrowed_all(tensors, count), dim), ret); });
}

AOTITorchError aoti_torch_cpu_reshape(AtenTensorHandle self, const int64_t* shape, int64_t count,
                                      AtenTensorHandle* ret) {
  return guarded([&] { give(op::reshape(borrowed(self), ints(shape, count)), ret); });
}

AOTITorchError aoti_torch_cpu_permute(AtenTensorHandle self, const int64_t* dims, int64_t count,
                                      AtenTensorHandle* ret) {
  return guarded([&] { give(op::permute(borrowed(self), ints(dims, count)), ret); });
}

AOTITorchError aoti_torch_cpu_narrow(AtenTensorHandle self, int64_t dim, int64_t start, int64_t length,
                                     AtenTensorHandle* ret) {
  return guarded([&] { give(op::narrow(borrowed(self), dim, start, length), ret); });
}

AOTITorchError aoti_torch_cpu_slice_Tensor(AtenTensorHandle self, int64_t dim, int64_t* start, int64_t* end,
                                           int64_t step, AtenTensorHandle* ret) {
  return guarded([&] {
    give(op::slice_Tensor(borrowed(self), dim, optional_value<int64_t>(start), optional_value<int64_t>(end), step),
         ret);
  });
}

AOTITorchError aoti_torch_cpu_fill__Scalar(AtenTensorHandle self, double value) {
  return guarded([&] { fill(*self, value); });
}

AOTITorchError aoti_torch_cpu_scatter_src_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim,
                                              AtenTensorHandle index, AtenTensorHandle src) {
  return guarded([&] {
    if (out->data() != self->data()) {
      copy(*out, *self);
    }
    op::scatter_in_place_src(borrowed(out), dim, borrowed(index), borrowed(src));
  });
}

AOTITorchError aoti_torch_cpu_scatter_value_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim,
                                                AtenTensorHandle index, double value) {
  return guarded([&] {
    if (out->data() != self->data()) {
      copy(*out, *self);
    }
    op::scatter_in_place_value(borrowed(out), dim, borrowed(index), value);
  });
}

}  // extern "C"
