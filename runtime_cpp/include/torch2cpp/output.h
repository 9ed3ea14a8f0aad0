// print().
#pragma once

#include <string_view>

namespace torch2cpp {

// One line on standard output; its parts are already formatted and joined.
void print(std::string_view line);

}  // namespace torch2cpp
