"""A convolutional network that answers early when it is sure (BranchyNet, shallow-deep networks).

Written for 8x8 grey images such as scikit-learn's digits. After each block a small head
guesses; when every image of the batch is above the confidence threshold, the rest of the
network is not run. `demo_digits.py` trains it; `make_model` below gives random weights whose
heads are scaled so that the inputs leave at different depths.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBlock(nn.Module):
    def __init__(self, in_channels, out_channels, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.shortcut = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Conv2d(in_channels, out_channels, 1, stride=stride, bias=False)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class ExitHead(nn.Module):
    def __init__(self, channels, num_classes):
        super().__init__()
        self.fc = nn.Linear(2 * channels, num_classes)

    def forward(self, x):
        mean = F.adaptive_avg_pool2d(x, 1).flatten(1)
        peak = F.adaptive_max_pool2d(x, 1).flatten(1)
        return self.fc(torch.cat([mean, peak], dim=1))


class EarlyExitNet(nn.Module):
    def __init__(self, num_classes=10, widths=(8, 16, 32, 64), threshold=0.9):
        super().__init__()
        self.threshold = threshold
        self.stem = nn.Conv2d(1, widths[0], 3, padding=1)
        self.blocks = nn.ModuleList()
        self.heads = nn.ModuleList()
        channels = widths[0]
        for i, width in enumerate(widths):
            self.blocks.append(ConvBlock(channels, width, stride=1 if i % 2 == 0 else 2))
            self.heads.append(ExitHead(width, num_classes))
            channels = width

    def forward(self, images):
        x = F.relu(self.stem(images))
        for depth, (block, head) in enumerate(zip(self.blocks, self.heads)):
            x = block(x)
            logits = head(x)
            if depth < len(self.blocks) - 1:
                confidence = F.softmax(logits, dim=1).max(dim=1).values
                if confidence.min().item() >= self.threshold:
                    return logits, depth
        return logits, len(self.blocks) - 1

    def all_exits(self, images):
        """The logits of every head, for training."""
        x = F.relu(self.stem(images))
        outputs = []
        for block, head in zip(self.blocks, self.heads):
            x = block(x)
            outputs.append(head(x))
        return outputs


def make_model():
    torch.manual_seed(0)
    model = EarlyExitNet()
    with torch.no_grad():
        for head, scale in zip(model.heads, (50.0, 120.0, 80.0, 1.0)):
            head.fc.weight.mul_(scale)
    return model.eval()


def make_inputs():
    inputs = []
    for seed, batch in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 3), (7, 16)]:
        g = torch.Generator().manual_seed(seed)
        contrast = 0.2 + 2.5 * torch.rand(1, generator=g)
        inputs.append((contrast * torch.rand(batch, 1, 8, 8, generator=g),))
    return inputs
