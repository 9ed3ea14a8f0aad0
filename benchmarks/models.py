"""What is measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

ROOT = Path(__file__).resolve().parents[1]


@final
@dataclass(frozen=True, slots=True)
class Model:
    """One model file."""

    group: str
    #: What the chart calls it.
    title: str
    path: Path

    @property
    def name(self) -> str:
        """The file's name, by which it is asked for."""
        return self.path.stem


_ZOO = {
    "shallow_deep_mobilenet": "Shallow-deep MobileNet",
    "shallow_deep_vgg19": "Shallow-deep VGG19",
    "shallow_deep_resnet50": "Shallow-deep ResNet50",
    "shallow_deep_wideresnet": "Shallow-deep WideResNet",
    "skipnet_rnn": "SkipNet, RNN gates",
    "skipnet_ff": "SkipNet, FC gates",
    "caption_resnext": "ResNeXt captioner",
    "caption_googlenet": "GoogLeNet captioner",
    "blockdrop": "BlockDrop",
}
_EXAMPLES = {
    "early_exit": "Early exit",
    "greedy_decoder": "Greedy decoder",
    "nms": "Non-maximum suppression",
    "skip_network": "Skip network",
}
_CORPUS = {
    "001_early_exit_vit": "Early-exit ViT",
    "003_skipnet_gates": "Gated blocks",
    "008_greedy_translate": "Translation, greedy",
    "011_transducer_greedy": "Transducer, greedy",
    "012_ctc_greedy_collapse": "CTC collapse",
    "019_detector_zero_boxes": "Detector",
    "023_adaptive_matcher": "Adaptive matcher",
    "025_iterative_disparity": "Iterative disparity",
    "027_neural_ode_adaptive": "Neural ODE",
    "050_predicted_depth": "Predicted depth",
}


def models() -> list[Model]:
    """All, in the order of the chart."""
    groups = (
        ("DyCL's networks", ROOT / "examples/zoo", _ZOO),
        ("Examples", ROOT / "examples", _EXAMPLES),
        ("Corpus", ROOT / "tests/corpus/models", _CORPUS),
    )
    return [Model(g, title, folder / f"{name}.py") for g, folder, names in groups for name, title in names.items()]
