"""Makes a program that shows a fault smaller, keeping the kind of the fault."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from tests.fuzz.judge import Verdict
from tests.fuzz.program import Generated

Judge = Callable[[Generated], Verdict]
#: Candidates tried at most.
MAX_TRIES = 250


def shrink(program: Generated, verdict: Verdict, judge: Judge) -> tuple[Generated, Verdict]:
    """The smallest program found that fails alike, and its verdict."""
    tries = 0
    improved = True
    while improved and tries < MAX_TRIES:
        improved = False
        for candidate in _candidates(program):
            tries += 1
            if tries >= MAX_TRIES:
                break
            if len(candidate.source) + 40 * len(candidate.inputs) >= len(program.source) + 40 * len(program.inputs):
                continue
            try:
                found = judge(candidate)
            except Exception:  # not a program any more
                continue
            if _alike(found, verdict):
                program, verdict, improved = candidate, found, True
                break
    return program, verdict


def _alike(a: Verdict, b: Verdict) -> bool:
    return a.kind == b.kind and _signature(a) == _signature(b)


def _signature(v: Verdict) -> str:
    """What a fault is known by: the exception and its place, or the way in which results differ."""
    if v.kind == "crash":
        return v.detail.split(":")[0] + v.detail.split(" > ")[-1]
    if v.kind == "refused":
        return v.detail.split("error ")[-1][:7]
    exceptions = re.findall(r"(\w+Error)", v.detail)
    return " ".join(exceptions[:2]) if exceptions else re.sub(r"\d+", "", v.detail)[:30] if "passes" in v.detail else ""


def _candidates(program: Generated) -> Iterator[Generated]:
    for i in range(len(program.inputs)):
        if len(program.inputs) > 1:
            yield Generated(program.source, program.inputs[:i] + program.inputs[i + 1 :], program.is_module)
    count = sum(1 for _ in ast.walk(ast.parse(program.source)))
    for n in range(count):
        for source in _changed(program.source, n):
            yield Generated(source, program.inputs, program.is_module)


def _changed(source: str, n: int) -> Iterator[str]:
    """The source with its n-th node dropped, or replaced by a part of it."""
    for variant in range(8):
        tree = ast.parse(source)
        parents = {id(c): p for p in ast.walk(tree) for c in ast.iter_child_nodes(p)}
        node = list(ast.walk(tree))[n]
        changed = _change(node, parents.get(id(node)), variant)
        if changed is None:
            return
        if changed:
            yield "import math\n\nimport torch\nfrom torch import nn\n\n\n" + _text(tree)


def _text(tree: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(tree))
    return text.split("from torch import nn", 1)[-1].lstrip("\n") + "\n"


def _change(node: ast.AST, parent: ast.AST | None, variant: int) -> bool | None:
    """Applies a change in place: whether it did, None when there are no more variants."""
    if parent is None or isinstance(node, ast.Import | ast.ImportFrom):
        return None
    if isinstance(node, ast.stmt):
        new: list[list[ast.stmt]] = [[]]
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and not isinstance(node, ast.FunctionDef | ast.ClassDef):
                new.append(body)
        if variant >= len(new):
            return None
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and node in block:
                at = block.index(node)
                block[at : at + 1] = new[variant]
                if not block and name == "body":
                    block.append(ast.Pass())
                return not (isinstance(node, ast.Pass) and not new[variant])
        return False
    if isinstance(node, ast.expr) and not isinstance(node, ast.Name | ast.Constant):
        parts = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
        simple: list[ast.expr] = [ast.Constant(1), ast.Constant(0.5), ast.Constant(True)]
        options = parts + simple
        if variant >= len(options):
            return None
        return _replace(parent, node, options[variant])
    return None


def _replace(parent: ast.AST, old: ast.expr, new: ast.expr) -> bool:
    if isinstance(getattr(old, "ctx", None), ast.Store):
        return False
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
            return True
        if isinstance(value, list) and old in value:
            value[value.index(old)] = new
            return True
    return False
