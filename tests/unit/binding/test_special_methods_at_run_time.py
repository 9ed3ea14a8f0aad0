"""Special methods of objects that live at run time: those kept in lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from like_python import assert_like_python


class Bag:
    def __init__(self, items: list[int], weight: float = 1.0) -> None:
        self.items = list(items)
        self.weight = weight

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int) -> int:
        return self.items[i]

    def __setitem__(self, i: int, value: int) -> None:
        self.items[i] = value

    def __contains__(self, x: int) -> bool:
        return x in self.items

    def __iter__(self) -> Any:
        return iter(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bag) and self.items == other.items

    def __lt__(self, other: Bag) -> bool:
        return self.weight < other.weight

    def __add__(self, other: Bag) -> Bag:
        return Bag(self.items + other.items, self.weight + other.weight)

    def __mul__(self, k: float) -> Bag:
        return Bag(self.items, self.weight * k)

    __rmul__ = __mul__

    def __neg__(self) -> Bag:
        return Bag(self.items[::-1], -self.weight)

    def __call__(self, x: int) -> int:
        return x + len(self)

    def __str__(self) -> str:
        return "bag of " + ", ".join(str(i) for i in self.items)

    def __repr__(self) -> str:
        return f"Bag({self.items}, {self.weight:.1f})"


def bags(xs: list[int]) -> list[Bag]:
    out = []
    for x in xs:
        out.append(Bag(list(range(x)), x * 0.5))
    return out


def test_as_containers() -> None:
    def f(xs: list[int]) -> Any:
        made = bags(xs)
        full = [len(b) for b in made if b]
        firsts = [b[0] for b in made if len(b) > 0]
        for b in made:
            if len(b) > 1:
                b[1] = 9
        return full, firsts, [9 in b for b in made], [sum(b) for b in made], [[i + 1 for i in b] for b in made]

    assert_like_python(f, ([3, 0, 1],), ([],))


def test_arithmetic_and_order() -> None:
    def f(xs: list[int]) -> Any:
        made = bags(xs)
        if not made:
            return None
        total = made[0]
        for b in made[1:]:
            total = total + b
        heavy = 2.0 * total
        best = max(made, key=lambda b: b.weight)
        return len(total), heavy.weight, (-total).items, made[0] < total, best == made[0], best != made[-1], best(3)

    assert_like_python(f, ([3, 0, 1],), ([],), ([2],))


def test_text() -> None:
    def f(xs: list[int]) -> Any:
        made = bags(xs)
        return [str(b) for b in made], [repr(b) for b in made], [f"{b} and {b!r}" for b in made]

    assert_like_python(f, ([3, 0, 1],), ([],))


def test_sorted_by_their_own_order() -> None:
    def f(xs: list[int]) -> Any:
        made = bags(xs)
        return [b.weight for b in sorted(made)], [b.weight for b in sorted(made, reverse=True)]

    assert_like_python(f, ([3, 0, 1],), ([],))


def test_looked_for() -> None:
    def f(xs: list[int]) -> Any:
        made = bags(xs)
        wanted = Bag([0, 1])
        return wanted in made, made.count(wanted), made.index(wanted) if wanted in made else -1

    assert_like_python(f, ([3, 2, 1],), ([],), ([2, 2],))


@dataclass(order=True)
class Candidate:
    score: float
    name: str = field(compare=False)
    tags: list[str] = field(default_factory=list, compare=False)


def test_dataclasses_compare_by_fields() -> None:
    def f(xs: list[float]) -> Any:
        found = []
        for i, x in enumerate(xs):
            found.append(Candidate(x, f"c{i}"))
        same = Candidate(1.0, "other")
        ordered = [c.name for c in sorted(found)]
        best = max(found) if found else None
        shown = [str(c) for c in found]
        name = best.name if best is not None else ""
        return same in found, found.count(same), ordered, name, shown, found == found[:]

    assert_like_python(f, ([1.0, 0.5, 2.0, 1.0],), ([],))


def test_dicts_compare_by_value() -> None:
    def f(xs: list[int]) -> Any:
        found = []
        for x in xs:
            one = {"x": x % 2, "names": [str(x % 2)]}
            if one not in found:
                found.append(one)
        return found, str(found[:1]), {"x": 1, "names": ["1"]} in found

    assert_like_python(f, ([1, 2, 3, 5],), ([],))
