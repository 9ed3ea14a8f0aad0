// Recurrent cells and layers: products of rows with the stacked weights of the gates.
#include <algorithm>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/indices.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

struct Weights {
  Tensor ih, hh;
  OptionalTensor b_ih, b_hh;
};

// What a cell hands on: its output, and for an LSTM the cell's state behind it.
using State = Tensors;
// From the input's share of the gates.
using Cell = State (*)(const Tensor& from_input, const State& state, const Weights& w);

State gru_step(const Tensor& from_input, const State& state, const Weights& w) {
  const Tensors in = chunk(from_input, 3, -1), hidden = chunk(linear(state[0], w.hh, w.b_hh), 3, -1);
  const Tensor reset = sigmoid(add_Tensor(in[0], hidden[0], 1));
  const Tensor update = sigmoid(add_Tensor(in[1], hidden[1], 1));
  const Tensor fresh = tanh(add_Tensor(in[2], mul_Tensor(hidden[2], reset), 1));
  return {add_Tensor(mul_Tensor(sub_Tensor(state[0], fresh, 1), update), fresh, 1)};
}

State lstm_step(const Tensor& from_input, const State& state, const Weights& w) {
  const Tensors gates = chunk(add_Tensor(from_input, linear(state[0], w.hh, w.b_hh), 1), 4, -1);
  const Tensor kept = mul_Tensor(sigmoid(gates[1]), state[1]);
  const Tensor cell = add_Tensor(kept, mul_Tensor(sigmoid(gates[0]), tanh(gates[2])), 1);
  return {mul_Tensor(sigmoid(gates[3]), tanh(cell)), cell};
}

template <Tensor (*F)(const Tensor&)>
State rnn_step(const Tensor& from_input, const State& state, const Weights& w) {
  return {F(add_Tensor(from_input, linear(state[0], w.hh, w.b_hh), 1))};
}

State rows(const State& state, int64_t start, int64_t count) {
  State out;
  for (const Tensor& t : state) {
    out.push_back(torch2cpp::narrow(t, 0, start, count));
  }
  return out;
}

// One direction of one layer: the outputs by time, and the last state.
struct Run {
  Tensor outputs;
  State last;
};

Run run_steps(const Tensor& input, State state, bool backwards, Cell cell, const Weights& w) {
  const int64_t length = torch2cpp::size(input, 0);
  Tensors out(static_cast<std::size_t>(length), input);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t at = backwards ? length - 1 - i : i;
    state = cell(torch2cpp::select(input, 0, at), state, w);
    out[static_cast<std::size_t>(at)] = state[0];
  }
  return {stack(out, 0), std::move(state)};
}

// Over packed sequences: step t has the first `counts[t]` of them, which never grow in number.
Run run_packed(const Tensor& input, const State& initial, bool backwards, Cell cell, const Weights& w,
               std::span<const int64_t> counts) {
  const auto length = static_cast<int64_t>(counts.size());
  std::vector<int64_t> starts(counts.size(), 0);
  for (std::size_t t = 1; t < counts.size(); ++t) {
    starts[t] = starts[t - 1] + counts[t - 1];
  }
  Tensors out(counts.size(), input);
  std::vector<State> ended;
  State state = rows(initial, 0, backwards ? counts.back() : counts[0]);
  for (int64_t i = 0; i < length; ++i) {
    const auto t = static_cast<std::size_t>(backwards ? length - 1 - i : i);
    const int64_t now = torch2cpp::size(state[0], 0), count = counts[t];
    if (count < now) {
      ended.push_back(rows(state, count, now - count));
      state = rows(state, 0, count);
    }
    for (std::size_t k = 0; count > now && k < state.size(); ++k) {
      state[k] = cat({state[k], torch2cpp::narrow(initial[k], 0, now, count - now)}, 0);
    }
    state = cell(torch2cpp::narrow(input, 0, starts[t], count), state, w);
    out[t] = state[0];
  }
  for (std::size_t k = 0; !ended.empty() && k < state.size(); ++k) {
    Tensors parts{state[k]};
    for (std::size_t i = ended.size(); i-- > 0;) {
      parts.push_back(ended[i][k]);
    }
    state[k] = cat(parts, 0);
  }
  return {cat(out, 0), std::move(state)};
}

struct Layers {
  bool has_biases, train, bidirectional;
  int64_t num_layers;
  double dropout;
};

// All layers over input by time; `states` are the first ones, each (layers and directions, batch, width).
// `counts` are the sequences at each step of packed input. Gives the outputs, and the last states.
Tensors run_layers(const Tensor& input, const Tensors& states, const Tensors& params, const Layers& layers, Cell cell,
                   std::span<const int64_t> counts = {}) {
  if (torch2cpp::size(input, 0) == 0) {
    raise_runtime_error("Expected sequence length to be larger than 0 in RNN");
  }
  const int64_t sides = layers.bidirectional ? 2 : 1;
  const std::size_t each = layers.has_biases ? 4 : 2;
  if (params.size() != static_cast<std::size_t>(layers.num_layers * sides) * each) {
    raise_not_implemented("a recurrent layer with projections without libtorch");
  }
  Tensor now = input;
  std::vector<Tensors> last(states.size());
  for (int64_t layer = 0; layer < layers.num_layers; ++layer) {
    Tensors made;
    for (int64_t side = 0; side < sides; ++side) {
      const int64_t which = layer * sides + side;
      const Tensor* p = &params[static_cast<std::size_t>(which) * each];
      Weights w{p[0], p[1], std::nullopt, std::nullopt};
      if (layers.has_biases) {
        w.b_ih = p[2];
        w.b_hh = p[3];
      }
      State first;
      for (const Tensor& all : states) {
        first.push_back(torch2cpp::select(all, 0, which));
      }
      // The input's share of all steps at once.
      const Tensor from_input = linear(now, w.ih, w.b_ih);
      Run done = counts.empty() ? run_steps(from_input, first, side == 1, cell, w)
                                : run_packed(from_input, first, side == 1, cell, w, counts);
      made.push_back(done.outputs);
      for (std::size_t k = 0; k < last.size(); ++k) {
        last[k].push_back(done.last[k]);
      }
    }
    now = made.size() == 1 ? made[0] : cat(made, -1);
    if (layer + 1 < layers.num_layers) {
      now = dropout(now, layers.dropout, layers.train);
    }
  }
  Tensors out{now};
  for (const Tensors& all : last) {
    out.push_back(stack(all, 0));
  }
  return out;
}

Tensors run_padded(const Tensor& input, const Tensors& states, const Tensors& params, const Layers& layers,
                   bool batch_first, Cell cell) {
  const bool turns = batch_first && impl(input).rank() == 3;
  Tensors out = run_layers(turns ? torch2cpp::transpose(input, 0, 1) : input, states, params, layers, cell);
  if (turns) {
    out[0] = torch2cpp::transpose(out[0], 0, 1);
  }
  return out;
}

Tensors run_data(const Tensor& data, const Tensor& batch_sizes, const Tensors& states, const Tensors& params,
                 const Layers& layers, Cell cell) {
  const Tensor counts = longs(batch_sizes, "a packed sequence");
  return run_layers(data, states, params, layers, cell,
                    {slim::data<int64_t>(counts), static_cast<std::size_t>(impl(counts).numel())});
}

}  // namespace

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  return gru_step(linear(input, w_ih, b_ih), {hx}, {w_ih, w_hh, b_ih, b_hh})[0];
}
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const Tensors& hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  const State made = lstm_step(linear(input, w_ih, b_ih), hx, {w_ih, w_hh, b_ih, b_hh});
  return {made[0], made[1]};
}
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  return rnn_step<tanh>(linear(input, w_ih, b_ih), {hx}, {w_ih, w_hh, b_ih, b_hh})[0];
}
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  return rnn_step<relu>(linear(input, w_ih, b_ih), {hx}, {w_ih, w_hh, b_ih, b_hh})[0];
}

// Layers with one state, over padded and over packed sequences.
#define LAYERS(name, cell)                                                                                           \
  std::tuple<Tensor, Tensor> name##_input(const Tensor& input, const Tensor& hx, const Tensors& params,              \
                                          bool has_biases, int64_t num_layers, double dropout, bool train,           \
                                          bool bidirectional, bool batch_first) {                                    \
    const Tensors out =                                                                                              \
        run_padded(input, {hx}, params, {has_biases, train, bidirectional, num_layers, dropout}, batch_first, cell); \
    return {out[0], out[1]};                                                                                         \
  }                                                                                                                  \
  std::tuple<Tensor, Tensor> name##_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,            \
                                         const Tensors& params, bool has_biases, int64_t num_layers, double dropout, \
                                         bool train, bool bidirectional) {                                           \
    const Tensors out =                                                                                              \
        run_data(data, batch_sizes, {hx}, params, {has_biases, train, bidirectional, num_layers, dropout}, cell);    \
    return {out[0], out[1]};                                                                                         \
  }
LAYERS(gru, gru_step)
LAYERS(rnn_tanh, rnn_step<tanh>)
LAYERS(rnn_relu, rnn_step<relu>)
#undef LAYERS

std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, const Tensors& hx, const Tensors& params,
                                              bool has_biases, int64_t num_layers, double dropout, bool train,
                                              bool bidirectional, bool batch_first) {
  const Tensors out =
      run_padded(input, hx, params, {has_biases, train, bidirectional, num_layers, dropout}, batch_first, lstm_step);
  return {out[0], out[1], out[2]};
}
std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes, const Tensors& hx,
                                             const Tensors& params, bool has_biases, int64_t num_layers, double dropout,
                                             bool train, bool bidirectional) {
  const Tensors out =
      run_data(data, batch_sizes, hx, params, {has_biases, train, bidirectional, num_layers, dropout}, lstm_step);
  return {out[0], out[1], out[2]};
}

std::tuple<Tensor, Tensor> _pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first) {
  const Tensor steps = batch_first ? torch2cpp::transpose(input, 0, 1) : input;
  const Tensor given = longs(lengths, "pack_padded_sequence");
  const int64_t batch = torch2cpp::size(steps, 1), longest = torch2cpp::size(steps, 0);
  const int64_t* each = slim::data<int64_t>(given);
  if (impl(given).rank() != 1 || impl(given).numel() != batch || batch == 0) {
    raise_runtime_error("Expected `len(lengths)` to be equal to batch_size, but got " +
                        std::to_string(impl(given).numel()) + " (batch_size=" + std::to_string(batch) + ")");
  }
  for (int64_t i = 0; i < batch; ++i) {
    if (each[i] <= 0) {
      raise_runtime_error(
          "Length of all samples has to be greater than 0, but found an element in 'lengths' that is "
          "<= 0");
    }
    if (i > 0 && each[i] > each[i - 1]) {
      raise_runtime_error(
          "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
          "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
          "requirement if you do not need ONNX exportability.");
    }
  }
  const Tensor sizes = slim::empty(std::array<int64_t, 1>{each[0]}, ScalarType::Long);
  Tensors parts;
  for (int64_t t = 0; t < each[0]; ++t) {
    const int64_t count = std::count_if(each, each + batch, [&](int64_t length) { return length > t; });
    slim::data<int64_t>(sizes)[t] = count;
    // As eager, lengths beyond the steps there are count, and bring nothing.
    if (t < longest) {
      parts.push_back(torch2cpp::narrow(torch2cpp::select(steps, 0, t), 0, 0, count));
    }
  }
  return {parts.empty() ? torch2cpp::narrow(flatten_using_ints(steps, 0, 1), 0, 0, 0) : cat(parts, 0), sizes};
}

std::tuple<Tensor, Tensor> _pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes, bool batch_first,
                                                Number padding_value, int64_t total_length) {
  const Tensor counts = longs(batch_sizes, "pad_packed_sequence");
  const int64_t steps = impl(counts).numel();
  const int64_t* each = slim::data<int64_t>(counts);
  if (steps == 0) {
    raise_runtime_error("a packed sequence without steps");
  }
  if (total_length > 0 && total_length < steps) {
    raise_runtime_error(
        "Expected total_length to be at least the length of the longest sequence in input, but got "
        "total_length=" +
        std::to_string(total_length) + " and max sequence length being " + std::to_string(steps));
  }
  std::vector<int64_t> sizes{std::max(total_length, steps), each[0]};
  sizes.insert(sizes.end(), impl(data).sizes().begin() + 1, impl(data).sizes().end());
  const Tensor out = full(sizes, padding_value, impl(data).dtype);
  const Tensor lengths = slim::empty(std::array<int64_t, 1>{each[0]}, ScalarType::Long);
  slim::fill(impl(lengths), int64_t{0});
  int64_t start = 0;
  for (int64_t t = 0; t < steps; start += each[t++]) {
    const Tensor to = torch2cpp::narrow(torch2cpp::select(out, 0, t), 0, 0, each[t]);
    slim::copy(impl(to), impl(torch2cpp::narrow(data, 0, start, each[t])));
    for (int64_t i = 0; i < each[t]; ++i) {
      ++slim::data<int64_t>(lengths)[i];
    }
  }
  return {batch_first ? torch2cpp::transpose(out, 0, 1) : out, lengths};
}

}  // namespace torch2cpp::slim::op
