"""Memory that programs without libtorch take ahead: sizes.py (the largest inputs) -> plan.py (measured on them)."""
