"""Every planted bug still has a place in the source and a test of its own; `make planted` says whether the test tells it."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from plant import ROOT, Copy, NotRunError, bugs, of_test

BUGS = bugs()


def test_every_bug_has_its_place_and_its_test():
    assert [wrong for bug in BUGS if (wrong := bug.wrong()) is not None] == []


def test_a_bug_whose_place_or_test_is_gone_is_an_error():
    bug = BUGS[0]
    assert bug.wrong() is None
    assert "stands 0 times" in replace(bug, old="no such text").wrong()
    assert "stands 0 times" in replace(bug, file="no/such/file.py").wrong()
    assert "times in" in replace(bug, old="\n").wrong()
    assert "changes nothing" in replace(bug, new=bug.old).wrong()
    assert "there is no test" in replace(bug, test=f"{bug.test}_").wrong()
    assert "there is no test" in replace(bug, test="tests/none.py::test_it").wrong()


@pytest.mark.full
def test_every_planted_bug_is_python_and_does_something():
    for bug in BUGS:
        source = (ROOT / bug.path).read_text("utf-8")
        planted = ast.parse(source.replace(bug.old, bug.new))
        assert ast.dump(planted) != ast.dump(ast.parse(source)), bug.name


def test_no_two_bugs_are_one():
    assert len({(bug.file, bug.old, bug.new) for bug in BUGS}) == len(BUGS)
    assert len({bug.what for bug in BUGS}) == len(BUGS)


def test_a_case_is_found_by_the_name_of_its_test():
    cases = {"tests/a.py::test_x[1]": "passed", "tests/a.py::test_x[2]": "failed", "tests/a.py::test_xy": "skipped"}
    assert of_test("tests/a.py::test_x", cases) == {"passed", "failed"}
    assert of_test("tests/a.py::test_x[1]", cases) == {"passed"}
    assert of_test("tests/a.py::test_xy", cases) == {"skipped"}
    assert of_test("tests/a.py::test_z", cases) == set()


@pytest.mark.full
def test_a_copy_with_a_bug_fails_its_test_and_is_whole_again_afterwards(tmp_path):
    copy = Copy(tmp_path)
    test = "tests/scores/test_scores.py::test_a_number_of_two"
    (tmp_path / "tests/scores/test_scores.py").write_text(
        "from hedgerow.texts import listed\ndef test_a_number_of_two():\n    assert 'a' in listed(['a'])\n"
    )
    source = (tmp_path / "src/hedgerow/texts.py").read_text()
    bug = replace(
        BUGS[0], file="texts.py", old=source, new=source + "\n\ndef listed(names):\n    return ''\n", test=test
    )
    assert copy.run_with(bug, [test]) == {test: "failed"}
    assert (tmp_path / "src/hedgerow/texts.py").read_text() == source
    with pytest.raises(NotRunError):
        copy.run_with(replace(bug, new="def listed("), [test])
    assert (ROOT / "src/hedgerow/texts.py").read_text() == source
