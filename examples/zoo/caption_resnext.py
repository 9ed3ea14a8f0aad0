"""Show, attend and tell on a ResNeXt-50 32x4d encoder (Xie et al., CVPR 2017), 224x224 images."""

import torch
import torch.nn as nn
from show_attend_tell import Captioner, calibrated, hundred_captions

CARDINALITY = 32
WIDTH_PER_GROUP = 4


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        width = int(planes * (WIDTH_PER_GROUP / 64.0)) * CARDINALITY
        self.conv1 = nn.Conv2d(inplanes, width, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, groups=CARDINALITY, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, planes * self.expansion, kernel_size=1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNeXt(nn.Module):
    """Without its pooling and classifier: (b, 3, 224, 224) -> (b, 2048, 7, 7)."""

    def __init__(self, layers=(3, 4, 6, 3)):
        super().__init__()
        self.inplanes = 64
        stem = [nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
        modules = [*stem, nn.MaxPool2d(kernel_size=3, stride=2, padding=1)]
        for planes, blocks, stride in zip((64, 128, 256, 512), layers, (1, 2, 2, 2)):
            modules.append(self._make_layer(planes, blocks, stride))
        self.resnext = nn.Sequential(*modules)

    def _make_layer(self, planes, blocks, stride):
        out_planes = planes * Bottleneck.expansion
        downsample = nn.Sequential(
            nn.Conv2d(self.inplanes, out_planes, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(out_planes)
        )
        layers = [Bottleneck(self.inplanes, planes, stride, downsample)]
        self.inplanes = out_planes
        for _ in range(1, blocks):
            layers.append(Bottleneck(self.inplanes, planes))
        return nn.Sequential(*layers)

    def forward(self, images):
        return self.resnext(images)


def make_model():
    torch.manual_seed(8)
    return calibrated(Captioner(ResNeXt(), encoder_dim=2048), seed=8)


def make_inputs():
    return hundred_captions(seed=800)
