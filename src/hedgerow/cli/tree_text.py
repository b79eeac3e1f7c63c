"""One tree of a private forest as a person reads it: a test, its branches, and what the leaves say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hedgerow.plots.tree_values import branch_text, leaf_text, tree_values

__all__ = ["branch_text", "tree_lines", "tree_values"]


def tree_lines(node: dict[str, Any], depth: int = 0) -> Iterator[str]:
    """Yield the lines of a tree in the form of ``tree_values``; what stands below a test is indented."""
    if "branches" not in node:
        yield f"{'  ' * depth}always: {leaf_text(node)}"
        return
    for branch in node["branches"]:
        below = branch["node"]
        if "branches" in below:
            yield f"{'  ' * depth}{branch['when']}"
            yield from tree_lines(below, depth + 1)
        else:
            yield f"{'  ' * depth}{branch['when']}: {leaf_text(below)}"
