import pytest

from hedgerow.errors import DatasetError
from hedgerow.papers.reproduce import fits
from hedgerow.papers.reproduce.statements import experiments_named


def test_the_list_names_every_experiment(run):
    result = run("reproduce", "list")
    assert result.exit_code == 0
    assert result.stderr == ""
    names = [line.split()[0] for line in result.stdout.splitlines() if line.startswith("  ")]
    assert names == [experiment.name for experiment in experiments_named(["all"])]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["edprf/fig99"], "reproduce list"),
        ([], "NAME"),
        (["edprf", "--seeds", "0"], "--seeds"),
        (["all", "--jobs", "x"], "--jobs"),
    ],
)
def test_wrong_usage(run, is_refused, tmp_path, monkeypatch, arguments, word):
    monkeypatch.chdir(tmp_path)
    is_refused(run("reproduce", *arguments), 2, word)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_needs_no_data(run, tmp_path):
    result = run("reproduce", "edprf/fig3", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    written = [line.rpartition("/")[2] for line in result.stdout.splitlines()]
    assert written == ["edprf-fig3.png", "edprf-fig3.md"]
    assert "gets .82 | fig3 | holds: booked" in (tmp_path / "out/edprf-fig3.md").read_text()


def test_without_the_data_one_sentence_says_where_to_get_them(run, tmp_path, monkeypatch):
    def lost():
        raise DatasetError("hedgerow may not fetch the diabetes data; get the files from there.")

    for name in ("diabetes", "robot"):
        monkeypatch.setitem(fits.TASKS, name, fits.Task(name, lost))
    fits.load_split.cache_clear()
    result = run("reproduce", "edprf/fig9", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[-1] == "Error: hedgerow may not fetch the diabetes data; get the files from there."
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()
