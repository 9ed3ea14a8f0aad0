"""Random networks that decide differently on different images.

With plain random weights every image takes the same way. These helpers set, from a set of
images, what training would have set: the statistics of batch norms, the scale of exit
classifiers, the centre and scale of gates.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def smooth_images(count, size, seed):
    """Images (count, 3, size, size): coarse colour patches with fine texture, of varying contrast and tint."""
    g = torch.Generator().manual_seed(seed)
    coarse = F.interpolate(torch.randn(count, 3, 4, 4, generator=g), size=size, mode="bilinear", align_corners=False)
    fine = torch.randn(count, 3, size, size, generator=g) * torch.rand(count, 1, 1, 1, generator=g)
    tint = torch.randn(count, 3, 1, 1, generator=g)
    contrast = 0.3 + 1.7 * torch.rand(count, 1, 1, 1, generator=g)
    return contrast * (coarse + 0.5 * fine) + 0.7 * tint


def settle_batch_norms(model, calls):
    """Set the running statistics of every batch norm to those of the given calls' activations.

    Their shift is 1, so that most of what the ReLU behind them is given passes. Where it cuts off half of random
    features, a difference as small as rounding grows by a fifth in each layer (Yang et al., "A mean field theory of
    batch normalization", 2019), and no two compilers agree on what such a network says.
    """
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        nn.init.ones_(norm.bias)
        norm.reset_running_stats()
        norm.momentum = None  # the plain average of the calls
        norm.train()
    with torch.no_grad():
        for call in calls:
            call()
    for norm in norms:
        norm.momentum = 0.1
        norm.eval()


def centre_outputs(layers, calls, mean=0.0, std=1.0):
    """Change convolutions and linear layers so that each output channel has this mean and deviation over the calls."""
    seen = {layer: [] for layer in layers}
    hooks = [layer.register_forward_hook(lambda layer, _, out: seen[layer].append(out.detach())) for layer in layers]
    with torch.no_grad():
        for call in calls:
            call()
        for layer in layers:
            values = torch.cat(seen[layer]).transpose(0, 1).flatten(1)
            scale = std / values.std(dim=1).clamp(min=1e-3)
            layer.weight.mul_(scale.view(-1, *[1] * (layer.weight.dim() - 1)))
            layer.bias.copy_((layer.bias - values.mean(dim=1)) * scale + mean)
    for hook in hooks:
        hook.remove()


def spread_exits(classifiers, logits, threshold):
    """Scale the last layer of each exit so that about equally many images leave at each, and as many at the end.

    classifiers: the linear layers of the exits in order; logits: what each says, (images, classes).
    """
    staying = torch.arange(logits[0].size(0))
    for position, (linear, scores) in enumerate(zip(classifiers, logits)):
        leave = max(1, staying.numel() // (len(classifiers) + 1 - position))
        low, high = 1e-3, 1e3
        for _ in range(60):
            scale = (low * high) ** 0.5
            confidence = (scale * scores[staying]).softmax(dim=1).max(dim=1).values.sort(descending=True).values
            # the threshold goes half way between the last image that leaves and the first that stays
            if confidence[leave - 1 : leave + 1].mean() < threshold:
                low = scale
            else:
                high = scale
        with torch.no_grad():
            linear.weight.mul_(scale)
            linear.bias.mul_(scale)
        confidence = (scale * scores[staying]).softmax(dim=1).max(dim=1).values
        staying = staying[confidence < threshold]
