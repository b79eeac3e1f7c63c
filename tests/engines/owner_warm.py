"""Imported by the process that owners' processes are made from: it compiles, or reads, what a fit needs."""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import owner_process  # noqa: F401 - for the processes
from owners import CLASSES, OUTCOME, Owners, made_up

import hedgerow as hr

warnings.simplefilter("ignore")
with TemporaryDirectory() as folder:
    for number, (kind, schema, given) in enumerate(
        (
            (hr.HedgerowClassifier, CLASSES, {"delta": 1e-6, "noise_shares": 2}),
            (hr.HedgerowClassifier, CLASSES, {}),
            (hr.HedgerowRegressor, OUTCOME, {"delta": 1e-6}),
            (hr.EDPRFClassifier, CLASSES, {"n_estimators": 2}),
        )
    ):
        owners = Owners(
            Path(folder) / f"{number}", made_up(schema, (9, 9)), colluding=0 if "noise_shares" in given else None
        )
        kind(3.0, schema=schema, random_state=0, **given).fit(owners.records())
