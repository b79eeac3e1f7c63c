"""The whole analysis of docs/whole-analysis.md, by its own lines: one ledger, an exact sum, certificates that hold."""

from __future__ import annotations

import re
import shlex
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr

PAGE = Path(__file__).parents[2] / "docs" / "whole-analysis.md"


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]


@pytest.fixture
def people_csv(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    age, job = rng.integers(18, 90, 6000), rng.choice(["nurse", "clerk", "cook"], 6000)
    ill = np.where(age + rng.normal(0, 8, 6000) > 60, "yes", "no")
    lines = [",".join(map(str, row)) for row in zip(age, job, ill, strict=True)]
    (tmp_path / "people.csv").write_text("age,job,ill\n" + "\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.filterwarnings("ignore:no (range|value)")
@pytest.mark.usefixtures("people_csv")
def test_the_command_lines(run, monkeypatch):
    pages = []
    for line in block("sh").splitlines():
        words = shlex.split(line)
        if words[0] == "export":
            for word in words[1:]:
                monkeypatch.setenv(*word.split("=", 1))
            continue
        assert words[0] == "hedgerow"
        result = run(*words[1:])
        assert result.exit_code == 0, result.output
        pages.append(result.stdout)
    ledger = hr.LedgerStore("budgets.db").ledger("people")
    assert (ledger.spent, ledger.total.delta) == (1, Fraction(1, 10**6))
    assert [entry.label for entry in ledger.entries] == ["private_schema", "HedgerowClassifier", "evaluate"]
    assert all(entry.certificate.holds for entry in ledger.entries)
    assert ledger.entries[1].certificate.releases == (ledger.entries[0].certificate.digest,)
    assert ledger.entries[2].certificate.releases == (ledger.entries[0].certificate.digest,)
    assert "Report card on about" in pages[3]
    assert "whoever sees the schema can change" in pages[1]
    assert "whoever sees the model can change" in pages[3]
    assert "whoever sees the report card can change" in pages[3]


def test_the_python_example(capsys):
    names: dict = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no (range|value)")
        exec(block("python"), names)
    assert names["ledger"].spent == 1
    assert names["ledger"].remaining == 0
    assert names["model"].certificate_.holds
    assert names["card"].accuracy > 0.6
    assert "Report card" in capsys.readouterr().out
