import os

import pytest

DATA = os.environ.get("HEDGEROW_DATA")


@pytest.fixture(autouse=True)
def no_data_from_outside(monkeypatch, tmp_path):
    """Tests see neither the user's data nor the user's cache, and nothing reaches the network."""
    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    monkeypatch.setenv("HEDGEROW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("hedgerow.datasets.dataset._open_url", refuse)


def refuse(url):
    raise OSError("no network in tests")


@pytest.fixture
def published(monkeypatch):
    """The real files, where HEDGEROW_DATA named them when the tests began."""
    if DATA is None:
        pytest.skip("HEDGEROW_DATA does not name the published files")
    monkeypatch.setenv("HEDGEROW_DATA", DATA)
