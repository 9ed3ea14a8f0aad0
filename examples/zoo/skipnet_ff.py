"""SkipNet ResNet38 with feed-forward gates: two small convolutions per block, then open or closed."""

import torch
import torch.nn as nn
from skipnet import GatedResNet, calibrated, conv3x3, hundred_images


class FeedforwardGate(nn.Module):
    def __init__(self, pool_size, channel):
        super().__init__()
        self.maxpool = nn.MaxPool2d(2)
        self.conv1 = conv3x3(channel, channel)
        self.bn1 = nn.BatchNorm2d(channel)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(channel, channel, stride=2)
        self.bn2 = nn.BatchNorm2d(channel)
        self.relu2 = nn.ReLU(inplace=True)
        pool_size = int(pool_size / 2)  # the max pooling
        pool_size = int(pool_size / 2 + 0.5)  # the stride of conv2
        self.avg_layer = nn.AvgPool2d(pool_size)
        self.linear_layer = nn.Conv2d(in_channels=channel, out_channels=2, kernel_size=1, stride=1)
        self.prob_layer = nn.Softmax(dim=1)
        self.logprob = nn.LogSoftmax(dim=1)

    def forward(self, x):
        x = self.maxpool(x)
        x = self.conv1(x)
        x = self.bn1(x)
        x = self.relu1(x)
        x = self.conv2(x)
        x = self.bn2(x)
        x = self.relu2(x)
        x = self.avg_layer(x)
        x = self.linear_layer(x).squeeze(3).squeeze(2)
        softmax = self.prob_layer(x)
        logprob = self.logprob(x)
        # the second class means that the block is run
        x = softmax[:, 1].contiguous()
        x = x.view(x.size(0), 1, 1, 1)
        if not self.training:
            x = (x > 0.5).float()
        return x, logprob


class SkipNetFF(GatedResNet):
    def make_gate(self, planes, size):
        return FeedforwardGate(pool_size=size, channel=planes)

    def decide(self, name, x):
        return getattr(self, name)(x)


def make_model():
    torch.manual_seed(6)
    model = SkipNetFF()
    gates = [getattr(model, "group{}_gate{}".format(g, i)).linear_layer for g in (1, 2, 3) for i in range(6)]
    return calibrated(model, gates, seed=6)


def make_inputs():
    return hundred_images(seed=6)
