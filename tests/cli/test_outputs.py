"""Every command when its output cannot be written: nothing is spent without a result or a message (docs/api/command-line.md).

``TRIES`` has a command line for each command of the program, and ``CASES`` what happens to its outputs. Each try runs in a
process of its own, forked here so that nothing is imported again. Outcomes are printed: ``pytest -s`` shows them as a table.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import traceback
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import click
import numpy as np
import pytest
from click.testing import CliRunner
from people import commands_of

import hedgerow as hr
from hedgerow.cli import main, owners

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="each try is a fork of this process"),
    pytest.mark.filterwarnings("ignore"),
]

NAME, YES, NO = "größe 年", "да", "否"  # none of which is in the code page 1252 as a whole
BOOKED = "--ledger b.db --dataset people"
CHARGES = {"train", "search", "evaluate", "schema release"}
TRIES = {  # a command line of each command, and where its result goes
    "plan": ("--schema s.toml --records 100 --epsilon 1 --system edprf", "--out new.png"),
    "train": (f"p.csv --schema s.toml --epsilon 1 --system edprf --param n_estimators=2 {BOOKED}", "--out new.h"),
    "search": (f"p.csv --schema s.toml --epsilon 1 --system edprf --try max_depth=1,2 {BOOKED}", "--out new.h"),
    "evaluate": (f"m.h p.csv --epsilon 1 --by code {BOOKED}", "--out new.json"),
    "schema release": (f"p.csv --target answer --numeric '{NAME}' --categorical code --epsilon 1 --delta 1e-6 {BOOKED}",
                       "--out new.toml"),
    "schema init": ("p.csv --target answer", "--out new.toml"),
    "schema check": ("p.csv --schema s.toml", ""),
    "predict": (f"m.h p.csv --proba --keep '{NAME}'", "--out new.csv"),
    "inspect": ("m.h --details --tree 1", ""),
    "card": (f"m.h --report r.json --purpose '{YES}' {BOOKED}", "--out new.html"),
    "export": ("m.h --to json", "--out new.json"),
    "audit": ("m.h", "--page new.html"),
    "budget create": ("--ledger b.db --dataset 年 --epsilon 1", ""),
    "budget raise": ("--ledger b.db --dataset people --epsilon 99 --reason 年", ""),
    "budget close": ("--ledger b.db --dataset others --reason 年", ""),
    "budget verify": (BOOKED, ""),
    "budget show": (BOOKED, ""),
    "budget list": ("--ledger b.db", ""),
    "federate key": ("key", ""),
    "federate app": ("app", ""),
    "federate owner": (f"p.csv --name a --folder key --federation s.toml --schema s.toml {BOOKED}", ""),
    "federate fit": ("s.toml --owners .", ""),
    "demo": ("--splits 2 --out demo", ""),
    "reproduce": ("list", ""),
}  # fmt: skip


def test_every_command_is_tried():
    assert sorted(TRIES) == sorted(name for name, _ in commands_of(main))


class Outcome(NamedTuple):
    code: int
    stdout: bytes
    stderr: str
    files: dict[str, bytes]  # that were not there before, or differ
    spent: float


def closed():
    os.close(1)
    sys.stdout = None


def stream(number, encoding="utf-8"):
    return open(number, "w", encoding=encoding, closefd=False)


def full():
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    sys.stdout = stream(1)


def left():
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, 1)
    sys.stdout = stream(1)


def code_page():
    sys.stdout, sys.stderr = stream(1, "cp1252"), stream(2, "cp1252")


def no_room():
    """No file of results gets longer than the first bytes; the ledger, which SQLite writes by itself, does."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))


CASES = {"closed": closed, "full": full, "left": left, "code page": code_page, "no room": no_room}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    ages = np.arange(80.0)
    X = {NAME: ages, "code": ["да", "b", "年", "b"] * 20}
    y = np.where(ages > 40, YES, NO)
    schema = hr.Schema({NAME: hr.Numeric(0, 80), "code": hr.Categorical(["да", "b", "年"])}, [YES, NO], target="answer")
    schema.save(folder / "s.toml")
    lines = [f"{NAME},code,answer", *(f"{a},{c},{label}" for a, c, label in zip(ages, X["code"], y, strict=True))]
    (folder / "p.csv").write_text("\n".join(lines) + "\n", "utf-8")
    model = hr.EDPRFClassifier(schema=schema, n_estimators=2, max_depth=1).fit(X, y)
    model.save(folder / "m.h")
    store = hr.LedgerStore(folder / "b.db")
    for name in ("people", "others"):
        store.create(name, epsilon=50, delta=1e-4)
    from hedgerow.cli.inputs import card_values, file_digest, json_text

    values = {"model_sha256": file_digest(folder / "m.h"), **card_values(hr.evaluate(model, X, y, epsilon=1))}
    (folder / "r.json").write_text(json_text(values), "utf-8")
    return folder


def spent(folder):
    return float(hr.LedgerStore(folder / "b.db").ledger("people").spent)


def start(folder, words, happens):
    """Begin a command in a fork of this process; its outputs go to files."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    try:
        os.chdir(folder)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(folder.parent / f"{folder.name}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.stdout, sys.stderr = stream(1), stream(2)
        happens()
        warnings.simplefilter("default")
        main(words)
    except SystemExit as error:
        os._exit(error.code or 0)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    os._exit(99)


def ended(folder, process, before):
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    texts = [(folder.parent / f"{folder.name}.{name}").read_bytes() for name in ("stdout", "stderr")]
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    new = {name: content for name, content in found.items() if before.get(name) != content and "b.db" not in name}
    return Outcome(code, texts[0], texts[1].decode("utf-8", "replace"), new, spent(folder))


@pytest.fixture
def tried(original, tmp_path):
    """Run a command with some ends of its line in a copy of the folder, all at once, and return the outcomes."""
    folder = tmp_path / "work"
    shutil.copytree(original, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def run(command, *more, happens=lambda: None):
        import shlex

        words = [[*command.split(), *shlex.split(f"{TRIES[command][0]} {one}")] for one in more]
        processes = [start(folder, each, happens) for each in words]
        return [ended(folder, process, before) for process in processes]

    return run


def said(case, command, out, outcome):
    print(  # noqa: T201 - the table of tries
        f"{case:<10} {command + ' ' + out:<36} exit {outcome.code} spent {outcome.spent:g} files {sorted(outcome.files)} "
          f"stderr: {outcome.stderr.strip()[-200:]!r}"
    )  # fmt: skip


BOTH = [
    (command, out)
    for command, (_, result) in TRIES.items()
    for out in dict.fromkeys(("", result))
    if out or command not in ("train", "search", "schema release", "card")
]


def quick_where_it_charges():
    """Every case of the commands that charge, and of each other one in turn; the demo fits for minutes, and spends nothing."""
    for number, (command, out) in enumerate(BOTH):
        for place, case in enumerate(CASES):
            if case == "no room" and command in CHARGES:
                continue  # the ledger cannot be written either: see the next test
            marks = [] if command in CHARGES or place == number % len(CASES) else [pytest.mark.full]
            yield pytest.param(command, out, case, marks=[pytest.mark.slow] if command == "demo" else marks)


@pytest.mark.parametrize(("command", "out", "case"), [*quick_where_it_charges()])
def test_nothing_is_spent_without_a_result_or_a_message(tried, case, command, out):
    (outcome,) = tried(command, out, happens=CASES[case])
    said(case, command, out, outcome)
    assert outcome.code in (0, 1, 2), outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert "unexpected" not in outcome.stderr
    results = [name for name in outcome.files if name.startswith("new")]
    if outcome.spent:
        assert "spent" in outcome.stderr or results or outcome.stdout
        assert command in CHARGES
    if case == "code page":
        assert outcome.code == (2 if command in ("federate fit", "federate owner") else 0), outcome.stderr
    elif case != "no room" and out and outcome.code == 0:
        assert results or "demo" in out
    assert not [name for name in outcome.files if name.endswith(".tmp")]


def test_a_release_of_which_no_label_passes_keeps_its_ranges_and_no_fit_pays_for_them(tried):
    (outcome,) = tried("schema release", "--out new.toml --epsilon 0.1")
    assert (outcome.code, outcome.spent) == (0, 0.1)
    assert "no class stands out" in outcome.stderr
    assert b"high = " in outcome.files["new.toml"]
    (refused,) = tried("train", "--out new.h --schema new.toml")
    assert (refused.code, refused.spent) == (2, 0.1)
    assert "none was released" in refused.stderr


@pytest.mark.parametrize("command", sorted(CHARGES))
@pytest.mark.parametrize("name", ["b.db", "p.csv", "s.toml", "m.h"])
def test_no_output_replaces_what_a_command_reads(tried, command, name):
    """``--force`` does not either; a file that the command does not read is another's, and may be replaced by it."""
    (outcome,) = tried(command, f"--force --out {name}")
    mine = name in TRIES[command][0].split()
    assert (outcome.code, outcome.spent) == ((2, 0) if mine else (0, 1)), outcome.stderr
    assert (name in outcome.files) == (not mine)


@pytest.mark.parametrize("command", sorted(CHARGES))
@pytest.mark.parametrize("name", ["link", "pipe", "/dev/full", "/dev/stdout"])
def test_no_output_takes_the_place_of_a_pipe_or_of_a_ledger_behind_a_link(tried, command, name):
    def happens():
        os.symlink("b.db", "link")
        os.mkfifo("pipe")
        _, writing = os.pipe()
        os.dup2(writing, 1)
        sys.stdout = stream(1)

    (outcome,) = tried(command, f"--force --out {name}", happens=happens)
    assert (outcome.code, outcome.spent) == (2, 0), outcome.stderr
    assert ("history" if name == "link" else f"{name} is no ordinary file") in outcome.stderr


@pytest.mark.full
@pytest.mark.parametrize("command", sorted(CHARGES))
def test_two_runs_of_one_name_keep_both_results(tried, command):
    (_, out), name = TRIES[command], TRIES[command][1].removeprefix("--out ")
    outcomes = tried(command, out, out)
    paid = outcomes[-1].spent
    results = {found for outcome in outcomes for found in outcome.files if found.startswith("new")}
    assert name in results
    assert len(results) == paid
    for outcome in outcomes:
        assert outcome.code == 0 or (outcome.code == 2 and "exists already" in outcome.stderr)


@pytest.mark.full
@pytest.mark.parametrize("command", sorted(CHARGES))
def test_a_disk_that_takes_no_result_is_told_with_what_was_spent(tried, command):
    """Neither the folder nor that of temporary files takes a file; the ledger stands elsewhere."""

    def happens():
        def fail(*_):
            raise OSError(28, "No space left on device")

        os.fsync = fail

    (outcome,) = tried(command, TRIES[command][1], happens=happens)
    assert outcome.code == 1
    assert outcome.spent == 1
    assert "No space left" in outcome.stderr
    assert "was spent, but no" in outcome.stderr
    assert not [name for name in outcome.files if name.startswith("new") or name.endswith(".tmp")]


def federation(folder, model):
    text = (
        f'[[owner]]\nname = "a"\nkey = "00"\nrows = 9\n[fit]\nsystem = "Stub"\nschema = "s.toml"\nmodel = "{model}"\n'
    )
    (folder / "f.toml").write_text(text, "utf-8")
    return folder / "f.toml"


def test_the_model_of_owners_replaces_nothing(original, tmp_path, monkeypatch):
    folder, fits = tmp_path / "work", []
    shutil.copytree(original, folder)

    class Stub:
        certificate_ = "certificate"

        def __init__(self, **given):
            pass

        def fit(self, records):
            fits.append(records)
            return self

        def save(self, path):
            Path(path).write_text("new", "utf-8")

    monkeypatch.setattr(hr, "Stub", Stub, raising=False)
    monkeypatch.setattr(owners, "PrivateEstimator", Stub)
    given = SimpleNamespace(source=SimpleNamespace(traffic="3 bytes"), with_progress=lambda _: given)
    monkeypatch.setattr(owners, "records", lambda *_, **__: given)
    for name in ("b.db", "s.toml", "f.toml", "none/m.h"):
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        with pytest.raises((click.UsageError, hr.ConfigurationError)):
            owners.fit_over(None, federation(folder, name))
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before | {
            "f.toml": (folder / "f.toml").read_bytes()
        }
    assert not fits
    before = (folder / "m.h").read_bytes()
    owners.fit_over(None, federation(folder, "m.h"))
    assert (folder / "m.h").read_bytes() == before
    assert (folder / "m-1.h").read_text("utf-8") == "new"


def test_an_app_replaces_no_project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("mine", "utf-8")
    refused = CliRunner().invoke(main, ["federate", "app", str(tmp_path)])
    assert refused.exit_code == 2
    assert (tmp_path / "pyproject.toml").read_text("utf-8") == "mine"
    for _ in range(2):  # the same files may be written again
        assert CliRunner().invoke(main, ["federate", "app", str(tmp_path / "app")]).exit_code == 0
