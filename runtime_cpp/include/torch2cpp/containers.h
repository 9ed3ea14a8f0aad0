// Lists, dicts, sets, tuples, optionals and unions.
#pragma once

#include <torch2cpp/dict.h>
#include <torch2cpp/list.h>
#include <torch2cpp/set.h>
#include <torch2cpp/tuples.h>
