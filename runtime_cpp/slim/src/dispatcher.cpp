// The stable dispatcher call, for the operators that the support library asks for by name.
#include <array>
#include <string>
#include <string_view>

#include <torch/csrc/stable/stableivalue_conversions.h>

#include <torch2cpp/errors.h>
#include <torch2cpp/slim/guard.h>
#include <torch2cpp/slim/operators.h>

namespace torch2cpp::slim {
namespace {

namespace conversions = torch::stable::detail;

// Takes an argument off the stack; it owns what it refers to.
template <class T>
T take(StableIValue value) {
  return conversions::to<T>(value);
}

struct Entry {
  std::string_view name, overload;
  void (*call)(StableIValue* stack);
};

constexpr std::array<Entry, 8> kEntries{{
    {"aten::stack", "",
     [](StableIValue* s) { s[0] = conversions::from(op::stack(take<Tensors>(s[0]), take<int64_t>(s[1]))); }},
    {"aten::cat", "",
     [](StableIValue* s) { s[0] = conversions::from(op::cat(take<Tensors>(s[0]), take<int64_t>(s[1]))); }},
    {"aten::eq", "Tensor",
     [](StableIValue* s) { s[0] = conversions::from(op::eq_Tensor(take<Tensor>(s[0]), take<Tensor>(s[1]))); }},
    {"aten::lt", "Tensor",
     [](StableIValue* s) { s[0] = conversions::from(op::lt_Tensor(take<Tensor>(s[0]), take<Tensor>(s[1]))); }},
    {"aten::view", "",
     [](StableIValue* s) {
       const Tensor self = take<Tensor>(s[0]);
       s[0] = conversions::from(op::view(self, take<std::vector<int64_t>>(s[1])));
     }},
    {"aten::reshape", "",
     [](StableIValue* s) {
       const Tensor self = take<Tensor>(s[0]);
       s[0] = conversions::from(op::reshape(self, take<std::vector<int64_t>>(s[1])));
     }},
    {"aten::resolve_conj", "", [](StableIValue* s) { s[0] = conversions::from(take<Tensor>(s[0])); }},
    {"aten::requires_grad_", "",
     [](StableIValue* s) {
       s[0] = conversions::from(op::requires_grad_in_place(take<Tensor>(s[0]), take<bool>(s[1])));
     }},
}};

void call(std::string_view name, std::string_view overload, StableIValue* stack) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name && entry.overload == overload) {
      entry.call(stack);
      return;
    }
  }
  raise_not_implemented("operator " + std::string(name) + " without libtorch");
}

}  // namespace
}  // namespace torch2cpp::slim

extern "C" {

AOTITorchError torch_call_dispatcher(const char* name, const char* overload, StableIValue* stack, uint64_t) {
  return torch2cpp::slim::guarded([&] { torch2cpp::slim::call(name, overload, stack); });
}

AOTITorchError aoti_torch_call_dispatcher(const char* name, const char* overload, StableIValue* stack) {
  return torch2cpp::slim::guarded([&] { torch2cpp::slim::call(name, overload, stack); });
}

}  // extern "C"
