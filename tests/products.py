"""Parts of many cases, for quick runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

import pytest

__all__ = ["by_turns", "name_of_check", "pairwise", "thinned"]


def pairwise(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return so many cases of the product of axes that each two values of two axes meet in one."""
    cases = list(product(*axes))
    chosen, to_meet = [], {pair for case in cases for pair in _pairs(case)}
    while to_meet:
        chosen.append(max(cases, key=lambda case: len(to_meet & _pairs(case))))
        to_meet -= _pairs(chosen[-1])
    return chosen


def thinned(cases: Iterable[Any], every: int) -> list[Any]:
    """Return cases for ``parametrize``, all but the first, and each that is ``every`` places after one, marked ``full``."""
    return [_marked_full(case) if number % every else case for number, case in enumerate(cases)]


def by_turns(cases: Iterable[Any], others: Sequence[Any], mark: pytest.MarkDecorator) -> list[Any]:
    """Return the product for ``parametrize``: each case with one of the others, in turn, has the mark, and the rest is slow."""
    return [
        pytest.param(case, other, marks=mark if place == number % len(others) else pytest.mark.slow)
        for number, case in enumerate(cases)
        for place, other in enumerate(others)
    ]


def name_of_check(part: Any) -> str:
    """Return the name of a check of scikit-learn's, or of the estimator's class, the same in every process."""
    if isinstance(part, partial):
        options = ",".join(f"{name}={value}" for name, value in part.keywords.items())
        return f"{part.func.__name__}({options})" if options else part.func.__name__
    return type(part).__name__


def _marked_full(case: Any) -> Any:
    if not isinstance(case, tuple):
        return pytest.param(case, marks=pytest.mark.full)
    marked = case if hasattr(case, "marks") else pytest.param(*case)  # what pytest.param made stays as it is
    return marked._replace(marks=[*marked.marks, pytest.mark.full])


def _pairs(case: Sequence[Any]) -> set[Any]:
    return set(combinations(enumerate(case), 2))
