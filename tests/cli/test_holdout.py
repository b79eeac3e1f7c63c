import json

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.cli.training import NOT_COVERED
from hedgerow.papers.edprf import EDPRFClassifier
from hedgerow.reading.table_file import read_table


class Given:
    """Coins that are known beforehand, in place of random ones."""

    def __init__(self, content):
        self.content = content

    def random_bits(self):
        return self

    def of(self, first_row, count):
        return np.frombuffer(self.content[: 8 * count], dtype=np.uint64)


@pytest.fixture
def coins(monkeypatch):
    """Replace the coins by given bytes."""

    def use(content):
        monkeypatch.setattr("hedgerow.analysis.held_out.Randomness", lambda random_state: Given(content))

    return use


@pytest.fixture
def fitted(monkeypatch):
    """Keep what ``fit`` was called with."""
    seen = []
    fit = EDPRFClassifier.fit

    def keep(self, X, y, groups=None):
        seen.append((X, y))
        return fit(self, X, y, groups)

    monkeypatch.setattr(EDPRFClassifier, "fit", keep)
    return seen


def test_a_table_of_few_lines_trains(folder, train, coins):
    coins(bytes(8))
    (folder / "people.csv").write_text("age,marital status,code,income\n30,single,1,low\n")
    result = train("--holdout", "0.5")
    assert result.exit_code == 0, result.output
    assert "held-out test on 1 line: accuracy " in result.stdout


def test_training_never_sees_what_is_tested(folder, train, coins, fitted):
    content = np.random.default_rng(1).bytes(8 * 60)
    coins(content)
    result = train("--holdout", "0.5")
    assert result.exit_code == 0, result.output
    tested = np.frombuffer(content, dtype=np.uint64) < 2**63
    [(records, _)] = fitted
    [seen] = records.source.stream.tables()
    assert {name: cells.tolist() for name, cells in seen.items()} == {
        name: cells[~tested].tolist() for name, cells in read_table("people.csv").items()
    }
    assert "holds      yes" in result.stdout


def test_the_figures_are_those_of_the_held_out_lines(folder, answer, coins):
    content = np.random.default_rng(2).bytes(8 * 60)
    coins(content)
    options = [
        "--schema",
        "people.toml",
        "--epsilon",
        "50",
        "--system",
        "edprf",
        "--out",
        "m.hedgerow",
        "--holdout",
        "0.5",
    ]
    found = answer("train", "people.csv", *options)["holdout"]
    tested = np.frombuffer(content, dtype=np.uint64) < 2**63
    columns = {name: np.asarray(cells)[tested] for name, cells in read_table("people.csv").items()}
    truth = columns.pop("income")
    model = hr.load("m.hedgerow")
    assert found["lines"] == tested.sum()
    assert found["accuracy"] == np.mean(model.predict(columns) == truth)
    shares = model.predict_proba(columns)[:, model.classes_.tolist().index("high")]
    wins = [np.sign(high - low) / 2 + 0.5 for high in shares[truth == "high"] for low in shares[truth == "low"]]
    assert found["roc_auc"] == pytest.approx(np.mean(wins))
    assert (found["covered_by_guarantee"], found["note"]) == (False, NOT_COVERED)


def test_the_page_says_that_nothing_covers_the_figures(train):
    page = train("--holdout", "0.5").stdout
    certificate, _, figures = page.partition("\nheld-out test on ")
    assert "accuracy" not in certificate
    assert "accuracy " in figures
    assert "ROC AUC " in figures
    assert [
        word
        for word in ("raw records", "NOT covered by the guarantee", "not leave the building")
        if word not in figures
    ] == []


def test_without_holdout_there_are_no_figures(train):
    for options in ([], ["--json", "--force"]):
        result = train(*options)
        assert result.exit_code == 0
        assert [word for word in ("accuracy", "AUC", "auc", "held-out") if word in result.output] == []
    assert json.loads(result.stdout)["holdout"] is None


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("low", "low"), (2, True, None)),
        (("low", "unheard of"), (1, True, None)),
        (("unheard of", ""), (0, False, None)),
    ],
)
def test_labels_that_cannot_be_scored(folder, answer, coins, labels, expected):
    coins(bytes(16))
    (folder / "people.csv").write_text(
        "age,marital status,code,income\n" + "".join(f"30,single,1,{label}\n" for label in labels)
    )
    options = [
        "--schema",
        "people.toml",
        "--epsilon",
        "1",
        "--system",
        "edprf",
        "--out",
        "m.hedgerow",
        "--holdout",
        "0.5",
    ]
    found = answer("train", "people.csv", *options)["holdout"]
    assert (found["lines"], found["accuracy"] is not None, found["roc_auc"]) == expected


def test_no_auc_for_three_classes(folder, train):
    text = (folder / "people.toml").read_text().replace('["low", "high"]', '["low", "high", "other"]')
    (folder / "people.toml").write_text(text)
    page = train("--holdout", "0.5").stdout
    assert "accuracy" in page
    assert "AUC" not in page


@pytest.mark.parametrize("share", ["0", "1", "-0.1", "1.5", "nan", "half"])
def test_a_wrong_share(train, is_refused, share):
    is_refused(train("--holdout", share), 2, "--holdout")
