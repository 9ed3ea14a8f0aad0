// Everything about Python's ints, floats, bools and None.
#pragma once

#include <torch2cpp/arithmetic.h>
#include <torch2cpp/compare.h>
#include <torch2cpp/convert.h>
#include <torch2cpp/format.h>
#include <torch2cpp/pymath.h>
