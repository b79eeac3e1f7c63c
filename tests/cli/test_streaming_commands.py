"""Commands on more records than memory: files one after another, block by block, and nothing told but on a terminal."""

import io
import sys
from pathlib import Path

import pytest
from people import table_of_people

import hedgerow as hr
from hedgerow.cli import inputs, options
from hedgerow.cli.models import predict
from hedgerow.engines import local
from hedgerow.reading import table_file
from hedgerow.reading.table_file import read_table

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def pieces(folder):
    """The people in three files, beside the one that holds them all."""
    header, *lines = table_of_people().splitlines()
    for name, start, stop in (("a", 0, 7), ("b", 7, 7), ("c", 7, 60)):
        text = "\n".join([header, *lines[start:stop]]) + "\n"
        (folder / f"part-{name}.csv").write_text(text, "utf-8")
    return folder


def seeded(train, *options, data):
    result = train("--force", "--param", "random_state=1", *options, data=data)
    assert result.exit_code == 0, result.output
    return result, Path("m.hedgerow").read_bytes()


@pytest.mark.parametrize("system", ["edprf", "hedgerow"])
@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_a_pattern_of_files_is_trained_on_as_one(pieces, train, system, monkeypatch):
    monkeypatch.setattr(local, "MOST_ROWS", 11)
    monkeypatch.setattr(local, "FEWEST_ROWS", 11)
    whole, model = seeded(train, "--system", system, data="people.csv")
    parts, same = seeded(train, "--system", system, "--memory", "64MiB", data="part-*.csv")
    assert model == same
    assert (parts.stdout, parts.stderr) == (whole.stdout, whole.stderr)


def test_a_stream_is_the_model_of_what_is_read_at_once(pieces, train):
    """A fit in Python on these columns gives the streamed model."""
    _, model = seeded(train, data="people.csv")
    schema = hr.Schema.load("people.toml")
    columns = read_table("people.csv")
    labels = columns.pop("income")
    hr.EDPRFClassifier(epsilon=1.0, schema=schema, random_state=1).fit(columns, labels).save("own.hedgerow")
    assert Path("own.hedgerow").read_bytes() == model


def test_predictions_of_a_pattern_follow_one_another(pieces, run, train):
    seeded(train, data="people.csv")
    assert run("predict", "m.hedgerow", "part-*.csv").stdout == run("predict", "m.hedgerow", "people.csv").stdout


def test_warnings_of_a_pattern_are_of_all_its_files(pieces, run, train):
    seeded(train, data="people.csv")
    broken = "20\n"
    for name in ("part-a.csv", "part-c.csv"):
        with (pieces / name).open("a") as file:
            file.write(broken)
    with (pieces / "people.csv").open("a") as file:
        file.write(2 * broken)
    whole, parts = (run("predict", "m.hedgerow", data) for data in ("people.csv", "part-*.csv"))
    assert parts.stderr == whole.stderr
    assert "in 2 records: all cells of such a record are missing" in parts.stderr


def test_a_folder_is_the_pattern_of_its_files(pieces, run, train):
    (pieces / "parts").mkdir()
    for path in pieces.glob("part-*.csv"):
        path.rename(pieces / "parts" / path.name)
    (pieces / "parts" / "notes.txt").write_text("no records")
    _, model = seeded(train, data="parts")
    assert model == seeded(train, data="parts/*.csv")[1]
    assert run("predict", "m.hedgerow", "parts").stdout == run("predict", "m.hedgerow", "people.csv").stdout


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ("none-*.csv", [], "no file is named like"),
        ("p*", [], "names Parquet files and others"),
        ("part-*.csv", ["--holdout", "0.5", "--holdout-epsilon", "1"], "pass one file"),
        ("part-*.csv", ["--memory", "a lot"], "no amount of memory"),
        ("part-*.csv", ["--memory", "1MiB"], "too little"),
        ("part-b.csv", [], "there are no records"),
    ],
)
def test_wrong_usage(pieces, train, is_refused, data, options, words):
    (pieces / "people.parquet").write_bytes(b"PAR1")
    is_refused(train(*options, data=data), 2, words)


@pytest.mark.parametrize(
    ("text", "size"), [("64MiB", 2**26), ("1 GiB", 2**30), ("2gb", 2 * 10**9), ("0.5g", 5 * 10**8), ("67108864", 2**26)]
)
def test_memory_is_read_in_usual_units(text, size):
    assert options._memory(text) == size


def test_every_file_is_checked_before_anything_is_spent(pieces, train, is_refused):
    (pieces / "part-d.csv").write_text("age,income\n20,low\n", "utf-8")
    is_refused(train(data="part-*.csv"), 2, "part-d.csv lacks")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
def test_progress_is_for_a_terminal_alone_and_tells_shares(monkeypatch, kind):
    stream = kind()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(inputs, "PAUSE", 0.0)
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=[0, 1])
    batches = [{"a": [0.25] * 1237, "y": [0] * 1237}] * 3
    with inputs.ShareProgress() as progress:
        records = hr.Records.from_batches(batches, label="y").with_progress(progress)
        hr.EDPRFClassifier(schema=schema).fit(records)
        progress.read(0.456)
    text = stream.getvalue()
    if kind is Terminal:
        assert "reading" in text
        assert "100 % of round 1 counted" in text
        assert " 45 % of the bytes read" in text
        assert "3711" not in text
        assert text.endswith(" \r")
    else:
        assert text == ""


def test_progress_reads_shares_of_bytes(pieces):
    shares = []

    class Told:
        def read(self, share):
            shares.append(share)

        def counted(self, question, share):
            shares.append(share)

    records = hr.Records.from_csv("part-*.csv").with_progress(Told())
    hr.EDPRFClassifier(schema=hr.Schema.load("people.toml")).fit(records)
    assert all(0 < share <= 1 for share in shares)
    assert shares[1] == 1.0


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
def test_predict_tells_on_a_terminal_how_much_was_read(pieces, train, monkeypatch, kind):
    """Shares of the bytes of all files, never how many records there are."""
    seeded(train, data="people.csv")
    stream = kind()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(inputs, "PAUSE", 0.0)
    monkeypatch.setattr(table_file, "BLOCK_LINES", 25)
    files = [Path(f"part-{name}.csv") for name in "abc"]
    sizes = [path.stat().st_size for path in files]
    predict.callback(Path("m.hedgerow"), tuple(files), Path("out.csv"), False, True, None, None, ("age",), ",")
    text = stream.getvalue()
    if kind is Terminal:
        assert f" {int(100 * sizes[0] / sum(sizes)):3d} % of the bytes read" in text
        assert "100 % of the bytes read" in text
        assert "60" not in text.replace("60 %", "")
        assert text.endswith(" \r" + "wrote out.csv\n")
    else:
        assert text == "wrote out.csv\n"


def test_holding_out_lines_shows_rounds_as_well(folder, train, monkeypatch):
    seen = []
    monkeypatch.setattr(inputs.ShareProgress, "counted", lambda self, question, share: seen.append(question))
    assert train("--holdout", "0.3", "--holdout-epsilon", "1").exit_code == 0
    assert seen[:2] == [1, 2]
