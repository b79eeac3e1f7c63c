import csv
import io
import re
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from made_up_results import results

import hedgerow as hr
from hedgerow.datasets import Dataset
from hedgerow.errors import ConfigurationError, DatasetError
from hedgerow.papers.reproduce import fits, pages, run
from hedgerow.papers.reproduce.experiment import FORMS, Axis, Experiment, Panel, PaperClaim, Results
from hedgerow.papers.reproduce.fits import load_split
from hedgerow.papers.reproduce.judges import above
from hedgerow.papers.reproduce.pages import readme
from hedgerow.papers.reproduce.statements import Paper, curves_of
from hedgerow.papers.reproduce.verdicts import Verdict
from hedgerow.schema import Encoder

matplotlib.use("Agg")

AXIS = Axis("epsilon", "epsilon", (0.1, 1.0), log=True)
GAP = {"within": ["fig1"], "first": "tree", "others": ["majority rule"], "x": [1.0]}
HEADLINE = {
    "text": "The tree is ahead by <gap>.",
    "otherwise": "The tree is not ahead: <gap>.",
    "figures": {"gap": GAP},
}


def made_up_paper():
    """A paper with one figure that can be drawn and one whose data set is lost."""
    methods = {"tree": {"system": "pfdpdt", "max_depth": 1}, "majority rule": {"system": "majority"}}
    small = Experiment(
        name="paper/fig1",
        title="A small figure",
        settings="Two budgets.",
        axis=AXIS,
        curves=tuple(curves_of(AXIS, methods, ["small"])),
        reported={(Panel("made up"), "tree", 1.0): 0.5},
        claims=(
            PaperClaim("4.2", "the tree is above the rule", above("tree", ["majority rule"])),
            PaperClaim("", "the rule is above the tree (ours)", above("majority rule", ["tree"])),
        ),
        notes=("Of no paper | at all.", f"A long note: {'epsilon / 10 - ln(alpha), ' * 12}and its end."),
    )
    other = replace(small, name="paper/fig2", curves=tuple(curves_of(AXIS, methods, ["lost"])))
    return Paper("paper", "A paper", "Somebody, 2020", (small, other), (HEADLINE,))


@pytest.fixture
def request_of(tmp_path, monkeypatch, small_tasks):
    """A request for experiments of a made-up paper."""
    paper = made_up_paper()
    known = {experiment.name: experiment for experiment in paper.experiments}
    monkeypatch.setattr(run, "PAPERS", (paper,))
    monkeypatch.setattr(run, "experiments_named", lambda names: tuple(known[name] for name in names))
    monkeypatch.setattr("sys.stderr", io.StringIO())

    def make(*names, **changes):
        given = {"seeds": 2, "jobs": 1, "out": tmp_path / "out", "rows": tmp_path / "rows"}
        return {"names": names, **given, **changes}

    return make


def pages_in(written):
    """The page of the paper, without the account above it."""
    return [path for path in written if path.suffix == ".md" and path.name != "README.md"]


def test_a_run_writes_figure_table_and_pages(request_of, tmp_path):
    written = run.reproduce(**request_of("paper/fig1"))
    assert [path.relative_to(tmp_path / "out").as_posix() for path in written] == [
        "figures/paper-fig1.png",
        "figures/paper-fig1.csv",
        "paper-fig1.md",
    ]
    assert all(path.stat().st_size for path in written)
    png, table, markdown = (path.read_bytes() for path in written)
    assert png.startswith(b"\x89PNG")
    rows = list(csv.DictReader(table.decode().splitlines()))
    assert [(row["method"], row["form"], row["x"], row["runs"]) for row in rows] == [
        ("tree", "published", "0.1", "2"),
        ("tree", "published", "1", "2"),
        ("tree", "private", "0.1", "2"),
        ("tree", "private", "1", "2"),
        ("majority rule", "without privacy", "0.1", "1"),
        ("majority rule", "without privacy", "1", "1"),
    ]
    text = markdown.decode()
    assert "![paper/fig1](figures/paper-fig1.png)" in text
    assert "| form | holds | does not | cannot be told | not judged | sentences |" in text
    assert "| section | the paper says | run in | as printed | private form |" in text
    said = [line for line in text.splitlines() if line.startswith("| 4.2 | the tree is above the rule | fig1 | ")]
    assert len(said) == 1
    assert said[0].count("ahead by ") == 2
    assert pages.text_of("rules") in text
    assert (
        "| our own check | as printed | private form |\n| -- | -- | -- |\n| the rule is above the tree (ours) | "
        in text
    )
    assert "The tree is" not in text  # for a headline two runs are too few
    assert "| made up | tree | 1 | 0.500 | " in text
    assert "Runs of every point: as printed 2; private form 2." in " ".join(text.split())
    assert "(paper-map.md)" in text
    assert "\n\n\n" not in text


@pytest.mark.parametrize(
    ("changes", "printed"),
    [
        ({"seeds": 10}, True),
        ({"seeds": 9}, False),
        ({"seeds": 10, "part": True}, False),
    ],
)
def test_conclusions_stand_only_above_a_whole_run(request_of, monkeypatch, changes, printed):
    paper = made_up_paper()
    first = paper.experiments[0]
    known = (first, replace(first, name="paper/fig3"))
    monkeypatch.setattr(run, "PAPERS", (replace(paper, experiments=known),))
    chosen = known[:1] if changes.pop("part", False) else known
    monkeypatch.setattr(run, "experiments_named", lambda names: chosen)
    shown = []
    [markdown] = pages_in(run.reproduce(**request_of("paper", **changes), show=shown.append))
    text = " ".join(markdown.read_text().split())
    assert len(re.findall(r"The tree is (not )?ahead", text)) == len(shown) == printed
    assert all(line.removeprefix("A paper. ") in text for line in shown)


def answered(printed, private, section="4"):
    verdicts = {FORMS["published"]: Verdict(printed, "by how much"), FORMS["private"]: Verdict(private, "ours")}
    return pages.Finding("paper/fig1", section, f"{printed}, {private}", verdicts)


@pytest.mark.usefixtures("small_tasks")
def test_the_account_tells_what_stands_in_which_form():
    answers = ("holds", "does not", "cannot be told")
    findings = tuple(answered(printed, private) for printed in answers for private in answers)
    booked = pages.Finding("paper/fig1", "5", "booked", {pages.EITHER: Verdict("holds")})
    own = answered("does not", "holds", section="")
    paper = made_up_paper()
    section = pages.Section(Results(paper.experiments[0], {}, 1), (*findings, booked, own), False)
    text = readme([(paper, [section])], {paper.title: "The tree is ahead."}, ("10 runs of every point.",))
    assert "**A paper.** The tree is ahead." in text
    *_, account = text.partition("## The account")
    assert "| A paper | as printed | 3 | 3 | 3 | 0 | 9 |" in account
    assert "| A paper | without runs | 1 | 0 | 0 | 0 | 1 |" in account
    lines = [
        line.strip("| ").split(" | ") for line in account.partition("| what decides |")[2].splitlines()[2:] if line
    ]
    assert len(lines) == 10
    assert ["A paper", "4", "does not, holds", "does not", "holds", "by how much"] in lines
    assert any(line[2:4] == ["booked", "holds"] for line in lines)


@pytest.mark.usefixtures("small_tasks")
def test_a_headline_says_what_the_rows_say():
    for there, sentence in ((0.5, "The tree is ahead by +.30."), (0.9, "The tree is not ahead: -.10.")):
        found = results({"tree": (0.6, 0.7, 0.8), "majority rule": (there,) * 3})
        experiment = replace(found.experiment, name="paper/fig1")
        section = pages.Section(Results(experiment, found.rows, 4), (), False)
        assert pages.headline(replace(made_up_paper(), headlines=(HEADLINE,)), [section]) == sentence
    stands = replace(
        section, findings=(pages.Finding("paper/fig1", "4", "so", {FORMS["published"]: Verdict("holds")}),)
    )
    unless = {**HEADLINE, "positive": [], "unless": "so"}
    heads = [pages.headline(replace(made_up_paper(), headlines=(unless,)), [one]) for one in (section, stands)]
    assert heads == ["The tree is ahead by -.10.", "The tree is not ahead: -.10."]


def test_a_sentence_that_another_reading_or_the_authors_code_bears_out_is_not_contradicted():
    for form in (f"{FORMS['published']}, one record at a time", FORMS["coded"]):
        verdicts = {
            FORMS["published"]: Verdict("does not"),
            form: Verdict("holds"),
            FORMS["private"]: Verdict("does not"),
        }
        assert pages.Finding("paper/fig1", "4", "said", verdicts).standing == pages.OTHERWISE
    private = {FORMS["published"]: Verdict("cannot be told"), FORMS["private"]: Verdict("does not")}
    assert pages.Finding("paper/fig1", "4", "said", private).standing == "cannot be told"


def test_only_a_run_of_everything_writes_the_account(request_of, monkeypatch, tmp_path):
    paper = made_up_paper()
    whole = replace(paper, experiments=paper.experiments[:1])
    for papers, written in (((paper,), False), ((whole,), True)):
        monkeypatch.setattr(run, "PAPERS", papers)
        names = [path.name for path in run.reproduce(**request_of("paper/fig1"))]
        assert ("README.md" in names) == written


def test_a_note_of_several_figures_stands_once(request_of, monkeypatch):
    paper = made_up_paper()
    first = paper.experiments[0]
    known = (first, replace(first, name="paper/fig3", notes=(*first.notes, "Of figure 3 alone.")))
    monkeypatch.setattr(run, "PAPERS", (replace(paper, experiments=known),))
    monkeypatch.setattr(run, "experiments_named", lambda names: known)
    [markdown] = pages_in(run.reproduce(**request_of("paper", seeds=1)))
    text = markdown.read_text()
    assert text.count("Of no paper | at all.") == 1
    assert (
        text.index(pages.SHARED)
        < text.index("Of no paper")
        < text.index("paper/fig1: A small figure", text.index(pages.SHARED))
    )
    assert text.index("paper/fig3: A small figure", text.index(pages.SHARED)) < text.index("Of figure 3 alone.")


def test_the_same_command_gives_the_same_files_and_runs_nothing_again(request_of, tmp_path):
    first = {path: path.read_bytes() for path in run.reproduce(**request_of("paper/fig1"))}
    rows = (tmp_path / "rows/small.csv").read_bytes()
    assert {path: path.read_bytes() for path in run.reproduce(**request_of("paper/fig1"))} == first
    assert (tmp_path / "rows/small.csv").read_bytes() == rows


def test_without_the_data_the_error_says_where_to_get_it(request_of, tmp_path):
    with pytest.raises(DatasetError, match="put it there"):
        run.reproduce(**request_of("paper/fig2"))
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_nothing_is_run(request_of, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigurationError, match="pip install matplotlib"):
        run.reproduce(**request_of("paper/fig1"))
    assert list(tmp_path.iterdir()) == []


def test_fewer_records_are_a_part_of_more(small_tasks):
    split = load_split("small")
    few, more = split.first(10), split.first(20)
    assert len(few.y_train) == 10
    assert np.array_equal(few.X_train["a"], more.X_train["a"][:10])
    assert split.first(0) is split
    assert split.first(10**6) is split
    assert (len(split.y_train), len(split.y_test)) == (90, 30)


def test_words_are_read_once_and_become_their_codes(small_tasks):
    split = load_split("small")
    assert split.schema.features["b"] == hr.Categorical(range(2))
    assert {column.dtype for column in (*split.X_train.values(), *split.X_test.values())} == {np.dtype(np.float64)}
    assert sorted(np.bincount(split.X_train["b"].astype(int)) + np.bincount(split.X_test["b"].astype(int))) == [60, 60]


def test_cells_that_are_missing_or_undeclared_stay_so(small_tasks, monkeypatch):
    schema = hr.Schema(
        {"b": hr.Categorical(["x", "y"]), "c": hr.Numeric(0, 9)}, classes=["no", "yes"], missing=["?", "-1"]
    )
    X = np.array([["y", "3"], ["?", "-1"], ["z", "4"], ["x", "5"]], dtype=object)
    data = Dataset("made up", X, np.array(["no", "yes"] * 2), schema, X_test=X, y_test=np.array(["no", "yes"] * 2))
    monkeypatch.setitem(fits.TASKS, "small", fits.Task("made up", lambda: data))
    split = load_split("small")
    before, after = (
        Encoder(known, 4).transform(cells) for known, cells in ((schema, X), (split.schema, split.X_train))
    )
    assert np.array_equal(before, after)


def test_missing_and_undeclared_words_stay_what_they_are(small_tasks, monkeypatch):
    data = small_tasks["small"].load()
    data.X[:2, 1] = "?", "z"
    schema = hr.Schema(data.schema.features, data.schema.classes, missing=["?"])
    data = Dataset("odd", data.X, data.y, schema)
    monkeypatch.setitem(fits.TASKS, "odd", replace(small_tasks["small"], load=lambda: data))
    split = load_split("odd")
    cells = np.concatenate([split.X_train["b"], split.X_test["b"]])
    assert (np.isnan(cells).sum(), (~np.isin(cells, (0, 1)) & ~np.isnan(cells)).sum()) == (1, 1)
    by_text, by_place = (Encoder(one, 2) for one in (schema, split.schema))
    X_train, X_test, _, _ = data.split(0.25, 3)
    assert np.array_equal(by_text.transform(X_train), by_place.transform(split.X_train))
    assert np.array_equal(by_text.transform(X_test), by_place.transform(split.X_test))


def test_the_larger_class_is_drawn_with_replacement_and_gaps_are_filled(small_tasks, monkeypatch):
    small = small_tasks["small"]
    monkeypatch.setitem(fits.TASKS, "drawn", replace(small, drawn=1000))
    splits = []
    for _ in range(2):
        load_split.cache_clear()
        splits.append(load_split("drawn"))
    y, whole = splits[0].y_train, load_split("small").y_train
    larger, smaller = ("yes", "no") if np.mean(whole == "yes") > 0.5 else ("no", "yes")
    assert (np.sum(y == larger), np.sum(y == smaller)) == (1000, np.sum(whole == smaller))
    assert len(set(splits[0].X_train["a"][y == larger])) <= np.sum(whole == larger) < 1000
    assert sorted(splits[0].X_train["a"][y == smaller]) == sorted(load_split("small").X_train["a"][whole == smaller])
    assert np.any(y[:100] == smaller)  # in random order
    assert np.array_equal(y, splits[1].y_train)
    cells = np.array([["?", "a"], ["x", "?"], ["?", "?"], ["y", "b"]], dtype=object)
    assert fits._filled(cells).tolist() == [["?", "a"], ["x", "a"], ["x", "a"], ["y", "b"]]
