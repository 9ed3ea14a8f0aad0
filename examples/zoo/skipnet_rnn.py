"""SkipNet ResNet38 with recurrent gates: one LSTM, shared by all blocks, sees the pooled features in turn."""

import torch
import torch.nn as nn
from skipnet import GatedResNet, calibrated, hundred_images
from torch.autograd import Variable


class RNNGate(nn.Module):
    def __init__(self, input_dim, hidden_dim):
        super().__init__()
        self.input_dim = input_dim
        self.hidden_dim = hidden_dim
        self.rnn = nn.LSTM(input_dim, hidden_dim)
        self.hidden = None
        self.proj = nn.Conv2d(in_channels=hidden_dim, out_channels=1, kernel_size=1, stride=1)
        self.prob = nn.Sigmoid()

    def init_hidden(self, batch_size):
        return (
            Variable(torch.zeros(1, batch_size, self.hidden_dim)),
            Variable(torch.zeros(1, batch_size, self.hidden_dim)),
        )

    def forward(self, x):
        batch_size = x.size(0)
        self.rnn.flatten_parameters()
        out, self.hidden = self.rnn(x.view(1, batch_size, -1), self.hidden)
        out = out.squeeze(0)
        proj = self.proj(out.view(out.size(0), out.size(1), 1, 1)).squeeze()
        prob = self.prob(proj)
        disc_prob = (prob > 0.5).float()
        disc_prob = disc_prob.view(batch_size, 1, 1, 1)
        return disc_prob, prob


class SkipNetRNN(GatedResNet):
    embed_dim = 10
    hidden_dim = 10

    def __init__(self):
        super().__init__()
        self.control = RNNGate(self.embed_dim, self.hidden_dim)

    def make_gate(self, planes, size):
        return nn.Sequential(nn.AvgPool2d(size), nn.Conv2d(planes, self.embed_dim, kernel_size=1, stride=1))

    def reset_gates(self, batch_size):
        self.control.hidden = self.control.init_hidden(batch_size)

    def decide(self, name, x):
        return self.control(getattr(self, name)(x))


def make_model():
    torch.manual_seed(5)
    model = SkipNetRNN()
    with torch.no_grad():
        model.control.rnn.weight_ih_l0.mul_(3.0)
        model.control.proj.weight.mul_(6.0)
    gates = [getattr(model, "group{}_gate{}".format(g, i))[1] for g in (1, 2, 3) for i in range(6)]
    return calibrated(model, gates, seed=5)


def make_inputs():
    return hundred_images(seed=5)
