"""Time of a fit of several owners in one process beside a fit of pooled records, and what it sends; or what their noise costs.

    python benchmarks/several_owners.py [--records 100000] [--owners 3 10 30]
    python benchmarks/several_owners.py --adult [--seeds 2]

All owners are in this process, one after another. Times are processor seconds, divided by those of the pooled fit: of all owners
and the coordinator ("one process"), and of the coordinator and the slowest owner at each message ("own machines", where owners
work at the same time; the network, and one write to a disk for each query, are not included). In a fit of m owners each draws
m - 1 masks for a query, and the coordinator adds up m replies; the last lines extrapolate both costs. ``--adult`` prints the ROC
AUC on a fifth of Adult's training part, with delta 1e-6 and three owners, of whom one colludes in the last column; it needs the
folder HEDGEROW_DATA.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

import hedgerow as hr
from hedgerow import federated
from hedgerow.engines.federated.masks import Masks
from owners_of import owners_of

RUNS = 3  # that are timed
FITS = RUNS + 1
CELLS = 1 << 14  # of a query by which the cost of masks is measured


def schema_of(features=8):
    return hr.Schema({f"x{i}": hr.Numeric(0, 1) for i in range(features)}, classes=["no", "yes"])


def made_up(records, features=8):
    random = np.random.default_rng(0)
    X = random.uniform(0, 1, (records, features))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] > random.uniform(0, 1.5, records), "yes", "no")


def seconds(work):
    """Return the least processor seconds of some runs, after one that compiles, and what that run returned."""
    work()
    runs = []
    for _ in range(RUNS):
        start = time.process_time()
        result = work()
        runs.append((time.process_time() - start, result))
    return min(runs, key=lambda run: run[0])


def of_masks(pairs):
    """Return the seconds of one owner's masks of a query for each other owner and cell."""
    masks = Masks({f"{i:05}": bytes(31) + bytes([i]) for i in range(pairs)}, "a")
    taken, _ = seconds(lambda: masks.masked(np.zeros(CELLS, dtype=np.int64), 1, b"digest"))
    return taken / pairs / CELLS


def adult(seeds):
    data = hr.datasets.load_adult()
    test, train = np.split(np.random.RandomState(0).permutation(len(data.X)), [len(data.X) // 5])
    names = list(data.schema.features)
    print("| epsilon | trusted coordinator | the same without interactions | noise of owners |\n" + "| -- " * 4 + "|")
    for epsilon in (0.3, 1.0, 4.0):
        scores = []
        for given in ({}, {"interaction_cst": "no_interactions"}, {"noise_shares": 2}):
            for seed in range(seeds):
                model = hr.HedgerowClassifier(epsilon, schema=data.schema, delta=1e-6, random_state=seed, **given)
                with tempfile.TemporaryDirectory() as folder:
                    colluding = 1 if "noise_shares" in given else None
                    model.fit(owners_of(Path(folder), data.X[train], data.y[train], 3, colluding, names))
                place = list(model.classes_).index(data.schema.classes[1])
                truth = data.y[test] == data.schema.classes[1]
                scores.append(roc_auc_score(truth, model.predict_proba(data.X[test])[:, place]))
        means = np.mean(np.reshape(scores, (3, seeds)), axis=1)
        print(f"| {epsilon:g} | {means[0]:.3f} | {means[1]:.3f} | {means[2]:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--owners", type=int, nargs="+", default=[3, 10, 30])
    parser.add_argument("--adult", action="store_true", help="what the noise of owners costs in accuracy")
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.adult:
        adult(asked.seeds)
        return
    X, y = made_up(asked.records)
    print("| system | owners | one process | own machines | queries | MB down | MB up |\n" + "| -- " * 7 + "|")
    for kind, given in ((hr.HedgerowClassifier, {"delta": 1e-6}), (hr.EDPRFClassifier, {})):
        compare(kind, given, X, y, asked.owners)


def compare(kind, given, X, y, counts):
    """Print a row for each number of owners, in processor seconds beside those of a pooled fit."""

    def model():
        return kind(epsilon=1.0, schema=schema_of(), random_state=0, **given)

    pooled, _ = seconds(lambda: model().fit(X, y))
    coordinator = []  # its seconds for each number of owners
    print(f"| {kind.__name__} | pooled | {pooled:.2f} s | | | | |", flush=True)
    for m in counts:
        with tempfile.TemporaryDirectory() as folder:
            records = owners_of(Path(folder), X, y, m)
            timed = Timed(records.source.transport.owners)
            object.__setattr__(records.source, "transport", timed)

            def fit(records=records, timed=timed):
                timed.taken = timed.slowest = 0.0
                model().fit(records)
                return timed.taken, timed.slowest

            (taken, (of_owners, slowest)), sent = seconds(fit), records.source.traffic  # of all runs
            coordinator.append(taken - of_owners)
            apart = coordinator[-1] + slowest
            print(
                f"| {kind.__name__} | {m} | {taken / pooled:.1f} | {apart / pooled:.1f} | {sent.queries // FITS} "
                f"| {sent.down / FITS / m / 1e6:.2f} | {sent.up / FITS / m / 1e6:.2f} |",
                flush=True,
            )
    cells, each = sent.up / FITS / m / 8, of_masks(20)
    print(f"  masks take an owner {each * 1e9:.1f} ns for each cell of a query and each other owner")
    reply = (coordinator[-1] - coordinator[0]) / max(counts[-1] - counts[0], 1)
    for m in (100, 300, 1000):
        masks, added = cells * (m - 1) * each, coordinator[0] + (m - counts[0]) * reply
        print(
            f"  {m} owners: {masks:.1f} s of masks at each and {added:.1f} s at the coordinator, {(masks + added) / pooled:.1f} "
            f"times the pooled fit; the coordinator gets {cells * m * 8 / 1e9:.2f} GB",
            flush=True,
        )


class Timed(federated.InProcess):
    """Owners one after another, with the time of all of them, and of the slowest at each message."""

    taken = slowest = 0.0

    def send(self, messages, timeout):
        times, replies = [], {}
        for name, message in messages.items():
            start = time.process_time()
            replies |= super().send({name: message}, timeout)
            times.append(time.process_time() - start)
        self.taken, self.slowest = self.taken + sum(times), self.slowest + max(times)
        return replies


if __name__ == "__main__":
    main()
