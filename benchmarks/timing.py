"""What every timing needs. Scripts that run in the environment of a peer import it too: NumPy only, no hedgerow."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def made_up(rows: int, features: int) -> tuple[Any, Any]:
    """Return uniform features in [0, 1) and a noisy label of two of them."""
    generator = np.random.default_rng(0)
    X = generator.random((rows, features))
    y = (X[:, 0] + 0.5 * X[:, 1] + generator.normal(0, 0.1, rows) > 0.75).astype(int)
    return X, y


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def peak_mib() -> float:
    """Return the most memory that this process has held so far."""
    # Not ru_maxrss where there is another way: in a process that was started by a larger one it begins at that one's size.
    status = Path("/proc/self/status")
    if status.exists():
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
