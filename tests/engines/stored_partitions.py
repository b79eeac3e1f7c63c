"""Encoded partitions as a worker process stores them, and a task to run on them."""

import numpy as np

from hedgerow.engines.encode import Facts, Rows
from hedgerow.mechanisms import PerRecordCoin, Randomness
from hedgerow.table import Histogram
from hedgerow.table.partitioned import Assign, Nodes, Task

COUNTS = np.array([3, 4])
SIZES = [50, 1, 0, 120]


def partitions(seed=0):
    rng = np.random.default_rng(seed)
    first = 0
    for place, size in enumerate(SIZES):
        codes = np.column_stack([rng.integers(0, most, size) for most in COUNTS]).astype(np.uint8)
        labels = rng.integers(-1, 2, size).astype(np.int16)
        yield Facts(place, first, b"%d" % place), Rows(codes, labels, b"%d" % place)
        first += size


def task(log="log", **more):
    coins = Randomness(3).coins(PerRecordCoin(2))
    commands = ((1, Assign(1, coins, None, None)),)
    of = Nodes(1, 2, None, None)
    return Task(log, COUNTS, 2, commands, 1, Histogram(of), frozenset({"part-1"}), **more)
