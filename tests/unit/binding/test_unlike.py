"""Containers of values of unlike types: unions, and dicts of one form made at several places."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from typing import Any, NamedTuple

import torch

from like_python import assert_like_python
from torch2cpp.binding.entry import bind
from torch2cpp.hostir.interpret import Interpreter
from torch2cpp.hostir.verify import verify
from torch2cpp.passes.order import run_passes


def test_ints_and_floats_in_one_list() -> None:
    def f(x: list[float]) -> Any:
        best = [0] * (len(x) + 1)
        for i, v in enumerate(x):
            best[i + 1] = max(best[i], v)
        return best, sum(best), best[-1] + 1, str(best), best.index(0), best.count(0), 2.5 in best, min(best)

    assert_like_python(f, ([],), ([1.5, -1.0],), ([-2.0, 2.5],))


def test_distances_that_start_as_an_int() -> None:
    def f(weights: list[float], n: int) -> Any:
        distance = {0: 0}
        queue = [(0, 0)]
        while queue:
            d, node = heapq.heappop(queue)
            if node + 1 < n and d + weights[node] < distance.get(node + 1, float("inf")):
                distance[node + 1] = d + weights[node]
                heapq.heappush(queue, (distance[node + 1], node + 1))
        return distance, list(distance.values())

    assert_like_python(f, ([1.5, 2.0, 0.5], 4), ([1.5], 1))


def test_tensors_and_strings_in_one_list() -> None:
    def f(x: torch.Tensor) -> Any:
        out = []
        for i in range(x.shape[0]):
            out.append(x[i])
            if x[i].sum() > 1:
                out.append("large")
        tensors = [o for o in out if isinstance(o, torch.Tensor)]
        return out, len(tensors), [o if isinstance(o, str) else "tensor" for o in out]

    assert_like_python(f, (torch.ones(2, 3),), (torch.zeros(1, 3),), (torch.zeros(0, 3),))


def test_tensors_of_unlike_rank_in_one_list() -> None:
    def f(x: torch.Tensor, n: int) -> Any:
        out = [x]
        for i in range(n):
            out.append(x[i] if i % 2 else x + i)
        return out, [o.dim() for o in out], sum(o.sum().item() for o in out)

    assert_like_python(f, (torch.ones(3, 2), 3), (torch.ones(1, 2), 0))


def test_dicts_of_one_form_made_at_two_places() -> None:
    def f(x: list[float]) -> Any:
        found = []
        for i, v in enumerate(x):
            if v > 0:
                found.append({"id": i, "score": v, "note": None, "seen": []})
            else:
                found.append({"id": -i, "score": 0.0, "note": "low", "seen": [i]})
                found[-1]["seen"].append(7)
        best = max(found, key=lambda d: d["score"]) if found else None
        return found, [d["note"] for d in found], best

    assert_like_python(f, ([1.0, -1.0, 2.0],), ([],), ([-1.0],))


def test_dicts_of_unlike_form() -> None:
    def f(x: list[float]) -> Any:
        found = []
        for v in x:
            if v > 0:
                found.append({"score": v, "label": "up"})
            else:
                found.append({"score": v, "cause": 3})
        return found, [d["score"] for d in found], [d.get("label", "none") for d in found]

    assert_like_python(f, ([1.0, -1.0, 2.0],), ([],), ([-1.0],))


class Tracker:
    def __init__(self, n: int) -> None:
        self.best = 0
        self.history = []
        self.names = {}
        self.last = None
        self.n = n

    def see(self, v: float) -> None:
        if v > self.best:
            self.best = v
        self.history.append(v * 2)
        self.names.setdefault(f"n{self.n}", []).append(v)
        self.last = [v]
        if len(self.history) > 2:
            self.history = []


def test_fields_that_start_empty_or_as_an_int() -> None:
    def f(xs: list[float]) -> Any:
        trackers = []
        for i in range(len(xs)):
            trackers.append(Tracker(i))
            for t in trackers:
                t.see(xs[i])
        return [(t.best, t.history, t.names, t.last) for t in trackers]

    assert_like_python(f, ([1.0, 2.0, 3.0, -1.0],), ([],))


def test_values_of_unlike_types_under_run_time_keys() -> None:
    def f(names: list[str], x: torch.Tensor) -> Any:
        table = {}
        for i, n in enumerate(names):
            if i % 2:
                table[n] = x * i
            else:
                table[n] = i
        return table, {k: (v if isinstance(v, int) else v.sum().item()) for k, v in table.items()}

    assert_like_python(f, (["a", "b", "c"], torch.ones(2)), ([], torch.ones(2)))


def test_sorting_ints_among_floats() -> None:
    def f(xs: list[float]) -> Any:
        values = [3, 1]
        for x in xs:
            values.append(x)
        pairs = [(v, i) for i, v in enumerate(values)]
        pairs.sort(reverse=True)
        return sorted(values), max(values), pairs, sorted(range(len(values)), key=lambda i: (values[i], i))

    assert_like_python(f, ([1.5, 1.0],), ([],), ([0.5],))


def test_none_repeated_and_then_replaced() -> None:
    def f(n: int, x: torch.Tensor) -> Any:
        slots = [None] * n
        grid = [[0] * n for _ in range(n)]
        for i in range(0, n, 2):
            slots[i] = x * i
            grid[i][0] = 0.5
        return slots, [s is None for s in slots], grid, slots[1:], slots + slots

    assert_like_python(f, (3, torch.ones(2)), (0, torch.ones(2)), (1, torch.ones(2)))


class Peak(NamedTuple):
    at: int
    value: float
    note: str | None = None

    @property
    def doubled(self) -> float:
        return self.value * 2

    def later(self, n: int) -> Peak:
        return self._replace(at=self.at + n)


def test_named_tuples_out_of_lists() -> None:
    def f(xs: list[float]) -> Any:
        peaks = []
        for i, x in enumerate(xs):
            if x > 0:
                peaks.append(Peak(i, x))
        best = max(peaks, key=lambda p: p.value) if peaks else Peak(0, 0.0, "none")
        return peaks, best, best.doubled, best.later(3), [p.doubled for p in peaks]

    assert_like_python(f, ([1.0, -2.0, 3.0],), ([],))


def test_items_of_what_may_be_none() -> None:
    def f(xs: list[float]) -> Any:
        done, current = [], None
        for i, x in enumerate(xs):
            if x > 0 and current is None:
                current = {"start": i, "end": i, "total": 0.0}
            if x <= 0 and current is not None:
                done.append(current)
                current = None
            elif current is not None:
                current["end"] = i
                current["total"] += x
        return done, current

    assert_like_python(f, ([1.0, 2.0, -2.0, 3.0],), ([],), ([-1.0],), ([1.0, -1.0],))


def test_distinct_items_in_order() -> None:
    def f(xs: list[int]) -> Any:
        distinct = list(dict.fromkeys(xs))
        counts = dict.fromkeys(distinct, 0)
        for x in xs:
            counts[x] += 1
        return distinct, counts, list(OrderedDict.fromkeys([3, 1, 3])), dict.fromkeys("ab", 2)

    assert_like_python(f, ([3, 1, 3, 2],), ([],))


def _entry(kind: str, value: Any, more: bool) -> dict[str, Any]:
    names = ["kind", "value", "extra"] if more else ["kind", "value"]
    values = [kind, value, 1]
    return {n: v for n, v in zip(names, values)}


def test_one_display_reached_by_several_calls() -> None:
    def f(xs: list[float]) -> Any:
        found = []
        for x in xs:
            found.append(_entry("small", None, False))
            found.append(_entry("large", x, False))
            found.append(_entry("more", x, True))
        return found, [e["value"] for e in found], [e.get("extra", 0) for e in found]

    assert_like_python(f, ([1.5, 2.0],), ([],))


def test_input_dicts_put_into_lists() -> None:
    def f(first: dict[str, Any], second: dict[str, Any], n: int) -> Any:
        chosen = []
        for i in range(n):
            chosen.append(first if i % 2 else second)
        return chosen, [c["x"].sum() for c in chosen]

    a, b = {"x": torch.ones(2), "n": 1}, {"x": torch.zeros(2), "n": 2}
    assert_like_python(f, (a, b, 3), (a, b, 0))


SHORT, LONG = [1], [2, 3, 4]


def test_one_of_several_lists_of_the_model() -> None:
    def f(n: int) -> Any:
        xs = SHORT if n > 2 else LONG
        named = {"a": SHORT, "b": LONG}["a" if n > 3 else "b"]
        return xs, xs[n % len(xs)], [x + 1 for x in xs], len(named), sum(named)

    assert_like_python(f, (1,), (3,), (5,))


class Buckets(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.low, self.high = [], [1.0]
        self.by_name = {"a": [1], "b": [2, 3]}

    def forward(self, x: float, name: str) -> Any:
        bucket = self.low if x < 0 else self.high
        bucket.append(x)
        self.by_name[name].append(7)
        return list(self.low), list(self.high), len(bucket), list(self.by_name["a"])


def test_one_of_several_lists_of_the_model_is_changed() -> None:
    inputs = [(1.5, "a"), (-1.0, "b"), (2.0, "a")]
    program = bind(Buckets(), inputs)
    verify(program)
    model, interpreter = Buckets(), Interpreter(run_passes(program))
    assert [interpreter.run("forward", args) for args in inputs] == [model(*args) for args in inputs]


def test_dicts_of_one_form_in_one_variable() -> None:
    def f(edges: dict[str, torch.Tensor], most: int | None) -> Any:
        table = {"n": 0}
        if most is not None:
            limited = {}
            for name, e in edges.items():
                limited[name] = e[:most]
            edges = limited
            table = {"n": most}
        return {k: v.sum() for k, v in edges.items()}, sorted(edges), table["n"], edges

    case = {"a": torch.arange(3), "b": torch.arange(5)}
    assert_like_python(f, (case, None), (case, 2))


def test_walking_one_of_several_kinds() -> None:
    def f(xs: list[int], names: dict[str, int], kind: int) -> Any:
        source = xs if kind == 0 else names if kind == 1 else "text"
        out = []
        for x in source:
            if x == 3:
                break
            out.append(str(x))
        else:
            out.append("end")
        return out

    assert_like_python(f, ([1, 3, 4], {"p": 1}, 0), ([1], {"p": 1}, 1), ([5], {"p": 1}, 2), ([], {"p": 1}, 0))


EDGES = [{0: 1, 2: 3}, {1: 2}, {}, {5: 0}]
NAMED = [{"a": 1}, {"b": 2, "c": 0}, {}]


def test_tables_of_the_model_in_a_list() -> None:
    def f(n: int, name: str) -> Any:
        out = []
        at = n
        for _ in range(3):
            for key, child in EDGES[at].items():
                out.append(key * 10 + child)
            at = EDGES[at].get(n, 0)
        return out, NAMED[n % 3].get(name, -1), name in NAMED[n % 3], sorted(NAMED[n % 3])

    assert_like_python(f, (0, "a"), (1, "b"), (3, "c"), (2, "a"))


def _stats(xs: list[float]) -> dict[str, Any]:
    if len(xs) > 2:
        return {"n": len(xs), "trace": xs, "bad": True}
    return {"n": 0, "trace": xs}


def test_dicts_of_several_forms_spread() -> None:
    def f(xs: list[float]) -> Any:
        more = _stats(xs)
        out = {**more, "seen": True}
        return out["n"], out["seen"], more.get("bad", False), "bad" in more

    assert_like_python(f, ([1.0, 2.0, 3.0],), ([],))
