"""Plans of fits: from public numbers alone, the event that a fit books, and noise that follows from it."""

from __future__ import annotations

import csv
import inspect
import math
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.analysis import outlook
from hedgerow.analysis.outlook import benchmarks_of

SCHEMA = hr.Schema(
    {
        "age": hr.Integer(17, 90),
        "income": hr.Numeric(0, 1e5),
        "since": hr.Date("2000-01-01", "2024-12-31"),
        "smokes": hr.Boolean(),
        "job": hr.Categorical(["nurse", "clerk", 3]),
    },
    classes=["ill", "well"],
)


X = {
    "age": [20, 70],
    "income": [1.0, 9e4],
    "since": ["2001-01-01", "2020-05-05"],
    "smokes": [0, 1],
    "job": ["nurse", 3],
}


@pytest.mark.filterwarnings("ignore:the noisy number")
@pytest.mark.parametrize("system", ["hedgerow", "edprf", "forest", "smooth-boost", "diffgen", "tpdprf"])
def test_it_is_the_plan_that_a_fit_books(system):
    found = hr.plan(SCHEMA, records=3000, epsilon=1.0, system=system)
    kind = getattr(hr, found.system)
    ledger = hr.Ledger(epsilon=1)
    kind(epsilon=1.0, schema=SCHEMA, ledger=ledger).fit(X, ["ill", "well"])
    booked = ledger.entries[0].certificate
    assert booked.event == found.certificate.event
    assert booked.claim == found.certificate.claim
    purposes = {line.purpose for line in booked.lines}
    assert {step.purpose for step in found.steps} <= purposes
    assert found.questions >= len(found.steps) >= 1


def test_noise_halves_where_epsilon_doubles_and_never_sees_the_number_of_records():
    first, other, twice = (
        hr.plan(SCHEMA, records=records, epsilon=epsilon, system="sulq-id3", max_depth=3)
        for records, epsilon in ((100, 1.0), (10**6, 1.0), (100, 2.0))
    )
    assert first.steps == other.steps
    for one, half in zip(first.steps, twice.steps, strict=True):
        assert one.noise == pytest.approx(2 * half.noise, rel=1e-6)
    spent = sum(step.times * math.sqrt(2) / step.noise for step in first.steps)
    assert 0.99 < spent <= 1 + 1e-9  # one record's path costs the whole epsilon


def test_it_takes_no_records_and_reads_none(monkeypatch):
    assert not {"X", "y", "path", "data"} & set(inspect.signature(hr.plan).parameters)
    monkeypatch.setattr("hedgerow.reading.columns.read_columns", lambda *_, **__: pytest.fail("records were read"))
    assert hr.plan(SCHEMA, records=1000, epsilon=1.0).bins > 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"records": 0}, "records"),
        ({"records": 10.5}, "records"),
        ({"records": [1, 2]}, "records"),
        ({"epsilon": 0}, "epsilon"),
        ({"system": "none"}, "none"),
        ({"adjacency": "x"}, "adjacency"),
        ({"schema": "people.toml"}, "hr.Schema"),
        ({"schema": hr.Schema({"a": hr.Boolean(origin="inferred")}, [0, 1])}, "read off"),
        ({"max_depth": -1, "system": "edprf"}, "max_depth"),
        ({"variant": "published", "system": "edprf"}, "published"),
    ],
)
def test_wrong_arguments_of_plans_are_refused(changes, words):
    settings = {"schema": SCHEMA, "records": 10, "epsilon": 1.0, **changes}
    with pytest.raises(hr.ConfigurationError, match=words):
        hr.plan(settings.pop("schema"), **settings)


def test_the_plan_command_reads_and_spends_nothing(folder, run):
    result = run("plan", "--schema", "people.toml", "--records", 5000, "--epsilon", 1, "--delta", 1e-6)
    assert result.exit_code == 0, result.output
    assert "nothing was read or spent" in result.stdout
    result = run("plan", "--schema", "people.toml", "--records", 5000, "--epsilon", 1, "--system", "edprf")
    assert "permute-and-flip" in result.stdout
    assert run("plan", "--schema", "people.toml", "--epsilon", 1).exit_code == 2
    assert run("plan", "--schema", "people.toml", "--records", 0, "--epsilon", 1).exit_code == 2


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_of_a_step_is_that_of_its_cost(delta):
    """Beside the laws: a normal count has the deviation 1 / mu, a two-sided geometric one nearly sqrt(2) / epsilon."""
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    kinds = set()
    for step in hr.plan(schema, records=5000, epsilon=1.0, delta=delta).steps:
        kind, cost = step.cost.split()
        cost = float(cost.removesuffix("..."))
        assert step.noise == pytest.approx(cost**-0.5 if kind == "mu^2" else math.sqrt(2) / cost, rel=1e-3)
        kinds.add(kind)
    assert kinds == ({"mu^2", "epsilon"} if delta else {"epsilon"})


@pytest.mark.parametrize("claim", [{}, {"adjacency": "replace-one"}, {"records_per_person": 4}, {"delta": 1e-6}])
@pytest.mark.parametrize("outcome", [False, True])
def test_the_picture_of_a_plan_has_the_noise_of_its_steps_and_benchmarks_at_one_record(outcome, claim):
    pytest.importorskip("matplotlib").use("Agg")
    labels = {"outcome": hr.Numeric(0, 1)} if outcome else {"classes": [0, 1]}
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, **labels)
    display = hr.PlanDisplay.from_schema(schema, records=4000, epsilon=2.0, **claim)
    times = claim.get("records_per_person", 1) * (2 if "adjacency" in claim else 1)
    for line in (*display.noise, *display.accuracy, *display.width):
        assert line.x == pytest.approx([times * epsilon for epsilon in (0.1, 0.3, 1, 3, 10)])
    middle = hr.plan(schema, records=4000, epsilon=float(times), **claim)
    assert {line.label: line.mean[2] for line in display.noise} == {
        step.purpose: step.noise / 4000 for step in middle.steps
    }
    assert len(display.accuracy) == len(display.width) == 5
    if claim:  # a picture of the same lines, elsewhere
        return
    display.plot()
    titles = [ax.get_title(loc="left") for ax in display.ax_]
    assert display.plan.system in titles[0]
    assert all("public sets" in title for title in titles[1:])


@pytest.mark.parametrize("classes", [True, False])
def test_benchmarks_are_those_of_the_shipped_table_and_between_its_numbers_of_records_between_them(classes):
    with Path(outlook.__file__).with_name("outlook.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == ("classes" if classes else "numbers")]
    for row in rows:
        (found,) = [one for one in benchmarks_of(int(row["records"]), classes=classes) if one.data == row["data"]]
        place = found.epsilons.tolist().index(float(row["epsilon"]))
        assert found.width[place] == pytest.approx(float(row["width"]))
        assert found.kept[place] == pytest.approx(float(row["score"]) / float(row["boosting"]))
    for low, middle, high in zip(
        *(benchmarks_of(records, classes=classes) for records in (500, 1000, 2000)), strict=True
    ):
        assert middle.kept == pytest.approx((low.kept + high.kept) / 2)
    for few, one in zip(*(benchmarks_of(records, classes=classes) for records in (1, 500)), strict=True):
        assert few.kept == pytest.approx(one.kept)


@pytest.mark.parametrize("name", ["plan.png", "plan.svg", "plan.pdf"])
def test_the_plan_command_draws_and_replaces_a_picture_by_force_alone(folder, run, name):
    pytest.importorskip("matplotlib")
    words = ("plan", "--schema", "people.toml", "--records", 5000, "--epsilon", 1, "--out", name)
    assert run(*words).exit_code == 0
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:]]
    assert (folder / name).read_bytes().startswith(begins)
    if name != "plan.png":  # what follows is the same for every kind of picture
        return
    assert run(*words).exit_code == 2
    assert run(*words, "--force").exit_code == 0
    for other in ("plan", "plan.jpeg", "people.toml"):
        assert run(*words[:-1], other).exit_code == 2
