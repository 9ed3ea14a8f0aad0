"""BlockDrop: FlatResNet32 whose blocks a policy network chooses per image (Wu et al., CVPR 2018).

For 32x32 images: fifteen residual blocks in three segments of 16, 32 and 64 channels, and a
policy network, a small residual network with one block per segment, that sees the image first.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from calibration import centre_outputs, settle_batch_norms, smooth_images


def conv3x3(in_planes, out_planes, stride=1):
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    """The residual branch alone; the sum is taken where the block is used."""

    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return self.bn2(self.conv2(out))


class DownsampleB(nn.Module):
    """A shortcut without weights: average pooling, and zeros for the new channels."""

    def __init__(self, nIn, nOut, stride):
        super().__init__()
        self.avg = nn.AvgPool2d(stride)
        self.expand_ratio = nOut // nIn

    def forward(self, x):
        x = self.avg(x)
        return torch.cat([x] + [x.mul(0)] * (self.expand_ratio - 1), 1)


class FlatResNet(nn.Module):
    def __init__(self, layers, num_classes=10):
        super().__init__()
        self.inplanes = 16
        self.conv1 = conv3x3(3, 16)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.avgpool = nn.AvgPool2d(8)
        strides = [1, 2, 2]
        filt_sizes = [16, 32, 64]
        self.blocks, self.ds = [], []
        for idx, (filt_size, num_blocks, stride) in enumerate(zip(filt_sizes, layers, strides)):
            blocks, ds = self._make_layer(filt_size, num_blocks, stride=stride)
            self.blocks.append(nn.ModuleList(blocks))
            self.ds.append(ds)
        self.blocks = nn.ModuleList(self.blocks)
        self.ds = nn.ModuleList(self.ds)
        self.fc = nn.Linear(64, num_classes)
        self.layer_config = layers

    def seed(self, x):
        return self.relu(self.bn1(self.conv1(x)))

    def _make_layer(self, planes, blocks, stride=1):
        downsample = nn.Sequential()
        if stride != 1 or self.inplanes != planes:
            downsample = DownsampleB(self.inplanes, planes, stride)
        layers = [BasicBlock(self.inplanes, planes, stride)]
        self.inplanes = planes
        for _ in range(1, blocks):
            layers.append(BasicBlock(self.inplanes, planes))
        return layers, downsample

    def forward(self, x, policy):
        x = self.seed(x)
        t = 0
        for segment, num_blocks in enumerate(self.layer_config):
            for b in range(num_blocks):
                action = policy[:, t].contiguous()
                residual = self.ds[segment](x) if b == 0 else x
                # nobody in the batch runs this block
                if action.data.sum() == 0:
                    x = residual
                    t += 1
                    continue
                action_mask = action.float().view(-1, 1, 1, 1)
                fx = F.relu(residual + self.blocks[segment][b](x))
                x = fx * action_mask + residual * (1 - action_mask)
                t += 1
        x = self.avgpool(x)
        x = x.view(x.size(0), -1)
        x = self.fc(x)
        return x

    def forward_full(self, x):
        """Every block, as in training the classifier."""
        return self.forward(x, torch.ones(x.size(0), sum(self.layer_config)))


class Policy(nn.Module):
    def __init__(self, layer_config=(1, 1, 1), num_blocks=15):
        super().__init__()
        self.features = FlatResNet(layer_config)
        self.feat_dim = self.features.fc.weight.data.shape[1]
        self.features.fc = nn.Sequential()
        self.num_layers = sum(layer_config)
        self.logit = nn.Linear(self.feat_dim, num_blocks)

    def forward(self, x):
        x = self.features.forward_full(x)
        probs = torch.sigmoid(self.logit(x))
        return probs


class BlockDrop(nn.Module):
    def __init__(self):
        super().__init__()
        self.agent = Policy()
        self.rnet = FlatResNet([5, 5, 5])

    def forward(self, inputs):
        probs = self.agent(inputs)
        policy = probs.clone()
        policy[policy < 0.5] = 0.0
        policy[policy >= 0.5] = 1.0
        preds = self.rnet(inputs, policy)
        return preds, policy, probs


def make_model():
    torch.manual_seed(7)
    model = BlockDrop().eval()
    images = smooth_images(100, 32, seed=7)
    settle_batch_norms(model, [lambda: model.agent(images), lambda: model.rnet.forward_full(images)])
    centre_outputs([model.agent.logit], [lambda: model.agent(images)], mean=0.3, std=1.0)
    return model


def make_inputs():
    """Ninety single images and ten pairs."""
    images = smooth_images(110, 32, seed=7)
    return [(image.unsqueeze(0),) for image in images[:90]] + [(pair,) for pair in images[90:].split(2)]
