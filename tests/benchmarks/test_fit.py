import argparse

import pytest

import fit
from peer_environment import PeerEnvironment


@pytest.fixture
def options(tmp_path):
    return argparse.Namespace(rows=10, features=2, trees=35, depth=5, repeats=1, peers=tmp_path)


def test_diffprivlib_is_asked_for_the_same_work(options, monkeypatch):
    asked = {}

    def run(self, script, arguments):
        asked.update(arguments)
        return {"fit": 3.0, "predict": 0.5, "memory": 7.0, "versions": "some"}

    monkeypatch.setattr(fit, "make_environment", lambda name, directory: PeerEnvironment(name, directory))
    monkeypatch.setattr(PeerEnvironment, "run", run)
    text, note = fit.diffprivlib_row(options, (1.5, 0.25))
    assert text == "| diffprivlib forest (35 trees, depth 6, 2 jobs) | 3.00 | 2.0 | 0.50 | 2.0 |"
    assert note == "peak memory of diffprivlib's fit above the data: 7 MiB (some)"
    assert asked == {"rows": 10, "features": 2, "trees": 35, "depth": 6, "repeats": 1}
