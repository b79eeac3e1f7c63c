"""Plans of fits: from public numbers alone, the event that a fit books, and noise that follows from it."""

from __future__ import annotations

import inspect
import math

import pytest

import hedgerow as hr

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


def test_the_plan_command_reads_and_spends_nothing(folder, run, answer):
    result = run("plan", "--schema", "people.toml", "--records", 5000, "--epsilon", 1, "--delta", 1e-6)
    assert result.exit_code == 0, result.output
    assert "nothing was read or spent" in result.stdout
    document = answer("plan", "--schema", "people.toml", "--records", 5000, "--epsilon", 1, "--system", "edprf")
    assert document["steps"]
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
