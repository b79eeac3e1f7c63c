"""A file of prices from a draft of a schema to a report card, by the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main

SCHEMA = """\
target = "price"

[outcome]
type = "integer"
low = 0
high = 20000

[features.carat]
low = 0
high = 5

[features.cut]
values = ["Fair", "Ideal"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("prices"), np.random.default_rng(0)
    carat, cut = rng.uniform(0, 5, 6000).round(2), rng.choice(["Fair", "Ideal"], 6000)
    price = (2000 * carat + 3000 * (cut == "Ideal") + rng.gamma(2, 150, 6000)).round().astype(object)
    price[:3] = ["free", "", 99_999]
    data = pd.DataFrame({"carat": carat, "cut": cut, "price": price})
    data.to_csv(folder / "prices.csv", index=False)
    data[4500:].to_csv(folder / "new.csv", index=False)
    data[3:].astype({"price": float}).to_parquet(folder / "prices.parquet")
    (folder / "schema.toml").write_text(SCHEMA)
    run("train", folder / "prices.csv", "--schema", folder / "schema.toml", "--epsilon", 2, "--out", folder / "model")
    return folder


def run(*words, code=0):
    found = CliRunner().invoke(main, [str(word) for word in words])
    assert found.exit_code == code, found.output
    return found


def test_a_draft_with_an_outcome_is_a_schema_that_no_guarantee_rests_on(folder):
    found = run("schema", "init", folder / "prices.csv", "--outcome")
    schema = hr.Schema.from_toml(found.stdout)
    low, high = schema.outcome.low, schema.outcome.high
    assert schema.outcome == hr.Integer(low, high, missing=["99999", "free"], origin="inferred")
    assert high < 20_000  # 99999 is far beyond all others, and so a code of missing cells
    assert schema.inferred == ["carat", "cut", "outcome"]
    assert "of the target 'price'" in found.stderr
    assert "3 records with no number" in found.stderr
    assert "pass --outcome" in run("schema", "init", folder / "prices.csv").stderr


def test_an_outcome_with_decimal_commas_is_drafted_and_read(tmp_path):
    file, draft = tmp_path / "stays.csv", tmp_path / "draft.toml"
    rows = [f"{1 + k % 9},{k % 10};1.{k:03d},50;{'ja' if k % 3 else 'nein'}\n" for k in range(60)]
    file.write_text("days;price;again\n" + "".join(rows))
    found = run("schema", "init", file, "--outcome", "--target", "price", "--out", draft)
    assert "of the target 'price': range 1000.5 to 1059.5" in found.stderr
    assert "with no number" not in found.stderr
    assert hr.Schema.load(draft).outcome == hr.Numeric(1000.5, 1059.5, decimal=",", thousands=".", origin="inferred")
    assert "labels: 0 missing, 0 undeclared" in run("schema", "check", file, "--schema", draft).stdout
    words = run("schema", "init", file, "--outcome", "--target", "again").stderr
    assert "of the target 'again': no cell is a number, and the range 0 to 1 is made up" in words


def test_checks_count_what_is_beyond_the_range(folder):
    text = run("schema", "check", folder / "prices.csv", "--schema", folder / "schema.toml").stdout
    assert "0 below and 1 above the range" in text
    values = run("schema", "check", folder / "prices.csv", "--schema", folder / "schema.toml", "--json").stdout
    assert json.loads(values)["labels"] == {"missing": 1, "undeclared": 1, "below": 0, "above": 1}


def test_the_system_is_chosen_by_the_schema(folder):
    model = hr.load(folder / "model")
    assert isinstance(model, hr.HedgerowRegressor)
    assert model.certificate_.holds
    frame = pd.read_csv(folder / "new.csv")
    assert model.score(frame[["carat", "cut"]], frame["price"].astype(float)) > 0.5


@pytest.mark.parametrize("system", ["hedgerow", "forest"])
def test_a_classifier_by_name_is_refused(folder, tmp_path, system):
    words = ["train", folder / "prices.csv", "--schema", folder / "schema.toml", "--epsilon", 1, "--system", system]
    assert "predicts classes" in run(*words, "--out", tmp_path / "model", code=2).output
    assert not (tmp_path / "model").exists()


def test_files_of_either_kind_give_the_same_model(folder, tmp_path):
    outs = []
    for name in ("prices.csv", "prices.parquet"):
        words = [folder / name, "--schema", folder / "schema.toml", "--epsilon", 2, "--param", "random_state=0"]
        run("train", *words, "--out", tmp_path / name)
        outs.append(hr.load(tmp_path / name))
    frame = pd.read_csv(folder / "new.csv")[["carat", "cut"]]
    # The CSV file has one record more that counts: 99 999, which is read as 20 000.
    assert np.corrcoef(outs[0].predict(frame), outs[1].predict(frame))[0, 1] > 0.9


def test_held_out_lines_are_measured_by_errors(folder, tmp_path):
    words = ["train", folder / "prices.csv", "--schema", folder / "schema.toml", "--epsilon", 2, "--holdout", 0.3]
    found = json.loads(run(*words, "--out", tmp_path / "b", "--holdout-epsilon", 1, "--json").stdout)
    assert set(found["holdout"]["figures"]) == {"rmse", "mae", "r2", "bias"}


def test_predictions_are_numbers(folder):
    lines = run("predict", folder / "model", folder / "new.csv", "--keep", "price").stdout.splitlines()
    assert lines[0] == "price,prediction"
    frame = pd.read_csv(folder / "new.csv")[["carat", "cut"]]
    assert hr.load(folder / "model").predict(frame).tolist() == [float(line.split(",")[1]) for line in lines[1:]]
    assert "predicts a number" in run("predict", folder / "model", folder / "new.csv", "--proba", code=2).output


def test_a_report_goes_to_a_file_and_onto_the_card(folder, tmp_path):
    text = run(
        "evaluate", folder / "model", folder / "new.csv", "--epsilon", 1, "--out", tmp_path / "report.json"
    ).stdout
    assert "rmse" in text
    report = json.loads((tmp_path / "report.json").read_text())
    card = hr.RegressionCard.from_dict(report)
    assert str(card) in text
    model = hr.load(folder / "model")
    frame = pd.read_csv(folder / "new.csv")[["carat", "cut"]]
    assert model.predict_interval(frame, 0.8, card=card).shape == (len(frame), 2)
    run("card", folder / "model", "--report", tmp_path / "report.json", "--out", tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text()
    assert "Outcome: a number, 0 to 20000 (given)." in page
    assert "rmse" in page


def test_intervals_follow_from_a_report(folder, tmp_path):
    report = tmp_path / "report.json"
    run("evaluate", folder / "model", folder / "new.csv", "--epsilon", 2, "--out", report)
    words = ["predict", folder / "model", folder / "new.csv", "--interval", 0.8, "--report", report]
    lines = run(*words, "--keep", "price").stdout.splitlines()
    assert lines[0] == "price,prediction,low,high"
    model, frame = hr.load(folder / "model"), pd.read_csv(folder / "new.csv")
    card = hr.RegressionCard.from_dict(json.loads(report.read_text()))
    expected = model.predict_interval(frame[["carat", "cut"]], 0.8, card=card)
    written = np.array([line.split(",")[2:] for line in lines[1:]], dtype=float)
    assert np.array_equal(written, expected)
    inside = (expected[:, 0] <= frame.price) & (frame.price <= expected[:, 1])
    assert inside.mean() > 0.75


def test_intervals_need_a_regressor_and_a_report(folder, tmp_path):
    model, data = folder / "model", folder / "new.csv"
    missing = run("predict", model, data, "--interval", 0.8, code=2).output
    assert "hedgerow evaluate" in missing
    assert "add --records-per-person 1" in missing
    assert "--interval LEVEL" in run("predict", model, data, "--report", folder / "schema.toml", code=2).output
    schema = hr.Schema({"carat": hr.Numeric(0, 5), "cut": hr.Categorical(["Fair", "Ideal"])}, classes=["a", "b"])
    frame = pd.read_csv(data)[["carat", "cut"]]
    hr.ForestClassifier(schema=schema, epsilon=1.0).fit(frame, ["a", "b"] * 750).save(tmp_path / "classes")
    words = ["predict", tmp_path / "classes", data, "--interval", 0.8, "--report", folder / "schema.toml"]
    assert "predicts classes, which have no intervals" in run(*words, code=2).output


def test_a_released_schema_has_the_outcomes_range(folder, tmp_path):
    columns = ["--target", "price", "--numeric", "carat", "--categorical", "cut"]
    words = ["schema", "release", folder / "prices.csv", "--epsilon", 8, "--delta", 1e-5, *columns]
    out = tmp_path / "released.toml"
    document = json.loads(run(*words, "--outcome", "--out", out, "--json").stdout)
    assert document["ranges"]["price"]["records"] > 5000
    schema = hr.Schema.load(out)
    assert schema.outcome.origin == "released"
    assert list(schema.releases.values()) == [["carat", "cut", "outcome"]]
    run("train", folder / "prices.csv", "--schema", out, "--epsilon", 2, "--out", tmp_path / "model")
    assert isinstance(hr.load(tmp_path / "model"), hr.HedgerowRegressor)
    refused = run(*words, "--outcome", "--class", "a", "--out", tmp_path / "other.toml", code=2)
    assert "--class LABEL or --outcome" in refused.output


def test_inspect_says_which_loss_was_chosen(folder):
    model = hr.load(folder / "model")
    assert model.loss == "auto"
    lines = run("inspect", folder / "model").stdout.splitlines()
    assert [line.split(None, 1)[1] for line in lines if line.split()[:1] == ["loss"]] == [f"auto: {model.loss_}"]
