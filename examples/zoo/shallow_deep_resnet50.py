"""Shallow-deep ResNet of depth 50 for 32x32 images: three groups of eight basic blocks, six exits."""

import torch
import torch.nn as nn
from shallow_deep import BlockWithOutput, ShallowDeepNet, calibrated, hundred_images

ENTRY = "early_exit"
BLOCKS_PER_GROUP = 8
EXITS = (3, 7, 11, 14, 18, 21)


class BasicBlock(nn.Module):
    def __init__(self, in_channels, channels, stride):
        super().__init__()
        layers = nn.ModuleList()
        conv_layer = [nn.Conv2d(in_channels, channels, 3, stride=stride, padding=1, bias=False)]
        conv_layer += [nn.BatchNorm2d(channels), nn.ReLU()]
        conv_layer += [nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)]
        layers.append(nn.Sequential(*conv_layer))
        shortcut = nn.Sequential()
        if stride != 1 or in_channels != channels:
            shortcut = nn.Sequential(
                nn.Conv2d(in_channels, channels, 1, stride=stride, bias=False), nn.BatchNorm2d(channels)
            )
        layers.append(shortcut)
        layers.append(nn.ReLU())
        self.layers = layers

    def forward(self, x):
        fwd = self.layers[0](x)
        fwd += self.layers[1](x)
        return self.layers[2](fwd)


class ResNet(ShallowDeepNet):
    def __init__(self, num_classes=10):
        layers, channels, size = [], 16, 32
        for group, width in enumerate((16, 32, 64)):
            for i in range(BLOCKS_PER_GROUP):
                stride = 2 if group > 0 and i == 0 else 1
                size //= stride
                exit_at = (size, width) if len(layers) in EXITS else None
                layers.append(BlockWithOutput(BasicBlock(channels, width, stride), exit_at, num_classes))
                channels = width
        init_conv = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        super().__init__(init_conv, layers, nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(64, num_classes)))


def make_model():
    torch.manual_seed(3)
    model = ResNet()
    return calibrated(model, model.end_layers[-1], seed=3)


def make_inputs():
    return hundred_images(seed=3)
