// The C ABI's enumerations: dtypes, layouts, memory formats, devices.
#include <torch/csrc/stable/c/shim.h>
#include <torch/headeronly/core/DeviceType.h>
#include <torch/headeronly/core/Layout.h>
#include <torch/headeronly/core/MemoryFormat.h>

#include <torch2cpp/slim/dtypes.h>
#include <torch2cpp/slim/guard.h>

namespace {

namespace st = torch::headeronly;

}  // namespace

#define DTYPE(name, enumerator) \
  int32_t aoti_torch_dtype_##name() { return static_cast<int32_t>(st::ScalarType::enumerator); }
#define LAYOUT(name, enumerator) \
  int32_t aoti_torch_layout_##name() { return static_cast<int32_t>(st::Layout::enumerator); }
#define FORMAT(name, enumerator) \
  int32_t aoti_torch_memory_format_##name() { return static_cast<int32_t>(st::MemoryFormat::enumerator); }
#define DEVICE(name, enumerator) \
  int32_t aoti_torch_device_type_##name() { return static_cast<int32_t>(st::DeviceType::enumerator); }

extern "C" {

DTYPE(float8_e5m2, Float8_e5m2)
DTYPE(float8_e4m3fn, Float8_e4m3fn)
DTYPE(float8_e5m2fnuz, Float8_e5m2fnuz)
DTYPE(float8_e4m3fnuz, Float8_e4m3fnuz)
DTYPE(bfloat16, BFloat16)
DTYPE(float16, Half)
DTYPE(float32, Float)
DTYPE(float64, Double)
DTYPE(uint8, Byte)
DTYPE(uint16, UInt16)
DTYPE(uint32, UInt32)
DTYPE(uint64, UInt64)
DTYPE(int8, Char)
DTYPE(int16, Short)
DTYPE(int32, Int)
DTYPE(int64, Long)
DTYPE(bool, Bool)
DTYPE(complex32, ComplexHalf)
DTYPE(complex64, ComplexFloat)
DTYPE(complex128, ComplexDouble)
int32_t torch_dtype_float8_e8m0fnu() { return static_cast<int32_t>(st::ScalarType::Float8_e8m0fnu); }
int32_t torch_dtype_float4_e2m1fn_x2() { return static_cast<int32_t>(st::ScalarType::Float4_e2m1fn_x2); }

LAYOUT(strided, Strided)
LAYOUT(sparse_coo, Sparse)
LAYOUT(sparse_csr, SparseCsr)
LAYOUT(sparse_csc, SparseCsc)
LAYOUT(sparse_bsr, SparseBsr)
LAYOUT(sparse_bsc, SparseBsc)
LAYOUT(_mkldnn, Mkldnn)
LAYOUT(jagged, Jagged)

FORMAT(contiguous_format, Contiguous)
FORMAT(channels_last, ChannelsLast)
FORMAT(channels_last_3d, ChannelsLast3d)
FORMAT(preserve_format, Preserve)

DEVICE(cpu, CPU)
DEVICE(cuda, CUDA)
DEVICE(meta, Meta)
DEVICE(xpu, XPU)
DEVICE(mps, MPS)
DEVICE(privateuse1, PrivateUse1)

uint64_t aoti_torch_abi_version() { return TORCH_ABI_VERSION; }

size_t aoti_torch_dtype_element_size(int32_t dtype) {
  size_t out = 0;
  torch2cpp::slim::guarded([&] { out = torch2cpp::slim::dtype_width(static_cast<st::ScalarType>(dtype)); });
  return out;
}

}  // extern "C"
