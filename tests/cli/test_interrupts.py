"""Ctrl-C in a destructor is heard all the same, and nobody's traceback is shown."""

import logging
import signal
import subprocess
import sys

import pytest

from hedgerow.cli import heard, main

CODE = """\
import _thread, sys, time, warnings, logging
import click
from hedgerow.cli import LazyGroup

class Odd:
    def __del__(self):
        raise KeyboardInterrupt

@click.command()
def work():
    Odd()
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        logging.getLogger("sqlalchemy.pool.impl.NullPool").error("Exception during reset or similar", exc_info=True)
    for _ in range(1000):
        time.sleep(0.01)
    print("done")

class Group(LazyGroup):
    def get_command(self, ctx, name):
        return work

sys.argv = ["x", "work"]
Group(commands_by_name={"work": ("", "")})()
"""


def test_an_interruption_in_a_destructor_ends_the_command_with_one_sentence():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == "Error: interrupted."


def test_other_exceptions_in_destructors_and_other_logs_are_shown_as_before(capsys):
    class Odd:
        def __del__(self):
            raise ValueError("odd")

    before = sys.unraisablehook
    told = []
    sys.unraisablehook = lambda unraisable: told.append(unraisable.exc_type)
    try:
        with heard():
            Odd()
        assert told == [ValueError]
    finally:
        sys.unraisablehook = before
    assert logging.getLogger("sqlalchemy").handlers == []


@pytest.mark.parametrize("arguments", [["--version"], ["no-such-command"]])
def test_a_command_that_another_program_calls_leaves_its_signals_alone(arguments, capsys):
    """Only a process of its own ignores Ctrl-C while it ends."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background has not
    try:
        with pytest.raises(SystemExit):
            main(arguments)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_hooks_are_put_back_where_a_command_fails():
    before = sys.unraisablehook
    with pytest.raises(OSError, match="odd"), heard():
        raise OSError("odd")
    assert sys.unraisablehook is before
