import importlib
import subprocess
import sys

import click
import pytest

import hedgerow as hr
from hedgerow.cli import COMMANDS, BrokenOff, LazyGroup, exit_code, main, sentence

HEAVY = ("numpy", "sklearn", "scipy", "numba", "pandas")


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_imports_nothing_heavy(arguments):
    done = python(
        "import sys\nfrom hedgerow.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_version_and_help(run):
    assert run("--version").stdout == f"hedgerow {hr.__version__}\n"
    page = run("--help").stdout
    assert run().stdout == page
    assert [name for name in COMMANDS if name not in page] == []
    assert [code for code in (" 0 ", " 1 ", " 2 ", " 3 ", " 4 ", " 130 ") if code not in page] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_and_has_help(run, name):
    module = importlib.import_module(COMMANDS[name][0])
    assert getattr(module, name).name == name
    result = run(name, "--help")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_unknown_command_and_option(run, is_refused):
    is_refused(run("plant"), 2, "plant")
    is_refused(run("demo", "--sead", "1"), 2, "--sead", "--help")


@pytest.mark.full
def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "hedgerow", "inspect", "--help"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: hedgerow inspect" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "more"], "extra argument (more). See"),
        (["reproduce"], "Missing argument 'NAME...'. See"),
        (["predict", "-", "x.csv"], "there is no file '-'; pass /dev/stdin"),
        (["inspect"], "Missing argument 'MODEL'. See"),
        (["demo", "--splits", "1"], "'--splits': 1 is not in the range 2<=x<=1000. See"),
        (["audit"], "name what to audit: a MODEL file, --system NAME, or --all. See"),
    ],
)
def test_what_is_wrong_or_missing_is_one_sentence(run, is_refused, arguments, words):
    is_refused(run(*arguments), 2, words, "--help'.")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (hr.BudgetExceeded("no budget."), 3, "no budget."),
        (hr.ConfigurationError("bad."), 2, "bad."),
        (hr.SchemaError("bad."), 2, "bad."),
        (hr.FileFormatError("bad."), 2, "bad."),
        (click.UsageError("bad."), 2, "bad."),
        (click.Abort(), 130, "interrupted."),
        (KeyboardInterrupt(), 130, "interrupted."),
        (BrokenOff(KeyboardInterrupt(), "Nothing was spent."), 130, "interrupted. Nothing was spent."),
        (BrokenOff(MemoryError(), "1 was spent."), 1, "out of memory. 1 was spent."),
        (hr.DatasetError("gone."), 1, "gone."),
        (PermissionError(13, "Permission denied", "f.csv"), 1, "f.csv: Permission denied."),
        (OSError(28, "No space left on device"), 1, "No space left on device."),
        (MemoryError(), 1, "out of memory."),
    ],
)
def test_exit_codes_and_sentences(error, code, text):
    assert (exit_code(error), sentence(error)) == (code, text)


@pytest.mark.parametrize("error", [ValueError("cell 'secret'"), OSError("secret"), KeyError("secret")])
def test_an_unexpected_failure_tells_its_place_but_not_its_text(error, monkeypatch, runner):
    def fail():
        raise error

    group = LazyGroup("hedgerow", commands_by_name={"fail": ("", "")})
    monkeypatch.setattr(group, "get_command", lambda context, name: click.Command("fail", callback=fail))
    result = runner.invoke(group, ["fail"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: unexpected {type(error).__name__} at test_group.py:")
    assert "secret" not in result.stderr


def test_errors_are_exceptions_when_not_standalone():
    with pytest.raises(click.UsageError):
        main(["plant"], standalone_mode=False)
