"""Thousands of random programs: `python -m tests.fuzz.sweep N [--start S] [--shrink]`.

Program number i is drawn from the seed i, so that every finding can be repeated with `--start i 1`.
"""

from __future__ import annotations

import argparse
import collections
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from tests.fuzz.judge import Verdict, judge
from tests.fuzz.memory import bounded_memory, forget
from tests.fuzz.program import Generated, generate

#: Seconds of this process after which a program counts as not transpiled.
LIMIT = 40


def judged(program: Generated, folder: Path) -> Verdict:
    """`judge` with a limit of time."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {LIMIT} seconds")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        return judge(program, folder)
    except TimeoutError as error:
        return Verdict("crash", f"TimeoutError: {error}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--shrink", action="store_true", help="make each finding smaller")
    parser.add_argument("--show", action="store_true", help="print every program")
    parser.add_argument("--refused", action="store_true", help="print what is refused")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kinds: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    raised = runs = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, bounded_memory():
        folder = Path(name)
        for seed in range(options.start, options.start + options.count):
            if seed % 200 == 0:
                forget()
            program = generate(random.Random(seed))
            verdict = judged(program, folder)
            kinds[verdict.kind] += 1
            raised, runs = raised + verdict.raised, runs + len(program.inputs)
            if options.show:
                print(program.source, program.inputs)
            if verdict.kind == "refused":
                lines = verdict.detail.splitlines()
                reasons[lines[0].split("error ")[-1][:70]] += 1
                if options.refused:
                    print(f"refused {seed}: " + "\n    ".join(lines[:2]), flush=True)
            if verdict.is_bug:
                print(f"{verdict.kind} {seed}: {verdict.detail}", flush=True)
                if options.shrink:
                    from tests.fuzz.shrink import shrink

                    small, why = shrink(program, verdict, lambda p: judged(p, folder))
                    print(
                        small.source.split("\n\n", 2)[-1],
                        [str(a) for a in small.inputs],
                        "\n  ",
                        why.detail,
                        flush=True,
                    )
    print(f"{options.count} programs from seed {options.start}: {dict(kinds)}, {time.monotonic() - began:.0f} s; "
          f"Python raised on {raised} of {runs} inputs")  # fmt: skip
    for reason, n in reasons.most_common():
        print(f"  refused {n}: {reason}")
    return 1 if kinds["different"] or kinds["crash"] else 0


if __name__ == "__main__":
    sys.exit(main())
