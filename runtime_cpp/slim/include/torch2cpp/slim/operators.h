// The operators that programs without libtorch have, one function an overload: `aten::add.Tensor` is add_Tensor,
// `aten::add_.Tensor` add_in_place_Tensor.
//
// The transpiler reads the files included here: what they do not declare is refused. A parameter has its name in the
// operator's schema; those left out (layout, device, memory format...) must have their usual values. Errors are
// Python's.
#pragma once

#include <torch2cpp/slim/operators_elements.h>
#include <torch2cpp/slim/operators_layers.h>
#include <torch2cpp/slim/operators_shapes.h>
