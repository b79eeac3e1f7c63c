"""Whatever breaks off ``hedgerow train``: no file is half written, and the message says what became of the budget."""

import errno
import os
import signal
import subprocess
import sys
import time
from fnmatch import fnmatch

import pytest

import hedgerow as hr
from hedgerow.papers.edprf import EDPRFClassifier
from hedgerow.privacy.filter import began

TRAIN = ["train", "people.csv", "--schema", "people.toml", "--epsilon", "1", "--system", "edprf", "--out", "m.hedgerow"]
INPUTS = ["people.csv", "people.toml"]
SWEEPABLE = ".hedgerow-*.tmp"
AT_NOTHING = "Nothing was spent."
AT_BEGUN = "The fit had begun: count epsilon 1 as spent. No model was written."
AT_FITTED = "epsilon 1 was spent, but no model was written."
AT_WRITTEN = "epsilon 1 was spent, and the model is whole in"


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def start(*arguments, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([sys.executable, "-m", "hedgerow", *arguments], **options)


def at(target):
    """Return where in the command a fault falls, by what is called then."""
    home, _, name = target.rpartition(".")
    return {"train": "hedgerow.cli.train", "spending": "hedgerow.cli.inputs", "os": "os"}[home] + "." + name


STAGES = [
    ("spending.records_of", AT_NOTHING, False),
    ("fit", AT_NOTHING, False),
    ("open_stream", AT_BEGUN, False),
    ("save", AT_FITTED, False),
    ("os.link", AT_FITTED, False),
    ("train._report", AT_WRITTEN, True),
]


@pytest.mark.parametrize(
    ("error", "code", "said"), [(KeyboardInterrupt(), 130, "interrupted."), (MemoryError(), 1, "out of memory.")]
)
@pytest.mark.parametrize(("stage", "outcome", "written"), STAGES)
def test_a_failure_says_what_was_spent(folder, train, monkeypatch, stage, outcome, written, error, code, said):
    def fail(*_, **__):
        raise error

    if stage == "open_stream":  # the first draw has its number
        monkeypatch.setattr("hedgerow.mechanisms.randomness.open_stream", fail)
    elif "." in stage:
        monkeypatch.setattr(at(stage), fail)
    else:
        monkeypatch.setattr(EDPRFClassifier, stage, fail)
    result = train()
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.strip().startswith(f"Error: {said} {outcome}")
    assert result.stderr.strip().count("\n") == 0
    assert files(folder) == sorted([*INPUTS, *(["m.hedgerow"] if written else [])])
    if written:
        assert hr.load("m.hedgerow").certificate_.holds


def test_an_interrupt_right_after_the_name_was_taken_knows_that_there_is_a_model(folder, train, monkeypatch):
    link = os.link

    def link_and_break(*paths):
        link(*paths)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", link_and_break)
    assert f"interrupted. {AT_WRITTEN} {folder / 'm.hedgerow'}" in train().stderr
    assert files(folder) == ["m.hedgerow", *INPUTS]


@pytest.mark.parametrize("force", [False, True])
def test_a_model_that_was_there_is_not_taken_for_the_new_one(folder, train, monkeypatch, force):
    def fit_while_another_writes(*_):
        (folder / "m.hedgerow").write_text("another")
        began()
        raise KeyboardInterrupt

    monkeypatch.setattr(EDPRFClassifier, "fit", fit_while_another_writes)
    assert AT_BEGUN in train(*(["--force"] if force else [])).stderr


def test_a_delta_is_told_as_well(train, monkeypatch):
    def fail(*_):
        began()
        raise KeyboardInterrupt

    monkeypatch.setattr(hr.HedgerowClassifier, "fit", fail)
    assert "count epsilon 1, delta 1e-6 as spent" in train("--system", "hedgerow", "--delta", "1e-6").stderr


@pytest.mark.parametrize("error", [hr.ConfigurationError("wrong."), hr.BudgetExceeded("nothing was drawn.")])
def test_a_refusal_speaks_for_itself(train, monkeypatch, is_refused, error):
    def refuse(*_):
        raise error

    monkeypatch.setattr(EDPRFClassifier, "fit", refuse)
    result = train()
    assert result.stderr == f"Error: {error}\n"
    is_refused(result, 3 if isinstance(error, hr.BudgetExceeded) else 2)


def test_a_full_disk_after_a_fit_says_that_the_budget_is_spent(folder, train, is_refused, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "m.hedgerow")

    monkeypatch.setattr(EDPRFClassifier, "save", fail)
    is_refused(train(), 1, f"m.hedgerow: No space left on device. {AT_FITTED}")


# processes


@pytest.fixture
def compiled(folder, train):
    """Run a training once, so that those that follow load compiled code."""
    assert train(out="first.hedgerow").exit_code == 0
    (folder / "first.hedgerow").unlink()


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("rounds", [pytest.param(1, marks=pytest.mark.full), pytest.param(8, marks=pytest.mark.slow)])
def test_of_two_trainings_to_one_file_each_keeps_its_model(folder, rounds):
    for _ in range(rounds):
        running = [start(*TRAIN) for _ in range(2)]
        ended = sorted((process.communicate()[1], process.returncode) for process in running)
        [(other, other_code), (first, first_code)] = ended
        assert (first, first_code) == (f"wrote {folder / 'm.hedgerow'}\n", 0)
        if other_code == 2:  # it began when the first one had ended
            assert "exists already" in other
            names = ["m.hedgerow"]
        else:
            assert other_code == 0
            assert f"the model is in {folder / 'm-1.hedgerow'}" in other
            names = ["m-1.hedgerow", "m.hedgerow"]
        assert files(folder) == [*names, *INPUTS]
        for name in names:
            assert hr.load(name).certificate_.holds
            (folder / name).unlink()


@pytest.mark.full
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is always full")
def test_a_full_stdout_is_known_before_anything_is_spent(folder):
    with open("/dev/full", "w") as full:
        process = start(*TRAIN, stdout=full)
        assert process.communicate()[1] == "Error: stdout: No space left on device.\n"
    assert process.returncode == 1
    assert files(folder) == INPUTS


@pytest.mark.full
@pytest.mark.usefixtures("compiled")
def test_a_reader_of_stdout_who_left_leaves_no_doubt(folder):
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*TRAIN, stdout=writing)
    os.close(writing)
    said = process.communicate()[1]
    assert (process.returncode, said.startswith(f"Error: Broken pipe. {AT_WRITTEN}")) == (1, True), said
    assert hr.load("m.hedgerow").certificate_.holds


@pytest.mark.full
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_stream_is_no_trouble(folder, stream):
    number = {"stdout": 1, "stderr": 2}[stream]
    process = start(*TRAIN, preexec_fn=lambda: os.close(number))
    process.communicate()
    assert process.returncode == 0
    assert hr.load("m.hedgerow").certificate_.holds


@pytest.mark.full
def test_predictions_that_do_not_fit_fail_and_those_that_nobody_reads_are_quiet(folder, train):
    train()
    with open("/dev/full", "w") as full:
        process = start("predict", "m.hedgerow", "people.csv", stdout=full)
        assert process.communicate()[1] == "Error: stdout: No space left on device.\n"
    assert process.returncode == 1
    reading, writing = os.pipe()
    os.close(reading)
    process = start("predict", "m.hedgerow", "people.csv", stdout=writing)
    os.close(writing)
    assert process.communicate()[1] == ""


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("rounds", [pytest.param(2, marks=pytest.mark.full), pytest.param(16, marks=pytest.mark.slow)])
def test_interrupts_and_kills_at_any_time(folder, people, rounds):
    """Ctrl-C gives one sentence; no kill leaves anything but whole models and names that can be swept."""
    header, _, records = people.partition("\n")
    (folder / "people.csv").write_text(header + "\n" + records * 2000, "utf-8")
    begin = time.monotonic()
    start(*TRAIN).communicate()
    whole = time.monotonic() - begin
    for number in range(rounds):
        (folder / "m.hedgerow").unlink(missing_ok=True)
        process = start(*TRAIN)
        time.sleep(whole * (0.4 + 0.6 * number / rounds))
        process.send_signal(signal.SIGKILL if number % 2 else signal.SIGINT)
        said = process.communicate()[1]
        left = [name for name in files(folder) if name not in INPUTS]
        assert [name for name in left if name != "m.hedgerow" and not fnmatch(name, SWEEPABLE)] == []
        if "m.hedgerow" in left:
            assert hr.load("m.hedgerow").certificate_.holds
        if process.returncode == 130 and "interrupted. " in said:
            assert said.count("\n") <= 2
            assert "Traceback" not in said
            assert ("m.hedgerow" in left) == (AT_WRITTEN in said)
            assert any(words in said for words in (AT_NOTHING, AT_BEGUN, AT_FITTED, AT_WRITTEN))


LEDGER = ("--ledger", "budget.db", "--dataset", "people")
COLUMNS = ("--numeric", "age", "--categorical", "code", "--categorical", "marital status")
RELEASE = ("--epsilon", "9", "--delta", "1e-6", "--target", "income", "--class", "low", "--class", "high", *COLUMNS)
WRITERS = {
    "train": TRAIN[:-2],
    "evaluate": ("evaluate", "m.hedgerow", "people.csv", "--epsilon", "1"),
    "search": ("search", *TRAIN[1:-2], "--try", "n_estimators=2,3"),
    "release": ("schema", "release", "people.csv", *RELEASE),
    "card": ("card", "m.hedgerow"),
    "predict": ("predict", "m.hedgerow", "people.csv"),
    "export": ("export", "m.hedgerow", "--to", "json"),
    "init": ("schema", "init", "people.csv", "--target", "income"),
}


@pytest.fixture
def ledger(folder, train, run):
    assert train().exit_code == 0
    assert run("budget", "create", *LEDGER, "--epsilon", "10").exit_code == 0
    return folder / "budget.db"


@pytest.mark.parametrize("name", ["budget.db", "budget.db-wal", "budget.db-journal"])
@pytest.mark.parametrize("command", WRITERS)
def test_no_output_is_written_over_a_ledger(ledger, run, is_refused, command, name):
    before = ledger.read_bytes()
    charges = command in ("train", "evaluate", "search", "release")
    done = run(*WRITERS[command], *(LEDGER if charges else ()), "--out", name, "--force")
    is_refused(done, 2, "store of ledgers")
    assert ledger.read_bytes() == before
    assert not (ledger.parent / name).exists() or name == "budget.db"


@pytest.mark.filterwarnings("ignore:no range is promised")  # of so few records
@pytest.mark.parametrize("command", ["train", "evaluate", "search", "release"])
def test_a_result_whose_name_was_taken_meanwhile_is_kept_beside_it(ledger, run, monkeypatch, command):
    """Whoever took the name did so after the command had looked."""
    place = ledger.parent / "result.out"
    place.write_text("somebody else's")
    module = "train" if command == "train" else "queries"
    monkeypatch.setattr(f"hedgerow.cli.{module}.refuse_overwriting", lambda *_: None)
    done = run(*WRITERS[command], "--out", "result.out")
    assert done.exit_code == 0, done.output
    assert place.read_text() == "somebody else's"
    assert "result.out is another file by now" in done.stderr
    assert "result-1.out" in done.stderr
    assert (ledger.parent / "result-1.out").stat().st_size


def test_a_result_without_a_folder_that_takes_it_is_kept_among_temporary_files(folder, monkeypatch):
    from hedgerow import files as kept

    (folder / "tmp").mkdir()
    monkeypatch.setattr(kept, "gettempdir", lambda: str(folder / "tmp"))
    place = kept.write_kept(folder / "gone" / "m.hedgerow", lambda part: part.write_bytes(b"x"), replace=False)
    assert place.parent == folder / "tmp"
    assert place.read_bytes() == b"x"
    monkeypatch.setattr(kept, "gettempdir", lambda: str(folder / "none"))
    with pytest.raises(FileNotFoundError):
        kept.write_kept(folder / "gone" / "m.hedgerow", lambda part: part.write_bytes(b"x"), replace=False)


def spent(run):
    return run("budget", "show", *LEDGER).stdout.partition("spent")[2].split("\n")[0]


@pytest.mark.full
@pytest.mark.parametrize("out", [(), ("--out", "report.json")])
def test_a_report_is_in_its_file_before_it_is_shown(ledger, run, out):
    nothing = spent(run)
    command = ["hedgerow", *WRITERS["evaluate"], *LEDGER, *out]
    script = "import sys; sys.argv = sys.argv[1:]; from hedgerow.__main__ import main; main()"
    closed = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&-', "sh", sys.executable, "-c", script, *command], capture_output=True, text=True
    )
    if out:
        assert closed.returncode == 0, closed.stderr
        assert (ledger.parent / "report.json").stat().st_size
        (ledger.parent / "report.json").unlink()
    else:
        assert closed.returncode == 2
        assert "standard output is closed" in closed.stderr
        assert spent(run) == nothing
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*command[1:], stdout=writing)
    os.close(writing)
    error = process.communicate()[1]
    assert process.returncode == 1
    assert "epsilon 1 was spent" in error
    assert (ledger.parent / "report.json").exists() == bool(out) == ("the report is whole in" in error)


@pytest.mark.full
@pytest.mark.parametrize("command", ["predict", "inspect", "check"])
def test_letters_that_a_code_page_lacks_end_no_command(folder, command):
    schema = hr.Schema({"\u5e74": hr.Numeric(0, 1)}, classes=["\u5426", "\u662f"], target="\u7b54")
    schema.save("names.toml")
    (folder / "names.csv").write_text("\u5e74,\u7b54\n" + "0.1,\u5426\n0.9,\u662f\n" * 50, "utf-8")
    X = {"\u5e74": [0.1, 0.9] * 50}
    EDPRFClassifier(epsilon=1.0, schema=schema).fit(X, ["\u5426", "\u662f"] * 50).save("names.hedgerow")
    given = {
        "predict": ("predict", "names.hedgerow", "names.csv"),
        "inspect": ("inspect", "names.hedgerow"),
        "check": ("schema", "check", "names.csv", "--schema", "names.toml"),
    }
    process = start(*given[command], env={**os.environ, "PYTHONIOENCODING": "cp1252"}, encoding="cp1252")
    shown, error = process.communicate()
    assert process.returncode == 0, error
    assert "\\u" in shown + error
