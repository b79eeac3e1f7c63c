"""Measuring what a claimed epsilon is worth, by running the shipped code."""

from hedgerow.audit.exact import Replay, exact_law, worst_loss

__all__ = ["Replay", "exact_law", "worst_loss"]
