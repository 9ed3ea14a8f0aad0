"""Show, attend and tell on a GoogLeNet encoder (Szegedy et al., CVPR 2015, with batch norm), 224x224 images."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from show_attend_tell import Captioner, calibrated, hundred_captions

#: (1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool projection) of the modules 3a to 5b; None for a max pooling
INCEPTIONS = [
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    None,
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    None,
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
]


class BasicConv2d(nn.Module):
    def __init__(self, in_channels, out_channels, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    def __init__(self, in_channels, ch1x1, ch3x3red, ch3x3, ch5x5red, ch5x5, pool_proj):
        super().__init__()
        self.branch1 = BasicConv2d(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            BasicConv2d(in_channels, ch3x3red, kernel_size=1), BasicConv2d(ch3x3red, ch3x3, kernel_size=3, padding=1)
        )
        self.branch3 = nn.Sequential(
            BasicConv2d(in_channels, ch5x5red, kernel_size=1), BasicConv2d(ch5x5red, ch5x5, kernel_size=5, padding=2)
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            BasicConv2d(in_channels, pool_proj, kernel_size=1),
        )

    def forward(self, x):
        outputs = [self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)]
        return torch.cat(outputs, 1)


class GoogLeNet(nn.Module):
    """Without its pooling and classifiers: (b, 3, 224, 224) -> (b, 1024, 7, 7)."""

    def __init__(self):
        super().__init__()
        self.conv1 = BasicConv2d(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = BasicConv2d(64, 64, kernel_size=1)
        self.conv3 = BasicConv2d(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        channels = 192
        self.inceptions = nn.ModuleList()
        for widths in INCEPTIONS:
            if widths is None:
                self.inceptions.append(nn.MaxPool2d(3, stride=2, ceil_mode=True))
            else:
                self.inceptions.append(Inception(channels, *widths))
                channels = widths[0] + widths[2] + widths[4] + widths[5]

    def forward(self, images):
        x = self.maxpool1(self.conv1(images))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        for module in self.inceptions:
            x = module(x)
        return x


def make_model():
    torch.manual_seed(9)
    return calibrated(Captioner(GoogLeNet(), encoder_dim=1024), seed=9)


def make_inputs():
    return hundred_captions(seed=900)
