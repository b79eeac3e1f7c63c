"""A folder with a made-up table and its schema, and the command line run on it."""

import inspect
import json

import click
import pytest
from click.testing import CliRunner

from hedgerow.cli import main

SCHEMA = """\
target = "income"
missing = ["?"]
classes = ["low", "high"]

[features.age]
low = 0
high = 100

[features."marital status"]
values = ["single", "married, or so", "other"]

[features.code]
values = [1, 2, 3]
"""


def table_of_people(count=60):
    lines = ["age,marital status,code,income"]
    for i in range(count):
        age = "" if i % 13 == 5 else "?" if i % 13 == 9 else str(20 + i % 50)
        status = '"married, or so"' if i % 2 else "single"
        lines.append(f"{age},{status},{i % 3 + 1},{'high' if i % 2 else 'low'}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def people():
    """A made-up table: mixed types, cells with the separator in them, a missing age now and then."""
    return table_of_people()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a schema and a table of people."""
    (tmp_path / "people.toml").write_text(SCHEMA, "utf-8")
    (tmp_path / "people.csv").write_text(table_of_people(), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def runner():
    """Click's runner of commands, whose results tell stdout and stderr apart; before Click 8.2 it does so when asked."""
    mixes = "mix_stderr" in inspect.signature(CliRunner).parameters
    return CliRunner(mix_stderr=False) if mixes else CliRunner()


@pytest.fixture
def run(runner):
    """Run the command within this process."""

    def call(*arguments):
        return runner.invoke(main, [str(argument) for argument in arguments])

    return call


@pytest.fixture
def train(run, folder):
    """Run ``hedgerow train`` on the people, with some options replaced; what is no matter of a system, with a quick one."""

    def call(*more, data="people.csv", schema="people.toml", epsilon="1", out="m.hedgerow"):
        own = () if "--system" in more else ("--system", "edprf")
        return run("train", data, "--schema", schema, "--epsilon", epsilon, "--out", out, *own, *more)

    return call


@pytest.fixture
def is_refused():
    """Check that a command ended with one sentence on stderr, nothing on stdout and no file."""

    def check(result, code, *words):
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
        assert "Traceback" not in result.stderr
        assert [word for word in words if word not in result.stderr] == [], result.stderr

    return check


@pytest.fixture
def answer(run):
    """Run a command with --json; all of stdout is the document."""

    def call(*arguments):
        result = run(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return call


def commands_of(command, path=()):
    """Yield the name and the command of everything that a group of commands offers."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands_of(command.get_command(context, name), (*path, name))
    else:
        yield " ".join(path), command
