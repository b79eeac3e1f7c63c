"""The benchmark of first fits starts what it says, and tells a new machine from one that has kernels on disk."""

import argparse
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_kind_of_process_is_asked_for(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import startup

    started = []
    monkeypatch.setattr(startup, "seconds", lambda arguments, cache: started.append((arguments, cache)) or (1.0, 1.0))
    options = argparse.Namespace(rows=9, features=2, systems=["edprf"], no_new_machine=False)
    runs = startup.kinds(options, tmp_path)
    assert [run() for run in runs.values()] == [(1.0, 1.0)] * 5
    (imports, first), (_, second), (fit, third), (again, elsewhere), (told, _) = started
    assert first == second == third == tmp_path != elsewhere
    assert fit == again
    assert fit[-1].startswith(imports[-1])
    assert "hr.EDPRFClassifier(" in fit[-1]
    assert told == ["-m", "hedgerow", "--help"]
