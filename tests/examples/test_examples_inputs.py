"""The examples' inputs reach every line and both ways of every branch, far from every threshold."""

from __future__ import annotations

from pathlib import Path

import pytest

from branch_coverage import Trace, missed
from model_files import ROOT, equal, load_model_file, run_eager, same_decisions_when_jittered

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
    assert equal(file.make_inputs(), file.make_inputs())
    assert equal(dict(file.make_model().state_dict()), dict(file.make_model().state_dict()))
    assert not file.make_model().training


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_no_decision_is_near_its_threshold(path: Path) -> None:
    file = load_model_file(path)
    assert same_decisions_when_jittered(file, file.make_inputs(), size=1e-4)


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
