// Symbol visibility: emitted code is compiled with -fvisibility=hidden, exceptions cross library borders.
#pragma once

#if defined(_WIN32)
#define TORCH2CPP_API
#else
#define TORCH2CPP_API __attribute__((visibility("default")))
#endif
