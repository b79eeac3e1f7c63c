"""Schema release, evaluate and search on several files, block by block; what they cost, whatever happens."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.cli import inputs
from hedgerow.engines import local

matplotlib.use("Agg")

pytestmark = pytest.mark.filterwarnings("ignore:no (range|value)")


@pytest.fixture
def patients(tmp_path, monkeypatch):
    """Patients with a date, an integer and a boolean column, in one file and in two."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 3000)
    day = np.datetime64("2019-01-01") + rng.integers(0, 1500, 3000)
    smokes = rng.random(3000) < 0.4
    ill = np.where(age + 25 * smokes + rng.normal(0, 9, 3000) > 65, "yes", "no")
    lines = [",".join(map(str, row)) for row in zip(age, day, smokes, ill, strict=True)]
    for name, part in (("patients", lines), ("part-a", lines[:2000]), ("part-b", lines[2000:])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["age,admitted,smokes,ill", *part]) + "\n")
    hr.Schema(
        {"age": hr.Integer(0, 100), "admitted": hr.Date("2015-01-01", "2025-12-31"), "smokes": hr.Boolean()},
        classes=["no", "yes"],
        target="ill",
    ).save(tmp_path / "patients.toml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(local, "FEWEST_ROWS", 1)
    monkeypatch.setattr(local, "MOST_ROWS", 411)
    return tmp_path


RELEASE = ("--target", "ill", "--numeric", "age", "--date", "admitted", "--categorical", "smokes", "--delta", 1e-6)
SEARCH = ("--schema", "patients.toml", "--epsilon", 4, "--try", "max_depth=1,3", "--param", "n_estimators=5")
SEARCH += ("--system", "edprf")


def test_a_schema_is_released_of_a_pattern(patients, answer, run):
    document = answer("schema", "release", "part-*.csv", "--epsilon", 40, *RELEASE, "--out", "s.toml")
    assert document["certificate"]["holds"]
    made = hr.Schema.load("s.toml")
    assert isinstance(made.features["age"], hr.Integer)
    assert made.features["admitted"].unit == "day"
    assert made.features["admitted"].ends[0][:4] in ("2018", "2019")
    assert made.features["admitted"].ends[1][:4] in ("2023", "2024")
    assert set(made.features["smokes"].values) == {"True", "False"} or len(made.features["smokes"].values) == 2
    assert document["ranges"]["admitted"]["records"] == pytest.approx(3000, abs=100)
    trained = run("train", "part-*.csv", "--schema", "s.toml", "--epsilon", 2, "--out", "m.hedgerow")
    assert trained.exit_code == 0, trained.output


def test_columns_of_all_kinds_go_from_a_draft_to_curves(patients, run):
    drafted = run("schema", "init", "patients.csv", "--target", "ill")
    assert drafted.exit_code == 0, drafted.output
    assert "dates 2019-01-01 to 2023-02-08" in drafted.stderr
    assert "dates 2019-01-01 to 2023-02-08; its" not in drafted.stderr  # no end is one record's
    draft = hr.Schema.from_toml(drafted.stdout)
    kinds = {name: type(one) for name, one in draft.features.items()}
    assert kinds == {"age": hr.Integer, "admitted": hr.Date, "smokes": hr.Boolean}
    draft.confirm().save("own.toml")
    options = ["--system", "hedgerow", "--epsilon", 8, "--param", "n_estimators=12", "--out", "m.hedgerow"]
    assert run("train", "patients.csv", "--schema", "own.toml", *options).exit_code == 0
    model = hr.load("m.hedgerow")
    for name in draft.names:
        (ax,) = hr.FeatureDisplay.from_estimator(model, name).axes_
        assert name in ax.get_xlabel() + ax.get_title("left")
    plt.close("all")


def test_a_report_card_of_a_pattern_is_that_of_the_whole(patients, answer, run):
    assert (
        run("train", "patients.csv", "--schema", "patients.toml", "--epsilon", 4, "--out", "m.hedgerow").exit_code == 0
    )
    cards = [answer("evaluate", "m.hedgerow", data, "--epsilon", 1e6) for data in ("patients.csv", "part-*.csv")]
    assert cards[0]["counts"] == cards[1]["counts"]  # there is no noise to speak of
    assert cards[0]["records"] == 3000


def test_a_search_writes_a_model(patients, answer, run):
    hr.LedgerStore("budgets.db").create("people", epsilon=4)
    booked = ["--ledger", "budgets.db", "--dataset", "people"]
    result = run("search", "part-*.csv", *SEARCH, "--out", "m.hedgerow", *booked)
    assert result.exit_code == 0, result.output
    assert "best of the candidates of EDPRFClassifier: max_depth=" in result.stdout
    assert "Privacy certificate of PrivateSearchCV" in result.stdout
    model = hr.load("m.hedgerow")
    assert model.certificate_.holds
    assert hr.LedgerStore("budgets.db").ledger("people").spent == 4
    assert run("search", "part-*.csv", *SEARCH, "--out", "n.hedgerow", *booked).exit_code == 3
    assert not Path("n.hedgerow").exists()
    options = ["--force", "--refit", 0.3]
    document = answer("search", "patients.csv", *SEARCH, "--out", "m.hedgerow", *options)
    assert set(document) == {"model", "best_params", "certificate"}
    assert document["best_params"]["max_depth"] in (1, 3)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("search", "patients.csv", *SEARCH, "--try", "max_depth=2", "--out", "m"), "twice"),
        (("search", "patients.csv", *SEARCH, "--try", "depth=2", "--out", "m"), "no parameter 'depth'"),
        (("search", "patients.csv", *SEARCH, "--try", "max_bins", "--out", "m"), "no '='"),
        (("search", "patients.csv", *SEARCH, "--try", "max_bins=few,4", "--out", "m"), "must be an integer"),
        (("search", "patients.csv", *SEARCH[:4], "--try", "max_bins=8", "--out", "m"), "1 candidates"),
        (("search", "patients.csv", *SEARCH, "--refit", 2, "--out", "m"), "refit"),
        (("schema", "release", "p*", "--epsilon", 1, *RELEASE, "--out", "s.toml"), "others; name those of one kind"),
        (
            (
                "schema",
                "release",
                "part-*.csv",
                "--epsilon",
                1,
                *RELEASE[:4],
                "--delta",
                0,
                "--class",
                "yes",
                "--out",
                "s.toml",
            ),
            "'admitted', 'smokes'",
        ),
    ],
)
def test_wrong_usage(patients, run, is_refused, command, words):
    (patients / "p.parquet").write_bytes(b"PAR1")
    is_refused(run(*command), 2, words)


def test_what_is_spent_is_said_where_a_question_breaks_off(patients, run, monkeypatch):
    assert (
        run("train", "patients.csv", "--schema", "patients.toml", "--epsilon", 4, "--out", "m.hedgerow").exit_code == 0
    )

    def broken(*_):
        raise hr.EngineError("a partition is lost.")

    monkeypatch.setattr("hedgerow.table.PartitionedTable.answer", broken)
    for command in (
        ("schema", "release", "part-*.csv", "--epsilon", 3, *RELEASE, "--out", "s.toml"),
        ("evaluate", "m.hedgerow", "part-*.csv", "--epsilon", 3),
        ("search", "part-*.csv", *SEARCH, "--out", "n.hedgerow"),
    ):
        result = run(*command)
        assert result.exit_code == 1
        assert "a partition is lost." in result.stderr
        assert "as spent" in result.stderr
    assert not Path("n.hedgerow").exists()
    assert not Path("s.toml").exists()


def test_a_pipe_is_read_at_once(patients, answer, monkeypatch):
    monkeypatch.setattr(inputs.Path, "is_file", lambda self: self.name != "patients.csv")
    document = answer("schema", "release", "patients.csv", "--epsilon", 40, *RELEASE, "--out", "s.toml")
    assert document["ranges"]["admitted"]["records"] == pytest.approx(3000, abs=100)
    classes = ["--class", "no", "--class", "yes"]
    assert answer(
        "schema", "release", "patients.csv", "--epsilon", 40, *RELEASE, "--force", "--out", "s.toml", *classes
    )


def test_nothing_is_told_of_how_far_it_is_but_on_a_terminal(patients, run):
    result = run("schema", "release", "part-*.csv", "--epsilon", 40, *RELEASE, "--out", "s.toml")
    assert result.exit_code == 0
    assert result.stderr == f"wrote {patients / 's.toml'}\n"
    assert result.stdout.startswith("Privacy certificate of private_schema")
