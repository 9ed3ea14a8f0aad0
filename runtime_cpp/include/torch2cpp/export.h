// Symbol visibility: emitted code is compiled with -fvisibility=hidden, exceptions cross library borders.
#pragma once

#if defined(_WIN32)
#define TORCH2CPP_API
#define TORCH2CPP_LOCAL
#else
#define TORCH2CPP_API __attribute__((visibility("default")))
// For structs that hold tensors: torch::stable::Tensor is local to each library.
#define TORCH2CPP_LOCAL __attribute__((visibility("hidden")))
#endif
