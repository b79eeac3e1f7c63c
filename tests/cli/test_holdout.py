import json

import numpy as np
import pytest

import hedgerow as hr
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


HELD_OUT = ("--holdout", "0.5", "--holdout-epsilon", "1e6")


def test_training_never_sees_what_is_tested_and_the_card_is_of_the_others(folder, train, monkeypatch):
    seen, fit = [], EDPRFClassifier.fit

    def keep(self, X, y, groups=None):
        seen.append(X)
        return fit(self, X, y, groups)

    monkeypatch.setattr(EDPRFClassifier, "fit", keep)
    content = np.random.default_rng(1).bytes(8 * 60)
    monkeypatch.setattr("hedgerow.analysis.held_out.Randomness", lambda random_state: Given(content))
    result = train(*HELD_OUT, "--json")
    assert result.exit_code == 0, result.output
    tested = np.frombuffer(content, dtype=np.uint64) < 2**63
    [table] = seen[0].source.stream.tables()
    columns = read_table("people.csv")
    assert {name: cells.tolist() for name, cells in table.items()} == {
        name: cells[~tested].tolist() for name, cells in columns.items()
    }
    card = json.loads(result.stdout)["holdout"]
    assert card["records"] == tested.sum()  # there is no noise to speak of
    held = {name: np.asarray(cells)[tested] for name, cells in columns.items()}
    accuracy = np.mean(hr.load("m.hedgerow").predict(held) == held["income"])
    assert card["figures"]["accuracy"]["value"] == pytest.approx(accuracy)


def test_without_holdout_there_are_no_figures(train):
    for options in ([], ["--json", "--force"]):
        result = train(*options)
        assert result.exit_code == 0
        assert [word for word in ("accuracy", "AUC", "auc", "Report card") if word in result.output] == []
    assert json.loads(result.stdout)["holdout"] is None


@pytest.mark.parametrize("options", [HELD_OUT[:2], HELD_OUT[2:]])
def test_both_options_are_asked_for(folder, train, is_refused, options):
    is_refused(train(*options), 2, "pass both")


@pytest.mark.parametrize("share", ["0", "1", "-0.1", "1.5", "nan", "half"])
def test_a_wrong_share(train, is_refused, share):
    is_refused(train("--holdout", share), 2, "--holdout")


@pytest.mark.parametrize("coin", [b"\x00", b"\xff"], ids=["held out", "trained on"])
def test_a_table_of_one_line_trains_whichever_part_it_is_in(folder, train, monkeypatch, coin):
    """A refusal would tell that a part is empty."""
    monkeypatch.setattr("hedgerow.analysis.held_out.Randomness", lambda random_state: Given(coin * 8))
    (folder / "people.csv").write_text("age,marital status,code,income\n30,single,1,low\n")
    result = train(*HELD_OUT, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["holdout"]["records"] == (coin == b"\x00")


def test_the_card_has_a_budget_of_its_own_in_the_same_ledger(folder, train):
    hr.LedgerStore("budgets.db").create("people", epsilon=4)
    options = ("--holdout", 0.4, "--holdout-epsilon", 2, "--ledger", "budgets.db", "--dataset", "people")
    result = train(*options)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("holds      yes") == 2
    ledger = hr.LedgerStore("budgets.db").ledger("people")
    assert ledger.spent == 3
    (folder / "m.hedgerow").unlink()
    refused = train(*options)
    assert (refused.exit_code, ledger.spent) == (3, 4)
    assert "epsilon 1 was spent, and the model is whole in" in refused.stderr
