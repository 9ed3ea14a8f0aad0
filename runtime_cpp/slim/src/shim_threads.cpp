// The C ABI's threads: OpenMP's where the program is built with it, otherwise the calling one.
#include <exception>

#include <torch/csrc/stable/c/shim.h>

#include <torch2cpp/slim/guard.h>

#ifdef _OPENMP
#include <omp.h>
#endif

extern "C" {

AOTITorchError torch_get_num_threads(uint32_t* ret) {
#ifdef _OPENMP
  *ret = static_cast<uint32_t>(omp_get_max_threads());
#else
  *ret = 1;
#endif
  return AOTI_TORCH_SUCCESS;
}

AOTITorchError torch_get_thread_idx(uint32_t* ret) {
#ifdef _OPENMP
  *ret = static_cast<uint32_t>(omp_get_thread_num());
#else
  *ret = 0;
#endif
  return AOTI_TORCH_SUCCESS;
}

AOTITorchError torch_parallel_for(int64_t begin, int64_t end, int64_t, ParallelFunc body, void* context) {
  return torch2cpp::slim::guarded([&] {
    if (begin < end) {
      body(begin, end, context);
    }
  });
}

}  // extern "C"
