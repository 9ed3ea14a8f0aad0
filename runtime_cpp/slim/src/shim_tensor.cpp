// The C ABI's bookkeeping of tensors: making, viewing, asking, copying.
#include <array>
#include <memory>
#include <string>

#include <torch/csrc/stable/c/shim.h>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/guard.h>
#include <torch2cpp/tensor.h>

namespace slim = torch2cpp::slim;
using slim::Extents;
using slim::guarded;
using slim::Impl;
using slim::Shape;

namespace {

Shape shape(const int64_t* data, int64_t rank) { return {data, static_cast<std::size_t>(rank)}; }

const Impl& defined(AtenTensorHandle handle) {
  if (handle == nullptr || !handle->defined()) {
    torch2cpp::raise_runtime_error("a tensor that is not defined");
  }
  return *handle;
}

int64_t dimension(const Impl& self, int64_t dim) { return torch2cpp::wrap_dim(dim, self.rank()); }

void check_cpu(int32_t device_type) {
  if (device_type != aoti_torch_device_type_cpu()) {
    torch2cpp::raise_not_implemented("a tensor on another device than the CPU without libtorch");
  }
}

// Takes the handle out of a tensor that was just made.
AtenTensorHandle handle_of(const slim::Tensor& made) { return std::make_unique<Impl>(*made.get()).release(); }

AtenTensorHandle from_blob(void* data, Shape sizes, Shape strides, int64_t offset, int32_t dtype, slim::Deleter deleter,
                           void* context) {
  auto made = std::make_unique<Impl>();
  made->dtype = static_cast<slim::ScalarType>(dtype);
  made->extents = Extents(sizes, strides);
  made->offset = offset;
  const auto elements = static_cast<std::size_t>(offset + slim::extent_of(sizes, made->strides()));
  made->storage = slim::Storage::borrow(data, elements * made->width(), deleter, context);
  return made.release();
}

void check_layout(int32_t layout) {
  if (layout != aoti_torch_layout_strided()) {
    torch2cpp::raise_not_implemented("a tensor that is not strided without libtorch");
  }
}

}  // namespace

extern "C" {

AOTITorchError aoti_torch_new_uninitialized_tensor(AtenTensorHandle* ret) {
  return guarded([&] { *ret = new Impl; });
}

AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor) {
  return guarded([&] { delete tensor; });
}

AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle original, AtenTensorHandle* ret) {
  return guarded([&] { *ret = new Impl(*original); });
}

AOTITorchError aoti_torch_empty_strided(int64_t rank, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                                        int32_t device_type, int32_t, AtenTensorHandle* ret) {
  return guarded([&] {
    check_cpu(device_type);
    *ret = slim::make_empty(shape(sizes, rank), static_cast<slim::ScalarType>(dtype), shape(strides, rank)).release();
  });
}

AOTITorchError aoti_torch_empty_strided_pinned(int64_t rank, const int64_t* sizes, const int64_t* strides,
                                               int32_t dtype, int32_t device_type, int32_t device_index,
                                               AtenTensorHandle* ret) {
  return aoti_torch_empty_strided(rank, sizes, strides, dtype, device_type, device_index, ret);
}

AOTITorchError aoti_torch_create_tensor_from_blob(void* data, int64_t rank, const int64_t* sizes,
                                                  const int64_t* strides, int64_t offset, int32_t dtype,
                                                  int32_t device_type, int32_t, AtenTensorHandle* ret) {
  return guarded([&] {
    check_cpu(device_type);
    *ret = from_blob(data, shape(sizes, rank), shape(strides, rank), offset, dtype, nullptr, nullptr);
  });
}

AOTITorchError aoti_torch_create_tensor_from_blob_v2(void* data, int64_t rank, const int64_t* sizes,
                                                     const int64_t* strides, int64_t offset, int32_t dtype,
                                                     int32_t device_type, int32_t device_index, AtenTensorHandle* ret,
                                                     int32_t layout, const uint8_t*, int64_t) {
  return guarded([&] {
    check_layout(layout);
    if (aoti_torch_create_tensor_from_blob(data, rank, sizes, strides, offset, dtype, device_type, device_index, ret) !=
        AOTI_TORCH_SUCCESS) {
      torch2cpp::raise_runtime_error(torch_exception_get_what());
    }
  });
}

AOTITorchError torch_from_blob(void* data, int64_t rank, const int64_t* sizes, const int64_t* strides, int64_t offset,
                               int32_t dtype, int32_t device_type, int32_t, AtenTensorHandle* ret, int32_t layout,
                               const uint8_t*, int64_t, void (*deleter)(void* data, void* ctx), void* context) {
  return guarded([&] {
    check_cpu(device_type);
    check_layout(layout);
    *ret = from_blob(data, shape(sizes, rank), shape(strides, rank), offset, dtype, deleter, context);
  });
}

AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t rank, const int64_t* sizes,
                                              const int64_t* strides, int64_t offset, AtenTensorHandle* ret) {
  return guarded([&] {
    const Impl& source = defined(self);
    *ret = slim::make_view(source, shape(sizes, rank), shape(strides, rank), source.offset + offset).release();
  });
}

AOTITorchError aoti_torch__alloc_from_pool(AtenTensorHandle self, int64_t offset_bytes, int32_t dtype, int64_t rank,
                                           const int64_t* sizes, const int64_t* strides, AtenTensorHandle* ret) {
  return guarded([&] {
    auto made = std::make_unique<Impl>();
    made->dtype = static_cast<slim::ScalarType>(dtype);
    made->extents = Extents(shape(sizes, rank), shape(strides, rank));
    made->storage = defined(self).storage;
    made->offset = offset_bytes / static_cast<int64_t>(made->width());
    *ret = made.release();
  });
}

AOTITorchError aoti_torch_as_strided(AtenTensorHandle self, const int64_t* sizes, const int64_t* strides,
                                     AtenTensorHandle* ret) {
  return guarded([&] {
    const Impl& source = defined(self);
    *ret = slim::make_view(source, shape(sizes, source.rank()), shape(strides, source.rank()), source.offset).release();
  });
}

AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** ret) {
  return guarded([&] { *ret = tensor->data(); });
}
AOTITorchError torch_get_mutable_data_ptr(AtenTensorHandle tensor, void** ret) {
  return guarded([&] { *ret = tensor->data(); });
}
AOTITorchError torch_get_const_data_ptr(AtenTensorHandle tensor, const void** ret) {
  return guarded([&] { *ret = tensor->data(); });
}
AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t* ret) {
  return guarded([&] { *ret = static_cast<int64_t>(defined(tensor).storage->bytes()); });
}
AOTITorchError aoti_torch_get_storage_numel(AtenTensorHandle tensor, int64_t* ret) {
  return guarded([&] { *ret = static_cast<int64_t>(defined(tensor).storage->bytes() / tensor->width()); });
}
AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* ret) {
  return guarded([&] { *ret = tensor->rank(); });
}
AOTITorchError aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* ret) {
  return guarded([&] { *ret = tensor->defined() ? tensor->numel() : 0; });
}
AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** ret) {
  return guarded([&] { *ret = tensor->extents.sizes().data(); });
}
AOTITorchError aoti_torch_get_size(AtenTensorHandle tensor, int64_t dim, int64_t* ret) {
  return guarded([&] { *ret = tensor->sizes()[static_cast<std::size_t>(dimension(*tensor, dim))]; });
}
AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** ret) {
  return guarded([&] { *ret = tensor->extents.strides().data(); });
}
AOTITorchError aoti_torch_get_stride(AtenTensorHandle tensor, int64_t dim, int64_t* ret) {
  return guarded([&] { *ret = tensor->strides()[static_cast<std::size_t>(dimension(*tensor, dim))]; });
}
AOTITorchError aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* ret) {
  return guarded([&] { *ret = static_cast<int32_t>(tensor->dtype); });
}
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle, int32_t* ret) {
  return guarded([&] { *ret = aoti_torch_device_type_cpu(); });
}
AOTITorchError aoti_torch_get_device_index(AtenTensorHandle, int32_t* ret) {
  return guarded([&] { *ret = -1; });
}
AOTITorchError aoti_torch_get_layout(AtenTensorHandle, int32_t* ret) {
  return guarded([&] { *ret = aoti_torch_layout_strided(); });
}
AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* ret) {
  return guarded([&] { *ret = tensor->offset; });
}
AOTITorchError aoti_torch_is_contiguous(AtenTensorHandle tensor, bool* ret) {
  return guarded([&] { *ret = tensor->is_contiguous(); });
}
AOTITorchError aoti_torch_is_defined(AtenTensorHandle tensor, bool* ret) {
  return guarded([&] { *ret = tensor->defined(); });
}

AOTITorchError aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle source, int32_t) {
  return guarded([&] { slim::copy(defined(self), defined(source)); });
}
AOTITorchError aoti_torch_tensor_copy_(AtenTensorHandle source, AtenTensorHandle target) {
  return guarded([&] { slim::copy(defined(target), defined(source)); });
}
AOTITorchError aoti_torch_assign_tensors(AtenTensorHandle source, AtenTensorHandle target) {
  return guarded([&] { *target = *source; });
}
AOTITorchError aoti_torch_assign_tensors_out(AtenTensorHandle source, AtenTensorHandle* ret) {
  return guarded([&] { *ret = new Impl(*source); });
}
AOTITorchError aoti_torch_zero_(AtenTensorHandle self) {
  return guarded([&] { slim::fill(defined(self), int64_t{0}); });
}
AOTITorchError aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* ret) {
  return guarded([&] {
    const slim::Tensor out = slim::empty_like(defined(self));
    slim::copy(*out.get(), *self);
    *ret = handle_of(out);
  });
}
AOTITorchError aoti_torch_clone_preserve_strides(AtenTensorHandle self, AtenTensorHandle* ret) {
  return guarded([&] {
    const Impl& source = defined(self);
    const std::array<int64_t, 1> all{slim::extent_of(source.sizes(), source.strides())};
    const slim::Tensor flat = slim::view_of(source, all, {}, source.offset);
    const slim::Tensor out = slim::empty(all, source.dtype);
    slim::copy(*out.get(), *flat.get());
    *ret = slim::make_view(*out.get(), source.sizes(), source.strides(), 0).release();
  });
}

AOTITorchError torch_set_requires_grad(AtenTensorHandle tensor, bool requires_grad) {
  return guarded([&] { tensor->requires_grad = requires_grad; });
}
// Without libtorch no gradients are recorded.
bool aoti_torch_grad_mode_is_enabled() { return false; }
void aoti_torch_grad_mode_set_enabled(bool) {}

}  // extern "C"
