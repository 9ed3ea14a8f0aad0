"""Ways that the inputs of a model do not take in Python either: (line, way) by model."""

from __future__ import annotations

UNTAKEN: dict[str, list[tuple[int, str]]] = {
    # Pruning is asked for only where it prunes something.
    "023_adaptive_matcher": [(62, "false")],
    # No step is exact.
    "027_neural_ode_adaptive": [(53, "true")],
    # Every window has a time token, so that `stamps and ...` never ends at its first operand.
    "045_windowed_transcriber": [(103, "false")],
    # Every input gets a model of its own, so none finds the inverse that another one left.
    "053_coupling_flow_both_ways": [(17, "false")],
}
