"""Every public name says what it takes, returns and raises, and has an example that runs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from products import thinned

import hedgerow as hr
from systems_listed import with_summaries

matplotlib.use("Agg")

API = Path(__file__).parents[2] / "docs" / "api"
PUBLIC = ("hedgerow", "hedgerow.audit", "hedgerow.datasets", "hedgerow.engines", "hedgerow.plots")
LISTED = re.compile(r"^   (\w+)$", re.MULTILINE)
SECTION = re.compile(r"^(\w[\w ]*)\n-+$", re.MULTILINE)
SEE = re.compile(r"^    (?:See|As for) ``([A-Z]\w+)``", re.MULTILINE)
NEEDS_DATA = {"load_adult", "load_bank", "load_census_income", "load_diabetes_prediction", "load_wall_following"}


def thing(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@cache
def listed(only: str = "") -> tuple[str, ...]:
    """The names that pages of the API, or one of them, list, by the module that is current there."""
    found = []
    for page in [API / f"{only}.rst"] if only else sorted(API.glob("*.rst")):
        for part in with_summaries(page.read_text()).split(".. currentmodule:: ")[1:]:
            module, _, rest = part.partition("\n")
            found += [f"{module}.{name}" for name in LISTED.findall(rest) if name != "toctree"]
    return tuple(found)


NAMES = listed()
RESULTS = listed("results")  # which nobody constructs, so an example would be one of what returns them
DOCUMENTED = [name for name in NAMES if not (inspect.isclass(thing(name)) and issubclass(thing(name), BaseException))]


@pytest.mark.parametrize("module", PUBLIC)
def test_the_api_lists_every_public_name_once(module):
    public = {f"{module}.{name}" for name in importlib.import_module(module).__all__ if name not in hr._PACKAGES}
    same = {id(thing(name)) for name in listed()}
    assert [name for name in sorted(public) if id(thing(name)) not in same] == []
    assert len(listed()) == len(set(listed()))


def sections(name: str) -> dict[str, str]:
    parts = SECTION.split(inspect.getdoc(thing(name)) or "")
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(source: Any) -> set[str]:
    """The parameters that a docstring describes, by itself or by the class that it names."""
    parts = SECTION.split(inspect.getdoc(source) or "")
    text = dict(zip(parts[1::2], parts[2::2], strict=True)).get("Parameters", "")
    return {
        name.strip(" *")
        for line in re.findall(r"^(\S.*)$", text, re.MULTILINE)
        for name in line.split(" : ")[0].split(",")
    }


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_docstring_has_what_a_user_looks_for(name):
    found, what = sections(name), thing(name)
    assert ">>> " in found.get("Examples", "") or name in RESULTS, "no example"
    if what is hr.Records:
        return  # made by its class methods, which describe their own
    function = what.__init__ if inspect.isclass(what) else what
    taken = [given for given in inspect.signature(function).parameters if given not in ("self", "args", "kwargs")]
    assert [given for given in taken if given not in described(what)] == []
    if not inspect.isclass(what):
        assert {"Returns", "Yields", "Raises"} & set(found), "neither Returns nor Raises"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_what_a_docstring_leaves_to_another_class_stands_there(name):
    what = thing(name)
    for other in SEE.findall(sections(name).get("Parameters", "")):
        bases = {base.__name__: base for base in getattr(what, "__mro__", ())}
        assert other in bases or hasattr(hr, other) or hasattr(inspect.getmodule(what), other), other


def test_what_is_missing_is_noticed():
    def bare(rows):
        """Do it.

        Parameters
        ----------
        columns, other : int
            What.
        """

    assert described(bare) == {"columns", "other"}
    assert described(test_what_is_missing_is_noticed) == set()


@pytest.mark.parametrize("name", thinned([name for name in DOCUMENTED if "Examples" in sections(name)], 2))
def test_the_example_runs(name):
    attribute = name.rpartition(".")[2]
    if attribute in NEEDS_DATA and not os.environ.get("HEDGEROW_DATA"):
        pytest.skip("the data set is not here")
    if attribute in {"load_affairs", "load_doctor_visits"} and importlib.util.find_spec("statsmodels") is None:
        pytest.skip("statsmodels is not installed")
    runner = doctest.DocTestRunner(verbose=False)
    names = dict(vars(inspect.getmodule(thing(name))))
    attempted, said = 0, []
    for test in doctest.DocTestFinder(recurse=inspect.isclass(thing(name))).find(thing(name), attribute, globs=names):
        attempted += runner.run(test, out=said.append).attempted
    assert not said, "".join(said)
    assert attempted
