"""How long a reservation takes on a SQLite file: python benchmarks/ledger.py [FOLDER]."""

import statistics
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import hedgerow as hr
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.events import Pure

STEP = Fraction(1, 1000)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as folder:
        store = hr.LedgerStore(Path(folder) / "budgets.db")
        store.create("whole", epsilon=1000)
        certificate = Certificate("benchmark", "private", STEP, Fraction(0), "add-remove", Pure(STEP, "m", "p"))
        for name, parent in (("alone", None), ("share", "whole")):
            ledger, times = store.create(name, epsilon=1000, parent=parent), []
            for _ in range(200):
                began = time.perf_counter()
                ledger.reserve(certificate)
                times.append(1000 * (time.perf_counter() - began))
            times.sort()
            print(f"{name}: median {statistics.median(times):.1f} ms, 95 of 100 within {times[189]:.1f} ms")


if __name__ == "__main__":
    main()
