"""Time of a fit of several owners in one process beside a fit of pooled records, and what it sends; or what their noise costs.

    python benchmarks/several_owners.py [--records 30000] [--owners 3 10 30]
    python benchmarks/several_owners.py --adult [--seeds 2]

A fit of m owners costs each owner m - 1 masks a query, so all of them together grow with m squared; counting does not. The last
line extrapolates both parts: owners on machines of their own count and mask at the same time. ``--adult`` prints the ROC AUC on
a fifth of Adult's training part, with delta 1e-6 and three owners, of whom one colludes in the last column; it needs the folder
HEDGEROW_DATA.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

import hedgerow as hr
from hedgerow.engines.federated.masks import Masks
from owners_of import owners_of

CELLS = 1 << 14  # of a query for the cost of masks


def schema_of(features=8):
    return hr.Schema({f"x{i}": hr.Numeric(0, 1) for i in range(features)}, classes=["no", "yes"])


def made_up(records, features=8):
    random = np.random.default_rng(0)
    X = random.uniform(0, 1, (records, features))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] > random.uniform(0, 1.5, records), "yes", "no")


def seconds(work):
    work()  # compiles
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


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
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--owners", type=int, nargs="+", default=[3, 10, 30])
    parser.add_argument("--adult", action="store_true", help="what the noise of owners costs in accuracy")
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.adult:
        adult(asked.seeds)
        return
    schema, (X, y) = schema_of(), made_up(asked.records)
    for kind, given in ((hr.HedgerowClassifier, {"delta": 1e-6}), (hr.EDPRFClassifier, {})):

        def model(kind=kind, given=given):
            return kind(epsilon=1.0, schema=schema, random_state=0, **given)

        pooled, _ = seconds(lambda model=model: model().fit(X, y))
        print(f"{kind.__name__}: {pooled:.2f} s pooled")
        for m in asked.owners:
            with tempfile.TemporaryDirectory() as folder:
                records = owners_of(Path(folder), X, y, m)
                taken, _ = seconds(lambda records=records, model=model: model().fit(records))
                sent = records.source.traffic
                queries = sent.queries // 2
                print(
                    f"  {m:4} owners: {taken:6.2f} s, {taken / pooled:5.1f} times pooled; {queries} queries, "
                    f"{sent.down / 2 / m / 1e6:.2f} MB down and {sent.up / 2 / m / 1e6:.2f} MB up for each owner"
                )
    each = of_masks(20)
    print(f"masks: {each * 1e9:.1f} ns a cell, query and other owner")
    for m in (100, 300, 1000):
        print(
            f"  {m:4} owners, 50 queries of {CELLS} cells: {50 * CELLS * (m - 1) * each:.1f} s of masks at each owner"
        )


if __name__ == "__main__":
    main()
