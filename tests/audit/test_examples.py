"""The examples of the audit, in its docstrings and on its page, run and say what they show."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)


@pytest.mark.parametrize("name", ["attack", "contents", "exact", "losses"])
def test_examples_run(name):
    found = doctest.testmod(import_module(f"hedgerow.audit.{name}"))
    assert found.attempted > 0
    assert found.failed == 0


def test_the_page_has_an_example_of_every_tool():
    for tool in ("attack", "exact_loss", "check_model"):
        assert any(f"{tool}(" in code and "import" in code for code in EXAMPLES), tool


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_of_the_page_prints_what_it_says(code, capsys):
    exec(compile(code, str(PAGE), "exec"), {"__name__": "example"})
    expected = PRINTED.findall(code)
    assert expected
    assert capsys.readouterr().out.splitlines() == expected
