// Rows of a table by index, joined bag by bag.
#include <string>
#include <vector>

#include <torch2cpp/slim/indices.h>
#include <torch2cpp/slim/operators.h>

namespace torch2cpp::slim::op {
namespace {

enum class Mode { Sum, Mean, Max };

// Into the rows of `bags`, which begin at `starts`; entries of the index `left_out` do not count.
template <class T>
void join(const Tensor& bags, const T* table, const int64_t* indices, int64_t count, const int64_t* starts,
          int64_t width, const T* factors, Mode mode, std::optional<int64_t> left_out) {
  const int64_t number = impl(bags).sizes()[0];
  for (int64_t bag = 0; bag < number; ++bag) {
    T* to = slim::data<T>(bags) + bag * width;
    const int64_t end = bag + 1 < number ? starts[bag + 1] : count;
    int64_t size = 0;
    for (int64_t i = starts[bag]; i < end; ++i) {
      if (left_out && indices[i] == *left_out) {
        continue;
      }
      const T* row = table + indices[i] * width;
      const T factor = factors == nullptr ? T{1} : factors[i];
      for (int64_t k = 0; k < width; ++k) {
        if (mode != Mode::Max) {
          to[k] += factor * row[k];
        } else if (size == 0 || row[k] > to[k]) {
          to[k] = row[k];
        }
      }
      ++size;
    }
    for (int64_t k = 0; mode == Mode::Mean && size > 0 && k < width; ++k) {
      to[k] /= static_cast<T>(size);
    }
  }
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag_padding_idx(const Tensor& weight, const Tensor& indices,
                                                                     const Tensor& offsets, int64_t mode,
                                                                     const OptionalTensor& per_sample_weights,
                                                                     bool include_last_offset,
                                                                     std::optional<int64_t> padding_idx) {
  const Tensor which = longs(indices, "embedding_bag"), starts = longs(offsets, "embedding_bag");
  if (impl(weight).rank() != 2 || impl(which).rank() != 1 || impl(starts).rank() != 1) {
    raise_runtime_error("embedding_bag: weight has to be a matrix, input and offsets 1D");
  }
  const int64_t count = impl(which).numel(), rows = impl(weight).sizes()[0], width = impl(weight).sizes()[1];
  const int64_t bags = impl(starts).numel() - (include_last_offset ? 1 : 0);
  const int64_t* places = slim::data<int64_t>(which);
  for (int64_t i = 0; i < count; ++i) {
    if (places[i] < 0 || places[i] >= rows) {
      raise_runtime_error("embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be " +
                          std::to_string(places[i]));
    }
  }
  const int64_t* first = slim::data<int64_t>(starts);
  for (int64_t bag = 0; bag < impl(starts).numel(); ++bag) {
    // As eager, a bag that begins behind the next one is empty.
    if (first[bag] < 0 || first[bag] > count || first[0] != 0) {
      raise_runtime_error("embedding_bag: offsets have to begin at 0 and stay within the length of the input");
    }
  }
  if (padding_idx && *padding_idx < 0) {
    padding_idx = *padding_idx + rows;
  }
  const int64_t sizes[] = {std::max<int64_t>(bags, 0), width};
  Tensor out;
  with_compute(impl(weight).dtype, [&]<class T>(T) {
    out = slim::empty(sizes, dtype_of<T>);
    slim::fill(impl(out), int64_t{0});
    const Tensor table = slim::contiguous(weight, dtype_of<T>);
    const bool weighted = per_sample_weights && per_sample_weights->defined();
    const Tensor factors = weighted ? slim::contiguous(*per_sample_weights, dtype_of<T>) : Tensor();
    // With the last offset given, the last bag ends there.
    const int64_t end = include_last_offset && bags >= 0 ? first[bags] : count;
    const Mode by = mode == 2 ? Mode::Max : mode == 1 ? Mode::Mean : Mode::Sum;
    join<T>(out, slim::data<T>(table), places, end, first, width, weighted ? slim::data<T>(factors) : nullptr, by,
            padding_idx);
  });
  return {slim::contiguous(out, impl(weight).dtype), Tensor(), Tensor(), Tensor()};
}
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices,
                                                         const Tensor& offsets, int64_t mode,
                                                         const OptionalTensor& per_sample_weights,
                                                         bool include_last_offset) {
  return embedding_bag_padding_idx(weight, indices, offsets, mode, per_sample_weights, include_last_offset,
                                   std::nullopt);
}

}  // namespace torch2cpp::slim::op
