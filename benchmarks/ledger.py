"""How long a reservation takes on a SQLite file, and how much work it is to read 10 000 entries.

python benchmarks/ledger.py [FOLDER]
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import hedgerow as hr
from hedgerow.ledgers.chain import Standing
from hedgerow.ledgers.store import StoredLedger, written
from hedgerow.privacy.accounting import Pure
from hedgerow.privacy.certificate import Certificate

STEP = Fraction(1, 1000)
ENTRIES = 10_000


def plan(epsilon: Fraction = STEP) -> Certificate:
    return Certificate("benchmark", "private", epsilon, Fraction(0), "add-remove", Pure(epsilon, "m", "p"))


def fill(ledger: StoredLedger, plans: list[Certificate]) -> None:
    """Book so many plans in one transaction, as ``reserve`` books each in its own."""
    with ledger.store._books(writing=True) as books:
        for number, certificate in enumerate(plans):
            head = books.head(ledger.name)
            amount = head.standing.ceiling.amount(certificate)
            after = Standing(
                head.standing.ceiling, head.standing.ceiling.check("fit", amount, head.standing.spent, "it")
            )
            values = {"reservation": f"{number}", "label": certificate.system, "certificate": written(certificate)}
            values |= {"charge": amount.to_dict(), "records_per_person": 1, "through": None}
            books.append(head, "reserved", values, after)


def timed(act: Callable[[], Any], times: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return in how many milliseconds of a clock it was done, sorted."""
    taken = []
    for _ in range(times):
        began = clock()
        act()
        taken.append(1000 * (clock() - began))
    return sorted(taken)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as folder:
        store = hr.LedgerStore(Path(folder) / "budgets.db")
        store.create("whole", epsilon=1000)
        for name, parent in (("alone", None), ("share", "whole")):
            ledger = store.create(name, epsilon=1000, parent=parent)
            times = timed(lambda ledger=ledger: ledger.reserve(plan()), 200)
            print(f"{name}: median {statistics.median(times):.1f} ms, 95 of 100 within {times[189]:.1f} ms")
        kinds = {
            "of one plan": [plan()] * ENTRIES,
            "each of a plan of its own": [plan(STEP * (1 + number) / ENTRIES) for number in range(ENTRIES)],
        }
        for what, plans in kinds.items():
            ledger = store.create(what, epsilon=1000)
            fill(ledger, plans)
            for name, act in {
                "spent": lambda ledger=ledger: ledger.spent,
                "entries": lambda ledger=ledger: ledger.entries,
                "verify": lambda ledger=ledger: ledger.store.verify(ledger.name),
            }.items():
                times = timed(act, 5, time.process_time)
                print(
                    f"{ENTRIES} entries {what}, {name}: median {statistics.median(times):.0f} ms, at most {times[-1]:.0f} ms"
                )


if __name__ == "__main__":
    main()
