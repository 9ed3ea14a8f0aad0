// The functions of ONNX Runtime's C interface that regions need.
//
// The interface is a table of functions in an order that is never changed, only added to; what is written here
// holds for every release from 1.16 on. Declaring these few makes the library alone enough to build with: Python's
// onnxruntime package, for one, comes without headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torch2cpp::onnxruntime {

struct Status;
struct Environment;
struct ThreadingOptions;
struct SessionOptions;
struct RunOptions;
struct SessionHandle;
struct MemoryInfo;
struct Value;
struct ShapeInfo;

struct ApiBase {
  void* const* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

extern "C" const ApiBase* OrtGetApiBase() noexcept;

// The version of the table, that of release 1.16.
inline constexpr uint32_t kApiVersion = 16;

enum class LogLevel : int { kError = 3 };
enum class Optimization : int { kAll = 99 };
enum class Allocator : int { kDevice = 0 };
enum class Memory : int { kDefault = 0 };

template <int Place, class Function>
struct Slot;
template <int Place, class Result, class... Arguments>
struct Slot<Place, Result(Arguments...)> {
  explicit Slot(void* const* table) : function(reinterpret_cast<Result (*)(Arguments...)>(table[Place])) {}
  Result operator()(Arguments... arguments) const { return function(arguments...); }
  Result (*function)(Arguments...);
};

struct Functions {
  explicit Functions(void* const* table);

  Slot<2, const char*(const Status*)> get_error_message;
  Slot<8, Status*(const Environment*, const void*, size_t, const SessionOptions*, SessionHandle**)> create_session;
  Slot<9, Status*(SessionHandle*, const RunOptions*, const char* const*, const Value* const*, size_t,
                  const char* const*, size_t, Value**)>
      run;
  Slot<10, Status*(SessionOptions**)> create_session_options;
  Slot<23, Status*(SessionOptions*, Optimization)> set_optimization;
  Slot<49, Status*(const MemoryInfo*, void*, size_t, const int64_t*, size_t, int, Value**)> create_tensor_over;
  Slot<51, Status*(Value*, void**)> get_data;
  Slot<61, Status*(const ShapeInfo*, size_t*)> get_rank;
  Slot<62, Status*(const ShapeInfo*, int64_t*, size_t)> get_sizes;
  Slot<60, Status*(const ShapeInfo*, int*)> get_element_type;
  Slot<65, Status*(const Value*, ShapeInfo**)> get_shape;
  Slot<69, Status*(Allocator, Memory, MemoryInfo**)> create_cpu_memory_info;
  Slot<93, void(Status*)> release_status;
  Slot<95, void(SessionHandle*)> release_session;
  Slot<96, void(Value*)> release_value;
  Slot<99, void(ShapeInfo*)> release_shape;
  Slot<100, void(SessionOptions*)> release_session_options;
  Slot<119, Status*(LogLevel, const char*, const ThreadingOptions*, Environment**)> create_environment;
  Slot<120, Status*(SessionOptions*)> use_shared_threads;
  Slot<121, Status*(ThreadingOptions**)> create_threading_options;
  Slot<122, void(ThreadingOptions*)> release_threading_options;
  Slot<147, Status*(ThreadingOptions*, int)> set_threads;
  Slot<148, Status*(ThreadingOptions*, int)> set_threads_across_operators;
  Slot<210, Status*(SessionOptions*, const char* const*, const Value* const*, size_t)> add_external_weights;
};

}  // namespace torch2cpp::onnxruntime
