"""The seeds of all tests, moved together: ``HEDGEROW_SEED_SHIFT=1 pytest`` runs the suite with others, ``make test-seeds`` a few.

A test of a sample has a stated alpha, the probability with which a right library fails it over all seeds (``FITS`` where it says
nothing else), and any other test passes with every seed. A test of this seed's very outcome is marked ``pinned``.

Fits without a seed take keys of the test's name, so that a run can be repeated; in tests marked ``entropy`` and in processes that
tests start they take them from the operating system.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from hedgerow.mechanisms import randomness

__all__ = ["FITS", "move_seeds", "moved_key", "name_keys", "pin"]

FITS = 1e-6
"""A law fits where its p-value is above this: the alpha of every test of a sample, over all seeds.

A wrong law must be as surely below it, so it is so wrong, or the sample so large, that one seed in a million misses it.
"""

SHIFT = int(os.environ.get("HEDGEROW_SEED_SHIFT", "0"))
STEP = 1_000_003  # further than the seeds of any test are apart

_pinned = False
_fresh_key = randomness._fresh_key  # the library's own


def pin(pinned: bool) -> None:
    """Leave the seeds as they are from now on, or move them again."""
    global _pinned
    _pinned = pinned


def move_seeds() -> None:
    """Move the seeds of numpy's generators and of fits."""
    if SHIFT:
        np.random.default_rng = _of_seeds(np.random.default_rng)
        randomness._seeded_key = _of_seeds(randomness._seeded_key)


def name_keys(test: str | None) -> None:
    """Let fits without a seed take keys of this name from now on, or those that the library takes by itself."""
    number, process, moved = count(), os.getpid(), 0 if _pinned else SHIFT

    def key() -> bytes:
        if os.getpid() != process:
            return _fresh_key()
        return hashlib.sha256(f"{test} {moved} {next(number)}".encode()).digest()

    randomness._fresh_key = _fresh_key if test is None else key


def moved_key(key: bytes) -> bytes:
    """Return the 32-byte key of streams that a test opens by itself."""
    return bytes(a ^ b for a, b in zip(key, (STEP * SHIFT).to_bytes(32, "little"), strict=True))


def _of_seeds(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(seed: Any = None) -> Any:
        is_seed = isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0
        return make(int(seed) + STEP * SHIFT if is_seed and not _pinned else seed)

    return made
