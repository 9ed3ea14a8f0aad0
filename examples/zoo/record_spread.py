"""How the hundred inputs of each network spread over its exits, skips and lengths.

python record_spread.py          writes spread.json beside this file
"""

import importlib
import json
import sys
from collections import Counter
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
SHALLOW_DEEP = [f"shallow_deep_{name}" for name in ("mobilenet", "vgg19", "resnet50", "wideresnet")]
SKIPNETS = ["skipnet_rnn", "skipnet_ff"]
CAPTIONERS = ["caption_resnext", "caption_googlenet"]
NETWORKS = [*SHALLOW_DEEP, *SKIPNETS, *CAPTIONERS, "blockdrop"]


def counted(values):
    """{"value": how often}, in order of the values."""
    return {str(value): count for value, count in sorted(Counter(values).items())}


def exits(module):
    model = module.make_model()
    results = [model.early_exit(*args) for args in module.make_inputs()]
    return {
        "left at exit": counted(int(exit_id) for _, exit_id, early in results if early),
        "ran to the end, most confident exit": counted(int(exit_id) for _, exit_id, early in results if not early),
    }


def ways(masks):
    """masks: one row per image, one column per block, 1 where it ran."""
    return {
        "images that ran each block": [int(n) for n in masks.sum(dim=0)],
        "blocks run": counted(int(n) for n in masks.sum(dim=1)),
        "different ways": len({tuple(row) for row in masks.tolist()}),
    }


def skips(module):
    model = module.make_model()
    return ways(torch.stack([torch.stack(model(*args)[1]) for args in module.make_inputs()]))


def policies(module):
    model = module.make_model()
    return ways(torch.cat([model(*args)[1] for args in module.make_inputs()]))


def lengths(module):
    inputs = module.make_inputs()
    return {
        "steps": counted(int(lengths.max()) - 1 for _, _, lengths in inputs),
        "images at once": counted(images.size(0) for images, _, _ in inputs),
    }


def spread(name):
    sys.path[:0] = [] if str(HERE) in sys.path else [str(HERE)]
    module = importlib.import_module(name)
    describe = exits if name in SHALLOW_DEEP else skips if name in SKIPNETS else lengths
    with torch.no_grad():
        return (policies if name == "blockdrop" else describe)(module)


if __name__ == "__main__":
    table = {name: spread(name) for name in NETWORKS}
    (HERE / "spread.json").write_text(json.dumps(table, indent=2) + "\n")
