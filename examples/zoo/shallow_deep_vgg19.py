"""Shallow-deep VGG19 with batch norm for 32x32 images: 16 convolutions, six exits."""

import torch
import torch.nn as nn
from shallow_deep import BlockWithOutput, ShallowDeepNet, calibrated, hundred_images

ENTRY = "early_exit"
CHANNELS = [64, 64, 128, 128, 256, 256, 256, 256, 512, 512, 512, 512, 512, 512, 512, 512]
MAX_POOL_AFTER = (1, 3, 7, 11, 15)
EXITS = (2, 4, 6, 8, 10, 12)


class VGG(ShallowDeepNet):
    def __init__(self, num_classes=10):
        layers, channels, size = [], 3, 32
        for i, width in enumerate(CHANNELS):
            body = [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            if i in MAX_POOL_AFTER:
                body.append(nn.MaxPool2d(2))
                size //= 2
            exit_at = (size, width) if i in EXITS else None
            layers.append(BlockWithOutput(nn.Sequential(*body), exit_at, num_classes))
            channels = width
        fc = [nn.Flatten(), nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.5)]
        fc += [nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, num_classes)]
        super().__init__(nn.Sequential(), layers, nn.Sequential(*fc))
        self.initialize_weights()

    def initialize_weights(self):
        # Sixteen layers of independent normal weights would magnify rounding, which training does not leave so.
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.orthogonal_(m.weight.data)
                if m.bias is not None:
                    m.bias.data.zero_()


def make_model():
    torch.manual_seed(2)
    model = VGG()
    return calibrated(model, model.end_layers[-1], seed=2)


def make_inputs():
    return hundred_images(seed=2)
