"""Fits without a ledger: how often each private estimator was fitted in this process, and the total cost."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

from hedgerow.privacy.exact import decimal_text

__all__ = ["Repeats", "repeats", "uncounted"]

TOLD_AT = 3  # fits of one class

_is_counted: ContextVar[bool] = ContextVar("is_counted", default=True)


@contextmanager
def uncounted() -> Iterator[None]:
    """Leave fits on this thread uncounted: an audit fits synthetic records, or records that the auditor holds."""
    token = _is_counted.set(False)
    try:
        yield
    finally:
        _is_counted.reset(token)


class Repeats:
    """Counts the private fits of each class that have no ledger, and reports their total cost at one of them."""

    def __init__(self) -> None:
        self.told_at: float = TOLD_AT
        self._fits: dict[str, list[tuple[Fraction, Fraction]]] = {}
        self._lock = threading.RLock()

    def count(self, kind: str, epsilon: Fraction, delta: Fraction) -> str | None:
        """Count a fit with this claim. Return a warning for its user, once for each class."""
        if not _is_counted.get():
            return None
        with self._lock:
            fits = self._fits.setdefault(kind, [])
            if len(fits) >= self.told_at:
                return None
            fits.append((epsilon, delta))
            if len(fits) < self.told_at:
                return None
            total, deltas = (sum(amounts, Fraction(0)) for amounts in zip(*fits, strict=True))
        together = f"epsilon {decimal_text(total)}" + (f" and delta {decimal_text(deltas)}" if deltas else "")
        return (
            f"{kind} was fitted {len(fits)} times in this process without a ledger: on the same records these fits add up to "
            f"{together}, and every further one adds its own. ledger=hr.Ledger(epsilon=...) counts them and refuses what goes "
            "beyond; hr.PrivateSearchCV chooses parameters within one budget."
        )


repeats = Repeats()
_lock = repeats._lock
if hasattr(os, "register_at_fork"):  # a child would wait for a thread that it does not have
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
