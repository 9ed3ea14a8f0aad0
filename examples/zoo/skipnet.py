"""What the two SkipNet networks share (Wang et al.: SkipNet, ECCV 2018): the residual part and its forward.

ResNet38 for 32x32 images: three groups of six basic blocks with 16, 32 and 64 channels. Before
each block but the first a gate decides whether it is run.
"""

import torch.nn as nn
from calibration import centre_outputs, settle_batch_norms, smooth_images


def conv3x3(in_planes, out_planes, stride=1):
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x):
        residual = x
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        if self.downsample is not None:
            residual = self.downsample(x)
        out += residual
        out = self.relu(out)
        return out


class GatedResNet(nn.Module):
    """Blocks and gates are attributes whose names say the group and the position."""

    def __init__(self, num_layers=(6, 6, 6), num_classes=10):
        super().__init__()
        self.num_layers = num_layers
        self.conv1 = conv3x3(3, 16)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        inplanes = 16
        for g, planes in enumerate((16, 32, 64)):
            for i in range(num_layers[g]):
                stride = 2 if g > 0 and i == 0 else 1
                downsample = None
                if stride != 1 or inplanes != planes:
                    downsample = nn.Sequential(
                        nn.Conv2d(inplanes, planes, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(planes)
                    )
                # where the size changes a skipped block still needs its shortcut
                setattr(self, "group{}_ds{}".format(g + 1, i), downsample)
                setattr(self, "group{}_layer{}".format(g + 1, i), BasicBlock(inplanes, planes, stride, downsample))
                setattr(self, "group{}_gate{}".format(g + 1, i), self.make_gate(planes, 32 // 2**g))
                inplanes = planes
        self.avgpool = nn.AvgPool2d(8)
        self.fc = nn.Linear(64, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                n = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                m.weight.data.normal_(0, (2.0 / n) ** 0.5)

    def make_gate(self, planes, size):
        raise NotImplementedError

    def reset_gates(self, batch_size):
        pass

    def decide(self, name, x):
        """The mask (1. to run the next block) and the probability it comes from."""
        raise NotImplementedError

    def forward(self, x):
        batch_size = x.size(0)
        x = self.conv1(x)
        x = self.bn1(x)
        x = self.relu(x)

        self.reset_gates(batch_size)
        masks = []
        gprobs = []
        # the first block is always run
        x = getattr(self, "group1_layer0")(x)
        mask, gprob = self.decide("group1_gate0", x)
        masks.append(mask.squeeze())
        gprobs.append(gprob)
        for g in range(3):
            for i in range(0 + int(g == 0), self.num_layers[g]):
                prev = x
                if getattr(self, "group{}_ds{}".format(g + 1, i)) is not None:
                    prev = getattr(self, "group{}_ds{}".format(g + 1, i))(prev)
                if mask.cpu().data.numpy() > 0:
                    x = getattr(self, "group{}_layer{}".format(g + 1, i))(x)
                else:
                    x = prev
                mask, gprob = self.decide("group{}_gate{}".format(g + 1, i), x)
                masks.append(mask.squeeze())
                gprobs.append(gprob)
        # nothing follows the last gate
        del masks[-1]
        del gprobs[-1]

        x = self.avgpool(x)
        x = x.view(x.size(0), -1)
        x = self.fc(x)
        return x, masks, gprobs


def calibrated(model, gate_layers, seed):
    """The model in eval mode, its gates open for about half of a hundred images, each by its own way."""
    images = smooth_images(100, 32, seed)
    calls = [lambda image=image: model(image.unsqueeze(0)) for image in images]
    settle_batch_norms(model.eval(), calls[:50])
    for _ in range(2):  # the second time with the ways that the first left
        centre_outputs(gate_layers, calls)
    return model


def hundred_images(seed):
    return [(image.unsqueeze(0),) for image in smooth_images(100, 32, seed)]
