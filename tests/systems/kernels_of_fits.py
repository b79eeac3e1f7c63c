"""Write which kernels the fits of so many records run, and for which kinds of arrays, as ``FOLDER/RECORDS.json``.

``kernels_of_fits.py FOLDER RECORDS...``: each number of records has a process of its own, forked before any kernel ran.
"""

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher

import hedgerow as hr

KINDS = ("HedgerowClassifier", "HedgerowRegressor", "ForestClassifier", "EDPRFClassifier")


def kernels():
    """Return the kinds of arrays of every kernel so far, by its name."""
    modules = [(name, module) for name, module in sys.modules.items() if name.startswith("hedgerow.")]
    return {
        f"{name}.{kernel.__name__}": sorted(map(str, kernel.signatures))
        for name, module in modules
        for kernel in vars(module).values()
        if isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == name and kernel.signatures
    }


def main(rows, folder):
    generator = np.random.default_rng(0)
    X = {name: generator.random(rows) for name in "abc"} | {"k": generator.integers(0, 4, rows)}
    y = (X["a"] > 0.5).astype(int)
    features = {name: hr.Numeric(0, 1) for name in "abc"} | {"k": hr.Categorical([0, 1, 2, 3])}
    path = folder / f"{rows}.csv"
    cells = np.column_stack([*X.values(), y])
    np.savetxt(path, cells, delimiter=",", header="a,b,c,k,y", comments="")
    seen = {}
    for name in KINDS:
        labels = {"outcome": hr.Numeric(0, 1)} if name == "HedgerowRegressor" else {"classes": [0, 1]}
        model = getattr(hr, name)(epsilon=1, schema=hr.Schema(features, **labels), random_state=0)
        model.fit(X, y).predict(X)
        seen[name] = kernels()
        model.fit(hr.Records.from_csv(path, "y"))
        seen[f"{name} of a file"] = kernels()
    start = hr.HedgerowClassifier(epsilon=1, schema=hr.Schema(features, classes=[0, 1]), random_state=0).fit(X, y)
    hr.HedgerowClassifier(epsilon=1, schema=start.schema_, random_state=1, init=start).fit(X, y)
    seen["start"] = kernels()
    (folder / f"{rows}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for number in sys.argv[2:]:
        assert not any(kernels().values())
        if os.fork() == 0:
            main(int(number), Path(sys.argv[1]))
            os._exit(0)
        if os.wait()[1]:
            sys.exit(f"the fits of {number} records failed")
