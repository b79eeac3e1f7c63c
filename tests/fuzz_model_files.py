"""What a damaged model file does: it is refused by FileFormatError, or it loads and everything works that a model can do.

``python tests/fuzz_model_files.py --inputs 20000`` runs each input in a worker with caps on processor time and memory, and
prints the seed of every finding; ``--first SEED --inputs 1`` repeats one. ``make fuzz`` calls it.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from click.testing import CliRunner
from fuzz_mutations import damaged

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.cli import main as command_line
from hedgerow.errors import FileFormatError
from hedgerow.parameters import rules_of
from hedgerow.systems import system_class

SECONDS = 5  # of processor time for one input
MEMORY = 1 << 30  # bytes beyond what the worker begins with
BATCH = 500

rng = np.random.default_rng(0)
ROWS = 60
X = {"a": rng.uniform(0, 1, ROWS), "b": rng.choice(["u", "v", "w", "z"], ROWS), "c": rng.uniform(-5, 5, ROWS)}
Y = np.where(X["a"] > 0.5, "yes", "no")
SCHEMA = hr.Schema(
    {
        "a": hr.Numeric(0, 1),
        "b": hr.Categorical(["u", "v", "w"]),
        "c": hr.Numeric(-5, 5, [-1.0, 0.0, 2.5]),
    },
    classes=["no", "yes"],
    missing=["?"],
)
THREE = SCHEMA.replace(classes=["no", "yes", 7])
SMALL = {"n_estimators": 2, "max_depth": 2, "max_bins": 4, "specializations": 3, "max_cells": 64}


def _small(name: str, **parameters: object) -> hr.EDPRFClassifier:
    kind = system_class(name)
    fitting = {key: value for key, value in SMALL.items() if key in rules_of(kind)}
    given = {
        "epsilon": 2.0,
        "schema": SCHEMA,
        "random_state": 0,
        **fitting,
        **parameters,
    }  # a seed finds the same again
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that these are few records
        return kind(**given).fit(X, Y)


def base_files(folder: Path) -> dict[str, bytes]:
    """Return a small model file of every system, and of some that release more."""
    models = {info.name: _small(info.name) for info in hr.list_systems()}
    models |= {
        "hedgerow with delta": _small("hedgerow", delta=1e-6, schema=THREE),
        "hedgerow by itself": _small("hedgerow", n_estimators=None, max_bins=None),
        "boosted with delta": _small("dp-adaboost", delta=1e-6, schema=THREE),
        "labels": _small("forest", leaf="label", voting="hard", adjacency="replace-one"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models["inferred"] = hr.EDPRFClassifier(n_estimators=2, max_depth=1, random_state=0).fit(X, Y)
    files = {}
    for name, model in models.items():
        model.save(folder / "base")
        files[name] = (folder / "base").read_bytes()
    return files


def outcome(path: Path, folder: Path) -> str:
    """Return "refused", or "accepted" after everything worked; raise what a user must never see."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model = hr.load(path)
        except FileFormatError as error:
            words = str(error)
        else:
            words = ""
        if words:
            assert len(words) < 2000
            _command("inspect", path, codes={2})
            return "refused"
        _use(model)
        before = model.predict_proba(_records(model))
        model.save(folder / "again")
        again = hr.load(folder / "again")
        np.testing.assert_array_equal(again.predict_proba(_records(model)), before)
        assert again.certificate_.details() == model.certificate_.details()
        for finding in check_model(path):
            assert str(finding)
        _command("inspect", path, codes={0})
        _command("inspect", path, "--json", "--tree", 1, codes={0, 2})
        _command("predict", path, folder / "records.csv", "--proba", codes={0, 2})
    return "accepted"


def _records(model: hr.EDPRFClassifier) -> dict[str, list[object]]:
    """Return records with each feature's first and last declared value, a missing cell and an odd one."""
    return {name: _cells(feature) for name, feature in model.schema_.features.items()}


def _cells(feature: hr.Numeric | hr.Categorical) -> list[object]:
    ends = [feature.low, feature.high] if isinstance(feature, hr.Numeric) else [feature.values[0], feature.values[-1]]
    return [*ends, None, "odd"]


def _use(model: hr.EDPRFClassifier) -> None:
    """Do with a model whatever can be done."""
    records = _records(model)
    shares = model.predict_proba(records)
    assert shares.shape == (4, len(model.classes_))
    assert np.all((shares >= 0) & (shares <= 1 + 1e-9))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert model.predict(records).shape == (4,)
    if hasattr(model, "decision_function"):
        assert np.isfinite(model.decision_function(records)).all()
    importances = model.feature_importances_
    assert np.isfinite(importances).all()
    assert importances.shape == (model.n_features_in_,)
    assert abs(importances.sum() - 1) < 1e-6 or not importances.any()
    if hasattr(model, "feature_curve"):
        for name in model.schema_.names:
            labels, curve = model.feature_curve(name)
            assert len(labels) == len(curve)
            assert np.isfinite(curve).all()
    if hasattr(model, "feature_curve") or hasattr(model.model_, "explained"):
        found = model.explain(records)
        assert np.isfinite(found.total).all()
        assert found.deviation is None or np.isfinite(found.deviation).all()
    if hasattr(model, "released_cells"):
        model.released_cells()
        model.generalize(records)
    certificate = model.certificate_
    for text in (certificate.details(), repr(model), model._repr_html_(), repr(model.schema_), repr(certificate)):
        assert text.encode()
    assert isinstance(certificate.holds, bool)
    model.get_params()
    model.schema_.to_toml()


def _command(*arguments: object, codes: set[int]) -> None:
    """Run a command; where it fails it says so in one sentence that speaks of no bug."""
    result = CliRunner().invoke(command_line, [str(argument) for argument in arguments])
    assert result.exit_code in codes, f"{arguments}: {result.exit_code}, {result.output[-300:]}"
    if result.exit_code:
        assert "Error: " in result.output, result.output
        assert "unexpected" not in result.output, result.output
        assert "Traceback" not in result.output, result.output


def write_records(folder: Path) -> None:
    """Write records that the base files' models read."""
    with open(folder / "records.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([list(X), *zip(*(column[:5] for column in X.values()), strict=True)])


def write_input(seed: int, files: dict[str, bytes], folder: Path) -> Path:
    """Write the file of a seed, which damages the base files in turn."""
    path = folder / "damaged"
    path.write_bytes(damaged(list(files.values())[seed % len(files)], seed))
    return path


# workers with caps


def _work(first: int, last: int, files: dict[str, bytes], folder: Path, out: int) -> None:
    """Try inputs in a process of their own, and write a line for each; a cap that is hit ends the process."""
    used = 4096 * int(Path("/proc/self/statm").read_text().split()[5])
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for seed in range(first, last):
        path = write_input(seed, files, folder)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        begin = time.process_time()
        try:
            words = outcome(path, folder)
        except Exception:
            words = "finding\n" + traceback.format_exc()[-3000:]
        signal.setitimer(signal.ITIMER_PROF, 0)
        line = f"{time.process_time() - begin:.3f} {words}".encode()
        os.write(out, struct.pack("<QI", seed, len(line)) + line)


def run(first: int, inputs: int, files: dict[str, bytes], folder: Path) -> tuple[Counter[str], list[str], list[float]]:
    """Return how many inputs were refused, accepted and found out, what was found, and the seconds of each."""
    counts: Counter[str] = Counter()
    found: list[str] = []
    seconds: list[float] = []
    seed, end = first, first + inputs
    while seed < end:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reader)
                _work(seed, min(seed + BATCH, end), files, folder, writer)
            finally:
                os._exit(0)
        os.close(writer)
        with open(reader, "rb") as results:
            while head := results.read(12):
                done, size = struct.unpack("<QI", head)
                spent, words = results.read(size).decode(errors="replace").split(" ", 1)
                seconds.append(float(spent))
                counts[words.split("\n")[0]] += 1
                if words.startswith("finding"):
                    found.append(f"seed {done}, {list(files)[done % len(files)]}: {words}")
                    _say(found[-1])
                seed = done + 1
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            why = signal.Signals(os.WTERMSIG(status)).name
            counts["killed"] += 1
            found.append(f"seed {seed}, {list(files)[seed % len(files)]}: the worker was ended by {why}")
            _say(found[-1])
            seed += 1
        if seed % 1000 < BATCH:
            _say(f"{seed - first} inputs, {dict(counts)}")
    return counts, found, seconds


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def main() -> int:
    """Fuzz as the command line says; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    begin = time.monotonic()
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_records(folder)
        files = base_files(folder)
        for content in files.values():  # whole files work; what they compile is there before the caps count
            (folder / "whole").write_bytes(content)
            assert outcome(folder / "whole", folder) == "accepted"
        _say(f"{len(files)} base files after {time.monotonic() - begin:.0f} s")
        counts, found, seconds = run(given.first, given.inputs, files, folder)
    _say(f"{dict(counts)}; slowest {max(seconds, default=0.0):.2f} s; {time.monotonic() - begin:.0f} s in all")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
