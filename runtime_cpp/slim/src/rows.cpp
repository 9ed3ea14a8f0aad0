#include <array>

#include <torch2cpp/slim/rows.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim {

Rows rows_of(const Tensor& self, Shape dims, bool keepdim, ScalarType dtype) {
  const Impl& from = impl(self);
  const int64_t rank = from.rank();
  std::array<bool, kMaxRank> reduced{};
  for (const int64_t each : dims) {
    const auto dim = static_cast<std::size_t>(wrap(each, rank));
    if (reduced[dim]) {
      raise_runtime_error("dim " + std::to_string(dim) + " appears multiple times in the list of dims");
    }
    reduced[dim] = true;
  }
  std::vector<int64_t> order, sizes;
  Rows out{self, 1, 1, {}};
  for (int64_t dim = 0; dim < rank; ++dim) {
    const int64_t size = from.sizes()[static_cast<std::size_t>(dim)];
    if (dims.empty() || reduced[static_cast<std::size_t>(dim)]) {
      out.length *= size;
      if (keepdim) {
        out.sizes.push_back(1);
      }
    } else {
      order.push_back(dim);
      out.count *= size;
      out.sizes.push_back(size);
    }
  }
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dims.empty() || reduced[static_cast<std::size_t>(dim)]) {
      order.push_back(dim);
    }
  }
  out.elements = contiguous(torch2cpp::permute(self, order), dtype);
  return out;
}

}  // namespace torch2cpp::slim
