"""Shallow-deep MobileNet (width 1.0) for 32x32 images: 13 depthwise separable blocks, six exits."""

import torch
import torch.nn as nn
from shallow_deep import BlockWithOutput, ShallowDeepNet, calibrated, hundred_images

ENTRY = "early_exit"
#: (channels, stride) of each block
CONFIG = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1)]
CONFIG += [(1024, 2), (1024, 1)]
#: blocks with an exit, near 15%, 30%, 45%, 60%, 75% and 90% of the work
EXITS = (2, 4, 6, 8, 9, 10)


def separable(in_channels, out_channels, stride):
    return nn.Sequential(
        nn.Conv2d(in_channels, in_channels, 3, stride=stride, padding=1, groups=in_channels, bias=False),
        nn.BatchNorm2d(in_channels),
        nn.ReLU(),
        nn.Conv2d(in_channels, out_channels, 1, bias=False),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(),
    )


class MobileNet(ShallowDeepNet):
    def __init__(self, num_classes=10):
        layers, channels, size = [], 32, 32
        for i, (width, stride) in enumerate(CONFIG):
            size //= stride
            exit_at = (size, width) if i in EXITS else None
            layers.append(BlockWithOutput(separable(channels, width, stride), exit_at, num_classes))
            channels = width
        init_conv = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        end_layers = nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(1024, num_classes))
        super().__init__(init_conv, layers, end_layers)


def make_model():
    torch.manual_seed(1)
    model = MobileNet()
    return calibrated(model, model.end_layers[-1], seed=1)


def make_inputs():
    return hundred_images(seed=1)
