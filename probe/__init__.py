"""The gate and the benchmarks."""

from .probe import Verdict, gate, margin

__all__ = ["Verdict", "gate", "margin"]
