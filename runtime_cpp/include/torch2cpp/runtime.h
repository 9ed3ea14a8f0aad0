// All that an emitted host program uses.
#pragma once

#include <torch2cpp/containers.h>
#include <torch2cpp/errors.h>
#include <torch2cpp/exact_sums.h>
#include <torch2cpp/no_grad.h>
#include <torch2cpp/numpy_sum.h>
#include <torch2cpp/output.h>
#include <torch2cpp/parameter.h>
#include <torch2cpp/profile.h>
#include <torch2cpp/random.h>
#include <torch2cpp/scalars.h>
#include <torch2cpp/strings.h>
#include <torch2cpp/structs.h>
#include <torch2cpp/tensor.h>
#include <torch2cpp/tensor_check.h>
#include <torch2cpp/tensor_ops.h>
#include <torch2cpp/text.h>
#include <torch2cpp/version.h>
#include <torch2cpp/weights.h>
