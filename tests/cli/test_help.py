"""Help is fast: it loads none of the packages that a fit needs. What is loaded is tested, and no time."""

import os
import subprocess
import sys

import pytest
from products import thinned

HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "numba",
    "pandas",
    "pyarrow",
    "matplotlib",
    "hedgerow.schema",
    "hedgerow.estimator",
)
SHOW = """
import sys
from hedgerow.cli import main
main(sys.argv[1:], standalone_mode=False)
print("loaded:", [name for name in %r if name in sys.modules])
"""


def loaded(*words):
    """Return what a command prints, and which heavy packages it loads."""
    run = subprocess.run([sys.executable, "-c", SHOW % (HEAVY,), *words], capture_output=True, text=True, check=True)
    page, _, names = run.stdout.rpartition("loaded: ")
    return page, names.strip()


@pytest.mark.parametrize(
    "words", thinned([pytest.param(("budget", "--help")), pytest.param(()), pytest.param(("--help",))], 3), ids=" ".join
)
def test_help_loads_no_heavy_package(words):
    page, names = loaded(*words)
    assert "Usage:" in page
    assert names == "[]"


def test_a_command_that_loads_one_is_noticed():
    page, names = loaded("plan", "--help")
    assert "Usage:" in page
    assert "numpy" in names


@pytest.mark.parametrize(
    ("words", "wanted"),
    thinned([("hedgerow tr", "plain,train"), ("hedgerow train --holdout-", "plain,--holdout-epsilon")], 2),
)
def test_a_shell_completes_commands_and_options(words, wanted):
    asked = {"_HEDGEROW_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    code = "import sys; sys.argv[0] = 'hedgerow'; from hedgerow.cli import main; main()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | asked)
    assert run.stdout.split() == [wanted]
