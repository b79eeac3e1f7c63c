"""Other libraries, each in an environment of its own, because their pins and ours do not go together.

    environment = make_environment("diffprivlib")
    result = environment.run("benchmarks/diffprivlib_fit.py", {"rows": 1000})

``requirements-NAME.txt`` beside this file pins what goes into the environment of a peer. It is made once, in a folder under
``build/peers`` or another that the caller names, and made anew where the pins or the interpreter have changed. A script that
runs in it calls `answer`; it may import this module and `timing`, which need nothing but NumPy, but not hedgerow.
Arguments and results are JSON: hand over arrays in a file, and its path as an argument.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / "build" / "peers"
PYTHON = Path("Scripts", "python.exe") if os.name == "nt" else Path("bin", "python")


class PeerError(Exception):
    """A peer gave no result."""


class PeerEnvironmentError(PeerError):
    """The environment of a peer cannot be made here."""


class PeerRunError(PeerError):
    """A script failed in the environment of a peer; its whole output is in the notes."""


@dataclass(frozen=True)
class PeerEnvironment:
    """The interpreter of an environment that is ready to use."""

    name: str
    python: Path

    def run(self, script: str | Path, arguments: Mapping[str, Any], timeout: float | None = None) -> Any:
        """Run a script that calls `answer`, and return what it answered.

        Raises
        ------
        PeerRunError
            The script failed, said no JSON, or took longer than `timeout` seconds.
        """
        # -E and -s keep out what PYTHONPATH and the user's own site hold, which is made for another environment.
        command = [str(self.python), "-E", "-s", str(script)]
        try:
            done = subprocess.run(command, input=json.dumps(arguments), capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise PeerRunError(f"{Path(script).name} took longer than {timeout:g} s") from error
        except OSError as error:
            raise PeerRunError(f"the interpreter of {self.name} does not start: {error}") from error
        if done.returncode:
            raise _failure(f"{Path(script).name} failed", done)
        try:
            # A library may print what it likes before the answer, which is the last line.
            return json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError) as error:
            raise _failure(f"{Path(script).name} gave no answer", done) from error


def answer(work: Callable[..., Any]) -> None:
    """In a script of a peer: pass the arguments of `PeerEnvironment.run` to `work` by name, and print its result."""
    print(json.dumps(work(**json.load(sys.stdin))), flush=True)


def requirements(name: str) -> Path:
    return HERE / f"requirements-{name}.txt"


def make_environment(
    name: str, directory: str | Path = PEERS, *, pins: Path | None = None, python: str | Path = sys.executable
) -> PeerEnvironment:
    """Return the environment of a peer, and make it first if it is not there yet.

    Parameters
    ----------
    name : str
        The peer.
    directory : path
        Where environments are kept.
    pins : path, optional
        The requirements file; ``requirements-NAME.txt`` beside this module if left out.
    python : path
        The interpreter to build on.

    Raises
    ------
    PeerEnvironmentError
        It cannot be made: no package index can be reached, or it has no files for this machine.
    """
    pins = pins or requirements(name)
    if not pins.is_file():
        raise PeerEnvironmentError(f"no requirements file {pins}")
    key = hashlib.sha256(pins.read_bytes() + os.path.realpath(python).encode()).hexdigest()[:10]
    home = Path(directory).absolute() / f"{name}-{key}"
    if not (home / PYTHON).exists():
        print(f"making the environment of {name} in {home}", file=sys.stderr, flush=True)
        try:
            _build(home, pins, python)
        except OSError as error:
            raise PeerEnvironmentError(f"{home} cannot be made: {error}") from error
    return PeerEnvironment(name, home / PYTHON)


def _build(home: Path, pins: Path, python: str | Path) -> None:
    """Make an environment aside and move it into place whole, so that none is ever found half made."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{home.name}-", ignore_cleanup_errors=True) as aside:
        made = Path(aside, "made")
        _call([python, "-m", "venv", made])
        # Its interpreter, not its `pip` command, which would hold the path that it is about to leave.
        pip: list[str | Path] = [made / PYTHON, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
        # No source builds: they take long, and say late that a compiler is missing.
        _call([*pip, "--quiet", "--only-binary=:all:", "-r", pins.absolute()])
        # Wherever the user keeps it, git is not to see it.
        (made / ".gitignore").write_text("*\n")
        if home.exists() and not (home / PYTHON).exists():
            shutil.rmtree(home)  # left over from an interpreter that is gone
        try:
            made.rename(home)
        except OSError:
            if not (home / PYTHON).exists():
                raise
            # Another process was quicker, and its environment is as good.


def _call(command: Sequence[str | Path]) -> None:
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise PeerEnvironmentError(_last_line(done))


def _failure(what: str, done: subprocess.CompletedProcess[str]) -> PeerRunError:
    error = PeerRunError(f"{what}: {_last_line(done)}")
    error.add_note(f"{done.stdout}{done.stderr}")
    return error


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
    return lines[-1] if lines else f"exit status {done.returncode}"
