"""Throughput of the exact samplers and the counting kernels.

python benchmarks/kernels.py [--repeats 5]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from hedgerow.mechanisms import Exponential, Geometric, PermuteAndFlip, PerRecordCoin, Randomness, RoundedNormal
from hedgerow.scores import Gini, multiway
from hedgerow.table import MemoryTable


def report(name: str, work: Callable[[], object], repeats: int) -> None:
    work()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    print(f"| {name} | {1000 * statistics.median(seconds):.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    source, generator = Randomness(), np.random.default_rng(0)
    zeros = np.zeros(1_000_000, dtype=np.int64)
    scores = generator.integers(0, 4000, (1000, 100))
    offered = np.ones((1000, 100), dtype=bool)
    n_codes = np.full(20, 6)
    codes = generator.integers(0, 5, (1_000_000, 20)).astype(np.uint8)
    table = MemoryTable(codes, generator.integers(0, 2, 1_000_000).astype(np.int16), n_codes, 2)
    roots = table.assign(Randomness(0).coins(PerRecordCoin(35)))
    candidates = multiway(n_codes)
    out = np.empty((35, 20), dtype=np.int64)
    histogram = table.histogram(roots)
    chosen = np.arange(35) % 20

    print("| work | median, ms |")
    print("| -- | -- |")
    report("1 000 000 geometric draws, epsilon 1", lambda: source.draw(Geometric(Fraction(1)), zeros), repeats)
    report("1 000 000 geometric draws, epsilon 1/10", lambda: source.draw(Geometric(Fraction(1, 10)), zeros), repeats)
    report("1 000 000 rounded normals, mu 1/4", lambda: source.draw(RoundedNormal(Fraction(1, 16)), zeros), repeats)
    permute = PermuteAndFlip(Fraction(1), 2048)
    report("permute-and-flip, 1000 nodes x 100 candidates", lambda: source.draw(permute, scores, offered), repeats)
    exponential = Exponential(Fraction(1), 2048)
    report("exponential mechanism, the same", lambda: source.draw(exponential, scores, offered), repeats)
    report("histogram, 1 000 000 x 20 in 35 nodes, one thread", lambda: table.histogram(roots), repeats)
    report("Gini, 35 nodes x 20 tests", lambda: Gini().score(histogram, candidates, out), repeats)
    report("partition, 1 000 000 x 20 from 35 nodes", lambda: table.partition(roots, candidates, chosen), repeats)


if __name__ == "__main__":
    main()
