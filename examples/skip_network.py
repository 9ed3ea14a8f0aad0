"""A residual network whose blocks are run or skipped for each image (SkipNet, Wang et al., 2018).

A recurrent gate looks at the features before each block and decides whether to run it. The
gate keeps its hidden state on itself, and the blocks are fetched by names built with
`format`, both as in the published code. One image at a time.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class BasicBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += residual
        return self.relu(out)


class RecurrentGate(nn.Module):
    def __init__(self, input_dim, hidden_dim):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.cell = nn.LSTMCell(input_dim, hidden_dim)
        self.proj = nn.Linear(hidden_dim, 1)
        self.hidden = None

    def init_hidden(self, batch_size):
        weight = self.proj.weight
        self.hidden = (weight.new_zeros(batch_size, self.hidden_dim), weight.new_zeros(batch_size, self.hidden_dim))

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden)
        return torch.sigmoid(self.proj(self.hidden[0]))


class SkipNetwork(nn.Module):
    def __init__(self, layers=(2, 2, 2), channels=(8, 16, 32), gate_dim=10, num_classes=10):
        super().__init__()
        self.num_layers = layers
        self.conv1 = nn.Conv2d(3, channels[0], 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels[0])
        for g, n in enumerate(layers, start=1):
            if g > 1:
                down = nn.Conv2d(channels[g - 2], channels[g - 1], 3, stride=2, padding=1, bias=False)
                setattr(self, "group{}_down".format(g), nn.Sequential(down, nn.BatchNorm2d(channels[g - 1]), nn.ReLU()))
            setattr(self, "group{}_embed".format(g), nn.Linear(channels[g - 1], gate_dim))
            for i in range(n):
                setattr(self, "group{}_layer{}".format(g, i), BasicBlock(channels[g - 1]))
        self.control = RecurrentGate(gate_dim, gate_dim)
        self.fc = nn.Linear(channels[-1], num_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        self.control.init_hidden(x.size(0))
        executed = 0
        probs = []
        for g in range(1, len(self.num_layers) + 1):
            if hasattr(self, "group{}_down".format(g)):
                x = getattr(self, "group{}_down".format(g))(x)
            embed = getattr(self, "group{}_embed".format(g))
            for i in range(self.num_layers[g - 1]):
                prob = self.control(embed(F.adaptive_avg_pool2d(x, 1).flatten(1)))
                probs.append(prob)
                if prob.item() > 0.5:
                    x = getattr(self, "group{}_layer{}".format(g, i))(x)
                    executed += 1
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.fc(x), torch.cat(probs, dim=1), executed


def make_model():
    torch.manual_seed(0)
    model = SkipNetwork()
    with torch.no_grad():
        model.control.cell.weight_ih.mul_(6.0)
        model.control.proj.weight.mul_(8.0)
        model.control.proj.bias.zero_()
        for g in range(1, 4):
            getattr(model, "group{}_embed".format(g)).weight.mul_(4.0)
    return model.eval()


def make_inputs():
    inputs = []
    for seed in range(8):
        g = torch.Generator().manual_seed(seed)
        tint = torch.randn(1, 3, 1, 1, generator=g)
        inputs.append((2.0 * torch.randn(1, 3, 16, 16, generator=g) + 2.0 * tint,))
    return inputs
