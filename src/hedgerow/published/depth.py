"""The depth rule of Fletcher and Islam 2017."""

from __future__ import annotations

from hedgerow.schema import Schema

__all__ = ["random_tree_depth"]

DEEPEST = 15


def random_tree_depth(schema: Schema) -> int:
    """Return the tests on a path: half of the categorical features, and enough for half of the m numeric ones.

    Enough is the smallest depth with m ((m - 1) / m)**depth <= m / 2: then so many uniform draws with replacement are
    expected to miss at most half of them. Never more than 15. The authors' public code adds one level.
    """
    numeric = sum(schema.is_numeric)
    depth = 0
    while numeric and (1 - 1 / numeric) ** depth > 0.5:
        depth += 1
    return min(DEEPEST, depth + (len(schema.names) - numeric) // 2)
