"""The examples in the docstrings of the audit run, and say what they show."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["canaries", "contents", "exact", "grid", "losses", "membership"])
def test_examples_run(name):
    found = doctest.testmod(import_module(f"hedgerow.audit.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
