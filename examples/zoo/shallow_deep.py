"""What the four shallow-deep networks share (Kaya, Hong, Dumitras: Shallow-Deep Networks, ICML 2019)."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from calibration import settle_batch_norms, smooth_images, spread_exits


class InternalClassifier(nn.Module):
    """An exit: pools the map down to 4x4 by a learned mix of max and average, then one linear layer."""

    def __init__(self, input_size, channels, num_classes):
        super().__init__()
        window = input_size // 4 if input_size > 4 else 0
        if window:
            self.max_pool = nn.MaxPool2d(kernel_size=window)
            self.avg_pool = nn.AvgPool2d(kernel_size=window)
            self.alpha = nn.Parameter(torch.rand(1))
            self.linear = nn.Linear(channels * 4 * 4, num_classes)
            self.forward = self.forward_with_pooling
        else:
            self.linear = nn.Linear(channels * input_size * input_size, num_classes)
            self.forward = self.forward_without_pooling

    def forward_with_pooling(self, x):
        mixed = self.alpha * self.max_pool(x) + (1 - self.alpha) * self.avg_pool(x)
        return self.linear(mixed.view(mixed.size(0), -1))

    def forward_without_pooling(self, x):
        return self.linear(x.view(x.size(0), -1))


class BlockWithOutput(nn.Module):
    """A piece of the backbone; whether it has an exit is decided per instance."""

    def __init__(self, body, exit_at=None, num_classes=10):
        super().__init__()
        self.body = body
        if exit_at is not None:
            self.output = InternalClassifier(*exit_at, num_classes)
            self.no_output = False
            self.forward = self.forward_with_output
        else:
            self.output = nn.Sequential()
            self.no_output = True
            self.forward = self.only_forward

    def forward_with_output(self, x):
        fwd = self.body(x)
        return fwd, 1, self.output(fwd)

    def only_output(self, x):
        return self.output(self.body(x))

    def only_forward(self, x):
        fwd = self.body(x)
        return fwd, 0, None


class ShallowDeepNet(nn.Module):
    def __init__(self, init_conv, layers, end_layers, confidence_threshold=0.8):
        super().__init__()
        self.confidence_threshold = confidence_threshold
        self.num_output = sum(1 for layer in layers if not layer.no_output) + 1
        self.init_conv = init_conv
        self.layers = nn.ModuleList(layers)
        self.end_layers = end_layers

    def forward(self, x):
        outputs = []
        fwd = self.init_conv(x)
        for layer in self.layers:
            fwd, is_output, output = layer(fwd)
            if is_output:
                outputs.append(output)
        outputs.append(self.end_layers(fwd))
        return outputs

    # takes one image at a time
    def early_exit(self, x):
        confidences = []
        outputs = []
        output_id = 0
        fwd = self.init_conv(x)
        for layer in self.layers:
            fwd, is_output, output = layer(fwd)
            if is_output:
                outputs.append(output)
                softmax = F.softmax(output[0], dim=0)
                confidence = torch.max(softmax)
                confidences.append(confidence)
                if confidence >= self.confidence_threshold:
                    is_early = True
                    return output, output_id, is_early
                output_id += is_output
        output = self.end_layers(fwd)
        outputs.append(output)
        confidence = torch.max(F.softmax(output[0], dim=0))
        confidences.append(confidence)
        max_confidence_output = np.argmax(confidences)
        is_early = False
        return outputs[max_confidence_output], max_confidence_output, is_early


def calibrated(model, last_linear, seed, end=4.0):
    """The model in eval mode, its exits scaled so that a hundred images spread over all of them."""
    images = smooth_images(100, 32, seed)
    settle_batch_norms(model.eval(), [lambda: model(images)])
    with torch.no_grad():
        logits = model(images)
        spread_exits([layer.output.linear for layer in model.layers if not layer.no_output], logits, 0.8)
        # `end`: its confidence falls among those of the exits, so that it is not always the largest
        last_linear.weight.mul_(end / logits[-1].std())
        last_linear.bias.mul_(end / logits[-1].std())
    return model


def hundred_images(seed):
    return [(image.unsqueeze(0),) for image in smooth_images(100, 32, seed)]
