"""Owners in one process, with equal parts of made-up records."""

import numpy as np

import hedgerow as hr
from hedgerow import federated


def owners_of(folder, X, y, m, colluding=None, names=None):
    """Return the records of m owners, which have folders below ``folder``."""
    names = names or [f"x{i}" for i in range(X.shape[1])]
    parts = [np.arange(len(X))[len(X) * i // m : len(X) * (i + 1) // m] for i in range(m)]
    frames = [{**{name: X[part, j] for j, name in enumerate(names)}, "y": y[part]} for part in parts]
    owners = [f"owner {i:04}" for i in range(m)]
    parties = [
        federated.Party(name, federated.Identity(folder / name).public, len(part))
        for name, part in zip(owners, parts, strict=True)
    ]
    made = {
        name: federated.Owner(
            hr.Records.from_batches(lambda frame=frame: [frame], label="y"),
            name,
            folder / name,
            parties,
            hr.Ledger(1000, delta=1e-4),
            colluding="trusted" if colluding is None else colluding,
            seeded=True,
        )
        for name, frame in zip(owners, frames, strict=True)
    }
    return federated.records(federated.InProcess(made), parties, label="y", colluding=colluding)
