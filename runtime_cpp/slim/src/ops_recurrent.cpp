// Recurrent cells and layers: products of rows with the stacked weights of the gates.
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

struct Weights {
  Tensor ih, hh;
  OptionalTensor b_ih, b_hh;
};

Tensor gru_step(const Tensor& from_input, const Tensor& hx, const Weights& w) {
  const Tensors in = chunk(from_input, 3, -1), hidden = chunk(linear(hx, w.hh, w.b_hh), 3, -1);
  const Tensor reset = sigmoid(add_Tensor(in[0], hidden[0], 1));
  const Tensor update = sigmoid(add_Tensor(in[1], hidden[1], 1));
  const Tensor fresh = tanh(add_Tensor(in[2], mul_Tensor(hidden[2], reset), 1));
  return add_Tensor(mul_Tensor(sub_Tensor(hx, fresh, 1), update), fresh, 1);
}

std::tuple<Tensor, Tensor> lstm_step(const Tensor& from_input, const Tensor& hx, const Tensor& cx, const Weights& w) {
  const Tensors gates = chunk(add_Tensor(from_input, linear(hx, w.hh, w.b_hh), 1), 4, -1);
  const Tensor cell = add_Tensor(mul_Tensor(sigmoid(gates[1]), cx), mul_Tensor(sigmoid(gates[0]), tanh(gates[2])), 1);
  return {mul_Tensor(sigmoid(gates[3]), tanh(cell)), cell};
}

// One direction of one layer: the outputs by time, and the last states.
template <class Step>
Tensors run(const Tensor& input, bool backwards, Step step) {
  const int64_t length = torch2cpp::size(input, 0);
  Tensors out(static_cast<std::size_t>(length), input);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t at = backwards ? length - 1 - i : i;
    out[static_cast<std::size_t>(at)] = step(torch2cpp::select(input, 0, at));
  }
  return out;
}

struct Layers {
  bool has_biases, train, bidirectional, batch_first;
  int64_t num_layers;
  double dropout;
};

// All layers; `direction(input, index of layer and direction, weights)` gives the outputs of one.
template <class Direction>
Tensor run_layers(const Tensor& input, const Tensors& params, const Layers& layers, Direction direction) {
  if (layers.train && layers.dropout != 0.0) {
    raise_not_implemented("a recurrent layer with dropout in training without libtorch");
  }
  const bool batched = impl(input).rank() == 3;
  Tensor now = batched && layers.batch_first ? torch2cpp::transpose(input, 0, 1) : input;
  if (torch2cpp::size(now, 0) == 0) {
    raise_runtime_error("Expected sequence length to be larger than 0 in RNN");
  }
  const std::size_t each = layers.has_biases ? 4 : 2;
  std::size_t which = 0;
  for (int64_t layer = 0; layer < layers.num_layers; ++layer) {
    Tensors sides;
    for (int64_t side = 0; side < (layers.bidirectional ? 2 : 1); ++side, ++which) {
      const Tensor* p = &params.at(which * each);
      Weights w{p[0], p[1], std::nullopt, std::nullopt};
      if (layers.has_biases) {
        w.b_ih = p[2];
        w.b_hh = p[3];
      }
      // The input's share of all steps at once.
      sides.push_back(stack(direction(linear(now, w.ih, w.b_ih), which, side == 1, w), 0));
    }
    now = sides.size() == 1 ? sides[0] : cat(sides, -1);
  }
  return batched && layers.batch_first ? torch2cpp::transpose(now, 0, 1) : now;
}

}  // namespace

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  return gru_step(linear(input, w_ih, b_ih), hx, {w_ih, w_hh, b_ih, b_hh});
}
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const Tensors& hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  return lstm_step(linear(input, w_ih, b_ih), hx.at(0), hx.at(1), {w_ih, w_hh, b_ih, b_hh});
}
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  return tanh(add_Tensor(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), 1));
}

std::tuple<Tensor, Tensor> gru_input(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases,
                                     int64_t num_layers, double dropout, bool train, bool bidirectional,
                                     bool batch_first) {
  Tensors last;
  const Tensor out = run_layers(input, params, {has_biases, train, bidirectional, batch_first, num_layers, dropout},
                                [&](const Tensor& in, std::size_t which, bool backwards, const Weights& w) {
                                  Tensor state = torch2cpp::select(hx, 0, static_cast<int64_t>(which));
                                  Tensors made = run(in, backwards, [&](const Tensor& x) {
                                    state = gru_step(x, state, w);
                                    return state;
                                  });
                                  last.push_back(state);
                                  return made;
                                });
  return {out, stack(last, 0)};
}
std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, const Tensors& hx, const Tensors& params,
                                              bool has_biases, int64_t num_layers, double dropout, bool train,
                                              bool bidirectional, bool batch_first) {
  Tensors last, cells;
  const Tensor out = run_layers(input, params, {has_biases, train, bidirectional, batch_first, num_layers, dropout},
                                [&](const Tensor& in, std::size_t which, bool backwards, const Weights& w) {
                                  const auto at = static_cast<int64_t>(which);
                                  Tensor state = torch2cpp::select(hx.at(0), 0, at);
                                  Tensor cell = torch2cpp::select(hx.at(1), 0, at);
                                  Tensors made = run(in, backwards, [&](const Tensor& x) {
                                    std::tie(state, cell) = lstm_step(x, state, cell, w);
                                    return state;
                                  });
                                  last.push_back(state);
                                  cells.push_back(cell);
                                  return made;
                                });
  return {out, stack(last, 0), stack(cells, 0)};
}

}  // namespace torch2cpp::slim::op
