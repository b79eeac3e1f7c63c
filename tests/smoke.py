"""What an installed hedgerow must do in a clean environment: fit, save, load, and answer on the command line (`make dist`).

python tests/smoke.py
"""

from __future__ import annotations

import csv
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

import hedgerow as hr


def run(*words: str) -> str:
    command = str(Path(sys.executable).with_name("hedgerow"))
    return subprocess.run([command, *words], check=True, capture_output=True, text=True).stdout


def main() -> None:
    assert "site-packages" in hr.__file__, f"not the installed package: {hr.__file__}"
    assert (Path(hr.__file__).parent / "py.typed").exists()
    random = np.random.default_rng(0)
    X = random.uniform([18, 0], [90, 40], size=(3000, 2))
    y = np.where(X.sum(axis=1) > 70, "ill", "well")
    schema = hr.Schema(
        {"age": hr.Numeric(18, 90), "years": hr.Numeric(0, 40)}, classes=["ill", "well"], target="health"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for made in (hr.HedgerowClassifier, hr.EDPRFClassifier):
            model = made(epsilon=1.0, schema=schema).fit(X, y)
            assert model.certificate_.holds
            model.save(folder / "model.hedgerow")
            assert (hr.load(folder / "model.hedgerow").predict(X) == model.predict(X)).all()
        schema.save(folder / "people.toml")
        with (folder / "people.csv").open("w", newline="") as file:
            csv.writer(file).writerows(
                [["age", "years", "health"], *([*cells, label] for cells, label in zip(X, y, strict=True))]
            )
        people, saved = str(folder / "people.csv"), str(folder / "people.hedgerow")
        run("train", people, "--schema", str(folder / "people.toml"), "--epsilon", "1", "--out", saved)
        run("predict", saved, people, "--out", str(folder / "predictions.csv"))
        assert len((folder / "predictions.csv").read_text().splitlines()) == 3001
        assert "holds" in run("inspect", saved)
    names = ("hedgerow", "numpy", "scipy", "scikit-learn", "numba", "narwhals", "click", "sqlalchemy", "pyarrow")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    sys.stdout.write(f"works under Python {platform.python_version()}: {versions}\n")


if __name__ == "__main__":
    main()
