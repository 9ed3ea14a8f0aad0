"""Shallow-deep WideResNet 32-4 for 32x32 images: three groups of five wide blocks, six exits."""

import torch
import torch.nn as nn
from shallow_deep import BlockWithOutput, ShallowDeepNet, calibrated, hundred_images

ENTRY = "early_exit"
BLOCKS_PER_GROUP = 5
WIDEN_FACTOR = 4
EXITS = (2, 4, 6, 8, 10, 12)


class WideBasic(nn.Module):
    """Batch norm before each convolution, dropout between them."""

    def __init__(self, in_channels, channels, dropout_rate, stride):
        super().__init__()
        self.layers = nn.ModuleList()
        conv_layer = [nn.BatchNorm2d(in_channels), nn.ReLU(inplace=True)]
        conv_layer += [nn.Conv2d(in_channels, channels, 3, padding=1, bias=True)]
        conv_layer += [nn.Dropout(p=dropout_rate), nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]
        conv_layer += [nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=True)]
        self.layers.append(nn.Sequential(*conv_layer))
        shortcut = nn.Sequential()
        if stride != 1 or in_channels != channels:
            shortcut = nn.Sequential(nn.Conv2d(in_channels, channels, 1, stride=stride, bias=True))
        self.layers.append(shortcut)

    def forward(self, x):
        fwd = self.layers[0](x)
        fwd = fwd + self.layers[1](x)
        return fwd


class WideResNet(ShallowDeepNet):
    def __init__(self, num_classes=10, dropout_rate=0.3):
        layers, channels, size = [], 16, 32
        for group, base in enumerate((16, 32, 64)):
            width = base * WIDEN_FACTOR
            for i in range(BLOCKS_PER_GROUP):
                stride = 2 if group > 0 and i == 0 else 1
                size //= stride
                exit_at = (size, width) if len(layers) in EXITS else None
                layers.append(BlockWithOutput(WideBasic(channels, width, dropout_rate, stride), exit_at, num_classes))
                channels = width
        end_layers = [nn.BatchNorm2d(64 * WIDEN_FACTOR), nn.ReLU(inplace=True), nn.AvgPool2d(8), nn.Flatten()]
        end_layers.append(nn.Linear(64 * WIDEN_FACTOR, num_classes))
        super().__init__(nn.Conv2d(3, 16, 3, padding=1, bias=True), layers, nn.Sequential(*end_layers))


def make_model():
    torch.manual_seed(4)
    model = WideResNet()
    return calibrated(model, model.end_layers[-1], seed=4, end=1.5)


def make_inputs():
    return hundred_images(seed=4)
