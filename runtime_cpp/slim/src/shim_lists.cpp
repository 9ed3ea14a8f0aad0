// The C ABI's lists, strings and boxed values, which go to and from the dispatcher.
#include <string>
#include <vector>

#include <torch/csrc/stable/c/shim.h>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/guard.h>

using torch2cpp::slim::guarded;

struct StableListOpaque {
  std::vector<StableIValue> items;
};
struct StringOpaque {
  std::string text;
};

namespace {

StableIValue& item(StableListHandle list, size_t index) {
  if (index >= list->items.size()) {
    torch2cpp::raise_index_error("list index out of range");
  }
  return list->items[index];
}

}  // namespace

extern "C" {

AOTITorchError torch_new_list_reserve_size(size_t size, StableListHandle* ret) {
  return guarded([&] {
    *ret = new StableListOpaque;
    (*ret)->items.reserve(size);
  });
}
AOTITorchError torch_list_size(StableListHandle list, size_t* size) {
  return guarded([&] { *size = list->items.size(); });
}
AOTITorchError torch_list_get_item(StableListHandle list, size_t index, StableIValue* element) {
  return guarded([&] { *element = item(list, index); });
}
AOTITorchError torch_list_set_item(StableListHandle list, size_t index, StableIValue element) {
  return guarded([&] { item(list, index) = element; });
}
AOTITorchError torch_list_push_back(StableListHandle list, StableIValue element) {
  return guarded([&] { list->items.push_back(element); });
}
AOTITorchError torch_delete_list(StableListHandle list) {
  return guarded([&] { delete list; });
}

AOTITorchError torch_new_string_handle(const char* data, size_t length, StringHandle* ret) {
  return guarded([&] { *ret = new StringOpaque{std::string(data, length)}; });
}
AOTITorchError torch_delete_string(StringHandle text) {
  return guarded([&] { delete text; });
}
AOTITorchError torch_string_length(StringHandle text, size_t* length) {
  return guarded([&] { *length = text->text.size(); });
}
AOTITorchError torch_string_c_str(StringHandle text, const char** data) {
  return guarded([&] { *data = text->text.c_str(); });
}

AOTITorchError torch_new_stable_ivalue(StableIValue** ret) {
  return guarded([&] { *ret = new StableIValue{}; });
}
AOTITorchError torch_delete_stable_ivalue(StableIValue* value) {
  return guarded([&] { delete value; });
}

}  // extern "C"
