import os
import subprocess
import sys
from pathlib import Path

import pytest

import peer_environment
from peer_environment import (
    PeerEnvironment,
    PeerEnvironmentError,
    PeerRunError,
    make_environment,
    requirements,
)

HERE = PeerEnvironment("here", Path(sys.executable))


@pytest.fixture
def script(tmp_path):
    def write(body):
        path = tmp_path / "script.py"
        path.write_text(f"import os, sys\nsys.path.append({str(requirements('x').parent)!r})\n{body}\n")
        return path

    return write


@pytest.fixture
def pins(tmp_path):
    """Pins of nothing, which pip installs without a network."""
    path = tmp_path / "pins.txt"
    path.write_text("# nothing\n")
    return path


def test_arguments_go_in_by_name_and_the_result_comes_back(script):
    path = script(
        "from peer_environment import answer\nprint('hello')\nanswer(lambda a, b: {'sum': a + b, 'text': 'ü'})"
    )
    assert HERE.run(path, {"a": 1, "b": 0.5}) == {"sum": 1.5, "text": "ü"}


def test_a_script_that_fails_says_why_and_keeps_its_output(script):
    with pytest.raises(PeerRunError, match=r"script\.py failed: ValueError: too small") as caught:
        HERE.run(script("print('before')\nraise ValueError('too small')"), {})
    [note] = caught.value.__notes__
    assert "before" in note
    assert "Traceback" in note


def test_a_script_that_takes_too_long_is_ended(script):
    with pytest.raises(PeerRunError, match=r"script\.py took longer than 0\.5 s"):
        HERE.run(script("import time; time.sleep(60)"), {}, timeout=0.5)


@pytest.mark.full
def test_an_environment_is_made_once_hidden_from_git_and_apart_from_ours(tmp_path, pins, script, monkeypatch, capsys):
    peers = tmp_path / "peers"
    made = make_environment("nothing", peers, pins=pins)
    assert "making the environment of nothing" in capsys.readouterr().err
    path = script(
        "from importlib.util import find_spec\nfrom peer_environment import answer\n"
        "answer(lambda: [sys.prefix, find_spec('numpy') is None])"
    )
    # Its own prefix, where it was moved to, and nothing of what is installed here.
    assert made.run(path, {}) == [str(made.python.parents[1]), True]
    assert (made.python.parents[1] / ".gitignore").read_text() == "*\n"

    monkeypatch.setattr(peer_environment, "_call", lambda command: pytest.fail(f"called {command}"))
    assert make_environment("nothing", peers, pins=pins) == made
    assert capsys.readouterr().err == ""
    assert os.listdir(peers) == [made.python.parents[1].name]


def test_a_failure_says_why_and_leaves_nothing_behind(tmp_path, pins, monkeypatch):
    def call(command, **_):
        if "pip" in command:
            return subprocess.CompletedProcess(command, 1, "", "WARNING: again\nERROR: No matching distribution\n")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(peer_environment.subprocess, "run", call)
    with pytest.raises(PeerEnvironmentError, match=r"^ERROR: No matching distribution$"):
        make_environment("peer", tmp_path / "peers", pins=pins)
    assert os.listdir(tmp_path / "peers") == []


def test_no_pins_and_no_interpreter_and_no_folder_are_errors(tmp_path, pins):
    with pytest.raises(PeerEnvironmentError, match="no requirements file"):
        make_environment("nobody", tmp_path)
    with pytest.raises(PeerEnvironmentError, match="cannot be made"):
        make_environment("peer", tmp_path / "peers", pins=pins, python="/no/such/python")
    with pytest.raises(PeerEnvironmentError, match="cannot be made"):
        make_environment("peer", pins / "not a folder", pins=pins)


@pytest.mark.parametrize(
    ("peer", "first"), [("diffprivlib", "diffprivlib==0.6.6"), ("interpret", "interpret-core==0.7.8")]
)
def test_a_peer_is_pinned_with_all_that_it_needs_and_no_host_is_named(peer, first):
    lines = requirements(peer).read_text().splitlines()
    pinned = [line for line in lines if not line.startswith("#")]
    assert first in pinned
    assert all(line.count("==") == 1 and "/" not in line for line in pinned)
