"""The examples' inputs reach every line and both ways of every branch, far from every threshold."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from branch_coverage import Trace, missed
from model_files import ROOT, difference, jitter, load_model_file, outcome_difference, run_eager

EXAMPLES = [ROOT / "examples" / f"{name}.py" for name in ("early_exit", "greedy_decoder", "skip_network", "nms")]
#: Only used for training, by the demo.
NOT_DEPLOYED = {"early_exit": ("all_exits",)}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_inputs_reach_everything(path: Path) -> None:
    file = load_model_file(path)
    trace = Trace(str(path))
    outcomes = trace.watch(lambda: run_eager(file))
    assert [o.raised for o in outcomes] == [None] * len(outcomes)
    hidden = undeployed_lines(path)
    assert [str(m) for m in missed(trace) if m.line not in hidden] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_inputs_and_weights_are_fixed(path: Path) -> None:
    file = load_model_file(path)
    assert difference(file.make_inputs(), file.make_inputs()) is None
    assert difference(dict(file.make_model().state_dict()), dict(file.make_model().state_dict())) is None
    assert not file.make_model().training


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_no_decision_is_near_its_threshold(path: Path) -> None:
    file = load_model_file(path)
    want = run_eager(file)
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        inputs = [jitter(args, generator, 1e-4) for args in file.make_inputs()]
        got = run_eager(file, inputs=inputs)
        for x, y in zip(want, got):
            assert outcome_difference(x, y, rtol=1e-1, atol=1e-2) is None


def undeployed_lines(path: Path) -> set[int]:
    """Lines of the methods that no entry reaches."""
    lines: set[int] = set()
    text = path.read_text().splitlines()
    for name in NOT_DEPLOYED.get(path.stem, ()):
        start = next(i for i, line in enumerate(text, 1) if line.startswith(f"    def {name}("))
        end = start + 1
        while end <= len(text) and (not text[end - 1].strip() or text[end - 1].startswith("        ")):
            end += 1
        lines.update(range(start, end))
    return lines
