// Version of the runtime library; emitted code checks it with a static_assert.
#pragma once

#define TORCH2CPP_RUNTIME_VERSION 1
