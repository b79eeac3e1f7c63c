"""Released schemas: what passes a threshold, what a range promises, and that nothing else of the records is in them."""

from __future__ import annotations

import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from products import thinned

import hedgerow as hr
from hedgerow.analysis import ranges as ranges_module
from hedgerow.analysis.ranges import bounded, entry_of
from hedgerow.analysis.release import NO_VALUE, private_schema
from hedgerow.mechanisms import Geometric, PassesThreshold, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.reading.cells import count_values, object_array, public_value
from hedgerow.reading.columns import read_columns
from hedgerow.schema import Categorical, Date, Integer, Numeric, Schema

from schema.odd_cells import ODD, WORST  # isort: skip
from release_helpers import Scripted, beyond

pytestmark = [pytest.mark.filterwarnings("ignore:no range is promised"), pytest.mark.filterwarnings("ignore:delta is")]

SHARES = [("0.001", "1e-9"), ("0.05", "1e-7"), ("0.5", "1e-6"), ("2", "0.01"), ("20", "1e-6")]


def threshold(epsilon, delta, records=1):
    return PassesThreshold(Geometric(Fraction(epsilon)), Fraction(delta), records)


def worst_chance(mechanism, at):
    """The largest chance with which a person of k records shows something of theirs alone, at a threshold ``at``."""
    rate, k = float(mechanism.noise.rate.fraction), mechanism.records
    chances = [math.exp(-rate * (at - j)) / (1 + math.exp(-rate)) for j in (1, k)]
    return max(k * chances[0], chances[1])


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("records", [1, 3, 50])
def test_the_threshold_is_the_least_that_keeps_to_delta(share, records):
    mechanism = threshold(*share, records)
    least, delta = mechanism.threshold, float(mechanism.delta)
    assert worst_chance(mechanism, least) <= delta
    assert least == records + 1 or worst_chance(mechanism, least - 1) > delta  # one less is caught


@pytest.mark.parametrize("share", SHARES)
def test_thresholds_on_neighbors_exactly(share):
    """A value of one record is shown with at most delta; of others, one record more changes both chances by exp(epsilon)."""
    mechanism = threshold(*share)
    bound = math.exp(float(mechanism.noise.rate.fraction)) * (1 + 1e-9)
    assert mechanism.law(1)[1] <= float(mechanism.delta)
    for count in range(1, mechanism.threshold + 3, max(1, mechanism.threshold // 50)):
        one, more = mechanism.law(count), mechanism.law(count + 1)
        assert one.sum() == pytest.approx(1)
        assert (one <= bound * more).all()
        assert (more <= bound * one).all()


def test_a_threshold_on_a_wrong_rate_is_caught():
    """A planted bug: the threshold of one column's share with the noise of all columns together."""
    mechanism, planted = threshold("0.1", "1e-6"), threshold("0.5", "1e-6")
    assert worst_chance(mechanism, planted.threshold) > 1e-6


def test_values_of_one_person_are_shown_as_rarely_as_said():
    """The shipped operation at a delta that runs can see: two records of one value, one of another, many of a third."""
    X = {"a": ["rare"] + ["two"] * 2 + ["many"] * 60}
    mechanism = threshold("0.5", "0.2")
    shown = {"rare": 0, "two": 0, "many": 0}
    runs = 500
    for seed in range(runs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = private_schema(X, epsilon=0.5, delta=0.2, categorical=["a"], classes=[0, 1], random_state=seed)
        for value in set(made.features["a"].values) & set(shown):
            shown[value] += 1
    for value, count in (("rare", 1), ("two", 2), ("many", 60)):
        chance = mechanism.law(count)[1]
        assert abs(shown[value] / runs - chance) <= 4 * math.sqrt(chance * (1 - chance) / runs) + 1e-9
    assert shown["rare"] / runs <= 0.2 + 4 * math.sqrt(0.16 / runs)


def shapes(size=4000):
    rng = np.random.default_rng(1)
    return {
        "uniform": rng.random(size),
        "log-normal": np.exp(3 * rng.normal(size=size)),
        "spikes": np.where(rng.random(size) < 0.9, 0, rng.integers(1, 10**5, size)),
        "negative": -5 - rng.gamma(2, 3, size),
        "tiny": 1e-9 * rng.random(size),
        "huge": 1e18 * (1 + rng.random(size)),
        "constant": np.full(size, 7.0),
        "zero": np.zeros(size),
        "years": rng.integers(1990, 2021, size),
        "two-sided": rng.normal(size=size) * 1e3,
    }


@pytest.mark.parametrize("shape", thinned(shapes(), 5))
def test_promised_ranges_hold(shape):
    """60 runs: at most failure of them break the promise (two standard errors of tolerance), and promises are made."""
    values, failure, runs, promised, broken, whole = shapes()[shape], 0.05, 60, 0, 0, 0
    for seed in range(runs):
        made = private_schema({"x": values}, epsilon=5, numeric=["x"], classes=[0, 1], random_state=seed)
        one, feature = made.ranges_["x"], made.features["x"]
        promised += one.promised
        broken += one.promised and beyond(values, feature) > 0.01 * one.records + one.error
        whole += isinstance(feature, Integer)
    assert promised >= 57
    assert broken <= runs * failure + 2 * math.sqrt(runs * failure * (1 - failure))
    assert whole == (runs if shape in ("spikes", "constant", "zero", "years") else 0)


DAYS = np.datetime64("2000-01-01") + np.round(np.random.default_rng(2).normal(7000, 200, 4000)).astype("m8[D]")
BIRTHS = np.datetime64("1950-01-01") + np.random.default_rng(3).integers(0, 20_000, 4000).astype("m8[D]")
MOMENTS = DAYS.astype("M8[s]") + np.random.default_rng(4).integers(0, 86_400, 4000).astype("m8[s]")
SAME_DAY = np.full(4000, np.datetime64("1999-12-31"))
LAST_DAY = np.full(4000, np.datetime64("9999-12-31"))


@pytest.mark.parametrize(
    ("cells", "unit"),
    [(DAYS, "day"), (BIRTHS, "day"), (MOMENTS, "second"), (SAME_DAY, "day"), (LAST_DAY, "day")],
    ids=["days", "births", "moments", "same", "last"],
)
def test_promised_ranges_of_dates_hold(cells, unit):
    seconds, broken = cells.astype("M8[s]"), 0
    for seed in range(12):
        made = private_schema({"day": cells}, epsilon=5, dates=["day"], classes=[0, 1], random_state=seed)
        one, feature = made.ranges_["day"], made.features["day"]
        assert (type(feature), feature.unit, one.promised) == (Date, unit, True)
        low, high = (np.datetime64(end) for end in feature.ends)
        most = max(int((seconds < low).sum()), int((seconds > high).sum()))
        broken += most > 0.01 * one.records + one.error
        assert high - low < np.timedelta64(40_000, "D")
    assert broken <= 2
    assert Schema.from_toml(made.to_toml()).features["day"] == feature


def test_dates_of_every_table_are_read_alike_and_other_cells_are_none():
    X = pd.DataFrame({"day": DAYS})
    settings = {"epsilon": 5, "dates": ["day"], "classes": [0, 1], "random_state": 1}
    made = private_schema(X, **settings)
    assert made.ranges_["day"].records == pytest.approx(4000, abs=100)
    for other in (pl.from_pandas(X), X.astype(str), {"day": X["day"].tolist()}):
        assert private_schema(other, **settings).to_toml() == made.to_toml()
    numbers = private_schema({"day": object_array([1, "soon", 2.5, None] * 1000, 4000)}, **settings)
    assert {end[:8] for end in numbers.features["day"].ends} == {"2000-01-"}  # none is a date, so the range is made up
    assert abs(numbers.ranges_["day"].records) < 100


@pytest.mark.parametrize("ends", [(-1e300, 1e300), (-1e300, -1e9), (1e9, 1e300), (0.25, 0.5), (2921939, 2921940)])
@pytest.mark.parametrize("whole", [True, False])
def test_whatever_noise_makes_of_dates_is_a_range(ends, whole):
    """An error after the budget was spent would depend on records."""
    kind = Date("2000-01-01", "2000-01-02")
    low, high = bounded(kind, *ends) or (0.0, 1.0)
    entry = entry_of(kind, low, high, whole, "0" * 64)
    assert entry.low < entry.high


def test_where_counts_are_too_noisy_no_range_is_promised_and_the_user_told():
    with pytest.warns(UserWarning, match=r"no range is promised for 'x'.*may be off by") as caught:
        made = private_schema({"x": np.arange(50.0)}, epsilon=0.1, numeric=["x"], classes=[0, 1], random_state=0)
    one = made.ranges_["x"]
    assert not one.promised
    assert str(one.records) in str(caught[0].message)
    assert str(one.error) in str(caught[0].message)
    assert caught[0].filename == __file__


def test_infinities_and_text_do_not_count():
    cells = np.concatenate([np.linspace(10, 20, 5000), np.full(2000, np.inf), np.full(2000, -np.inf)])
    X = {"x": [*cells.tolist(), *["?"] * 3000, *[99] * 3000]}
    made = private_schema(X, epsilon=3, numeric=["x"], classes=[0, 1], missing=["?", "99"], random_state=0)
    assert made.ranges_["x"].records == pytest.approx(5000, abs=100)
    assert 8 <= made.features["x"].low <= 10.5
    assert 19.5 <= made.features["x"].high <= 22


def released_in_two_worlds(monkeypatch):
    monkeypatch.setattr("hedgerow.curator.given.Randomness", Scripted)
    rng = np.random.default_rng(0)
    worlds = [
        {"a": rng.random(30), "b": rng.integers(0, 9, 30)},
        {"a": 1e6 + rng.random(500), "b": -rng.random(500)},
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [private_schema(X, epsilon=1, numeric=["a", "b"], classes=[0, 1], random_state=5) for X in worlds]
    return [(one, dict(one.ranges_)) for one in made]


def test_ranges_follow_from_noisy_counts_alone(monkeypatch):
    first, second = released_in_two_worlds(monkeypatch)
    assert first == second


def test_an_end_read_off_the_records_is_caught(monkeypatch):
    ask = ranges_module.RangePlan._ask

    def planted(self, X, y, grids, noise, randomness, keep):
        counts = ask(self, X, y, grids, noise, randomness, keep)
        counts[0][0] += X.n_rows
        return counts

    monkeypatch.setattr(ranges_module.RangePlan, "_ask", planted)
    first, second = released_in_two_worlds(monkeypatch)
    assert first != second


def changes_of_one_record(grids):
    """By how much one record more changes the counts of a question, at most, over numbers of all kinds."""
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, [0])
    plan = ranges_module.RangePlan(Fraction(1), (0, 1), 0.01, 0.05, schema)
    most = 0
    for value in (0.0, 1.0, -3.5, 1e300, np.nan, np.inf):
        columns = hr.reading.columns.read_columns({"a": [value], "b": [value]})
        codes, _ = ranges_module.OnGrids(schema, plan.columns, tuple(grids)).read(columns, None)
        most = max(
            most,
            sum(
                int(np.bincount(code, minlength=grid.n_codes).sum()) for code, grid in zip(codes.T, grids, strict=True)
            ),
        )
    return most, plan.coarse.sensitivity, plan.fine.sensitivity


def test_one_record_is_in_one_cell_of_each_column():
    grids = [ranges_module.exponential_grid(), ranges_module.uniform_grid(0, 1)]
    assert changes_of_one_record(grids) == (2, 2, 2)


def test_noise_for_one_column_instead_of_all_is_caught(monkeypatch):
    """The curator refuses a planted bug: noise for a sensitivity of one where a record is in a cell of two columns."""
    monkeypatch.setattr(ranges_module.RangePlan, "coarse", property(lambda self: Geometric(self.epsilon / 2, 1)))
    with pytest.raises(hr.ConfigurationError, match="in 2 counts"):
        private_schema({"a": [1.0], "b": [2.0]}, epsilon=1, numeric=["a", "b"], classes=[0, 1], random_state=0)


PEOPLE = {"age": np.arange(6000) % 70 + 18, "job": np.where(np.arange(6000) % 3, "nurse", "clerk")}
LABELS = np.where(np.arange(6000) % 2, "yes", "no")


def people_schema(X=PEOPLE, y=LABELS, **changes):
    settings = {"epsilon": 3, "delta": 1e-6, "numeric": ["age"], "categorical": ["job"], "random_state": 0}
    return private_schema(X, y, **{**settings, **changes})


def test_a_released_schema_says_where_each_entry_is_from_and_survives_files():
    made = people_schema(target="ill", missing=["?"])
    assert made.names == ("age", "job")
    assert made.features["job"].values == ("clerk", "nurse")
    assert made.classes == ("no", "yes")
    assert (made.target, made.missing, made.inferred) == ("ill", ("?",), [])
    digest = made.certificate_.digest
    assert made.releases == {digest: ["age", "job", "classes"]}
    assert {made.features["age"].origin, made.classes_origin} == {"released"}
    plain = Schema.from_toml(made.to_toml())
    assert type(plain) is Schema
    assert plain == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert type(made.replace({"job": Categorical(["nurse"])})) is Schema


def test_columns_share_the_whole_budget():
    X = dict.fromkeys("ab", np.arange(4000.0))
    made = private_schema(X, epsilon=3, numeric=["a", "b"], classes=[0, 1])
    assert made.certificate_.spent == pytest.approx(3, abs=1e-9)
    assert made.certificate_.spent <= 3


@pytest.mark.parametrize("columns", [1, 2])
def test_classes_have_a_share_of_the_budget_like_a_column(columns):
    cells = np.array(["x", "y"] * 2000)
    X = dict.fromkeys("ab"[:columns], cells)
    made = private_schema(X, cells, epsilon=3, delta=1e-6, categorical=list(X))
    assert made.certificate_.spent == pytest.approx(3, abs=1e-9)
    assert made.certificate_.spent <= 3
    assert made.certificate_.holds


def test_a_large_delta_is_told_where_it_is_asked_for():
    with pytest.warns(UserWarning, match="delta is") as caught:
        people_schema(delta=0.01)
    assert [warning.filename for warning in caught if "delta is" in str(warning.message)] == [__file__]


def test_persons_are_named_in_the_certificate():
    made = people_schema(groups=np.arange(6000) // 2, records_per_person=2)
    assert (made.certificate_.unit.records, made.certificate_.unit.person) == (2, "")
    made = people_schema(groups=pd.Series(np.arange(6000), name="who"))
    assert made.certificate_.unit.person == "who"


def test_the_certificate_and_those_of_later_fits():
    made = people_schema(random_state=None)
    certificate = made.certificate_
    assert certificate.holds
    assert certificate.spent == pytest.approx(3, abs=1e-9)
    assert certificate.spent <= 3
    assert cost(certificate.event).thresholds == Fraction(1, 10**6)
    page = certificate.details()
    assert "delta 0.000001 by thresholds" in page or "1e-6 by thresholds" in page
    assert "the names of the columns" in page
    assert "X and y as given to fit" not in page
    assert hr.Certificate.from_dict(certificate.to_dict()) == certificate
    model = hr.EDPRFClassifier(epsilon=1, schema=made).fit(pd.DataFrame(PEOPLE), LABELS)
    assert model.certificate_.holds
    assert model.certificate_.releases == (certificate.digest,)
    assert certificate.digest[:16] in model.certificate_.details()
    assert hr.Certificate.from_dict(model.certificate_.to_dict()) == model.certificate_
    public = made.confirm()
    assert hr.EDPRFClassifier(epsilon=1, schema=public).fit(pd.DataFrame(PEOPLE), LABELS).certificate_.releases == ()


def test_every_table_gives_the_same_release():
    made = people_schema()
    frame = pd.DataFrame(PEOPLE)
    for X in (
        frame,
        frame[["job", "age"]],
        pl.from_pandas(frame),
        pa.table(frame),
        frame.astype("str"),
        frame.astype("category"),
    ):
        other = people_schema(X)
        assert {name: repr(one) for name, one in other.features.items()} == {
            name: repr(one) for name, one in made.features.items()
        }
        assert dict(other.ranges_) == dict(made.ranges_)
    again = people_schema({name: cells[::-1] for name, cells in PEOPLE.items()}, LABELS[::-1])
    assert again == made  # the order of the records says nothing


def test_a_release_for_one_record_replaced_stays_within_its_claim():
    made = people_schema(adjacency="replace-one", random_state=None)
    certificate = made.certificate_
    assert certificate.holds
    assert certificate.claim.adjacency == "replace-one"
    assert certificate.spent <= 3
    twice = cost(certificate.event)
    assert float(twice.thresholds) == pytest.approx(1e-6 / (1 + math.exp(1.5)), rel=1e-6)
    assert twice.under("replace-one").delta(Fraction(3)) <= Fraction(1, 10**6)
    assert not twice.under("replace-one").delta(Fraction(3)) <= Fraction(99, 10**8)
    with pytest.raises(hr.BudgetExceeded, match="replace-one, which says nothing of add-remove"):
        people_schema(adjacency="replace-one", ledger=hr.Ledger(epsilon=10, delta=1e-3))


def ledgers(tmp_path, **ceiling):
    yield hr.Ledger(**ceiling)
    yield hr.LedgerStore(tmp_path / "budgets.db").create("people", **ceiling)


def test_ledgers_book_before_anything_is_drawn(tmp_path, monkeypatch):
    for ledger in ledgers(tmp_path, epsilon=4, delta=1e-6):
        people_schema(ledger=ledger)
        entry = ledger.entries[0]
        assert (entry.label, entry.state) == ("private_schema", "finished")
        assert (ledger.spent, ledger.total.delta) == (3, Fraction(1, 10**6))
        with monkeypatch.context() as patch:
            patch.setattr(Randomness, "draw", lambda *_: pytest.fail("it was drawn"))
            with pytest.raises(hr.BudgetExceeded):
                people_schema(ledger=ledger)
        assert len(ledger.entries) == 1


def test_a_release_that_breaks_off_stays_booked(tmp_path, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    for ledger in ledgers(tmp_path, epsilon=4, delta=1e-6):
        with monkeypatch.context() as patch:
            patch.setattr(Randomness, "draw", broken)
            with pytest.raises(KeyboardInterrupt):
                people_schema(ledger=ledger)
        assert (ledger.entries[0].state, ledger.spent) == ("failed", 3)


@pytest.mark.parametrize("cell", [0, -1])
def test_numbers_that_noise_puts_beyond_the_grid_still_give_a_range(cell):
    """It was an error, after the budget was spent, with a chance that the records decide."""
    schema = Schema({"a": Numeric(0, 1)}, [0])
    plan, grid = ranges_module.RangePlan(Fraction(1), (0,), 0.01, 0.05, schema), ranges_module.uniform_grid(16, 64)
    counts = np.zeros(2 * grid.cells, dtype=np.int64)
    counts[cell] = 9
    found = plan._range(counts, grid, True)
    assert (found.low, found.high, found.promised) == (16, 64, False)
    assert entry_of(Numeric(0, 1), found.low, found.high, found.whole, "0" * 64).low == 16


def test_an_error_after_the_draw_says_that_the_budget_is_spent(monkeypatch, tmp_path, run):
    def broken(*_):
        raise hr.SchemaError("no schema takes this.")

    data, out = tmp_path / "people.csv", tmp_path / "people.toml"
    data.write_text("age,ill\n" + "30,yes\n40,no\n" * 20)
    command = ["schema", "release", data, "--target", "ill", "--numeric", "age", "--class", "yes", "--class", "no"]
    arguments = [*command, "--epsilon", 2, "--out", out]
    monkeypatch.setattr("hedgerow.analysis.release.ReleasePlan.schema", lambda *_: broken())
    with pytest.raises(hr.EngineError, match="budget of this release is spent"):
        people_schema()
    result = run(*arguments)
    assert (result.exit_code, out.exists()) == (1, False)
    assert "count epsilon 2.0 as spent" in result.stderr
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hedgerow.analysis.release.ReleasedSchema.save", broken)
    result = run(*arguments)
    assert result.exit_code == 2
    assert "epsilon 2.0 was spent, but no schema was written." in result.stderr
    assert "count" not in run(*arguments, "--epsilon", -1).stderr


def test_a_ledger_of_rho_counts_thresholds_apart(tmp_path):
    for ledger in ledgers(tmp_path, rho=5, delta=2e-6):
        people_schema(ledger=ledger)
        assert ledger.total.delta == Fraction(1, 10**6)
        assert 0 < ledger.spent <= 4.5
        people_schema(ledger=ledger, epsilon=0.5)
        with pytest.raises(hr.BudgetExceeded):
            people_schema(ledger=ledger, epsilon=0.1, delta=1e-12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": 0}, "delta must be above 0"),
        ({"categorical": [], "X": {"age": [1]}, "classes": [0, 1]}, "takes no delta"),
        ({"numeric": "age"}, "list of names"),
        ({"numeric": ["age", "job"]}, "twice"),
        ({"dates": "day"}, "dates must be a list"),
        ({"numeric": [], "categorical": []}, "none names"),
        ({"numeric": []}, "does not declare"),
        ({"numeric": ["age", "height"]}, "lacks"),
        ({"trimmed": 0}, "trimmed"),
        ({"trimmed": True}, "trimmed"),
        ({"failure": 0.5}, "failure"),
        ({"X": {"age": [], "job": []}, "y": None, "classes": [0, 1]}, "minimum of 1"),
        ({"X": hr.Records.from_batches([PEOPLE], label="x"), "y": None, "groups": [1]}, "omit groups"),
        ({"y": None}, "needs classes"),
        ({"ledger": 3}, "ledger"),
        ({"X": np.zeros((3, 2))}, "no names"),
        ({"X": hr.Records.from_batches([PEOPLE], label="x")}, "pass y=None"),
        ({"X": hr.Records.from_batches(iter([{**PEOPLE, "x": LABELS}]), label="x"), "y": None}, "once only"),
        ({"y": LABELS[:5]}, "different lengths"),
        ({"classes": [1, "1"]}, "one class"),
        ({"target": "age"}, "which is no feature"),
        ({"X": {**PEOPLE, "age": np.zeros(6000, dtype="M8[D]")}}, "Date"),
    ],
)
def test_wrong_questions_are_refused_and_not_booked(changes, words):
    ledger = hr.Ledger(epsilon=10, delta=0.5)
    with pytest.raises(hr.ConfigurationError, match=words):
        people_schema(**{"ledger": ledger, **changes})
    assert ledger.entries == ()


def test_where_nothing_is_common_no_value_is_shown():
    X = {"id": [f"person {i}" for i in range(500)], "age": [None] * 500}
    ledger = hr.Ledger(epsilon=10, delta=0.5)
    with pytest.warns(UserWarning, match="was released|is promised") as caught:
        made = people_schema(X, None, numeric=["age"], categorical=["id"], classes=[0, 1])
    assert len(made.features["id"].values) == 1
    assert "person" not in str(made.features["id"].values)
    assert isinstance(made.features["age"], Numeric)
    assert [words in str(warning.message) for words, warning in zip(["'age'", "'id'"], caught, strict=True)] == [
        True,
        True,
    ]
    assert {warning.filename for warning in caught} == {people_schema.__code__.co_filename}
    with pytest.warns(UserWarning, match=r"no class stands out.*is kept"):
        made = people_schema({"age": range(500)}, X["id"], numeric=["age"], categorical=[], ledger=ledger)
    assert ledger.spent == 3
    assert 0 <= made.features["age"].low < made.features["age"].high  # what was paid for
    assert made.classes == (NO_VALUE,)


def test_values_are_counted_cell_by_cell():
    cells = object_array(
        [1, 1.0, "1", True, "a", " a ", None, "nan", "?", np.inf, "x" * 300, "\ud800", -0.0, 0, "é"], 15
    )
    assert count_values(cells, ["?"]) == {0.0: 2, 1.0: 4, "a": 2, "é": 1}
    assert [public_value(key) for key in count_values(cells, ["?"])] == [0, 1, "a", "é"]
    assert count_values(np.array([2.5, np.nan, 2, 2, 7]), ["7"]) == {2.0: 2, 2.5: 1}
    assert count_values(np.array([True, False, True])) == {0.0: 1, 1.0: 2}
    assert count_values(np.array(["2020-01-01", "NaT"], dtype="M8[D]")) == {"2020-01-01": 1}
    odd = object_array(ODD + WORST, len(ODD + WORST))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = count_values(odd)
        apart: dict = {}
        for i in range(len(odd)):
            for key, count in count_values(odd[i : i + 1]).items():
                apart[key] = apart.get(key, 0) + count
    assert whole == apart
    assert whole == {key: whole[key] for key in sorted(whole, key=lambda key: (isinstance(key, str), key))}
    assert count_values(odd[::-1]) == whole


def test_odd_cells_end_no_release():
    cells = object_array((ODD + WORST) * 3, 3 * len(ODD + WORST))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="no (range|value)|delta is")
        made = people_schema({"age": cells, "job": cells}, cells, epsilon=60, delta=0.4)
    assert made.to_toml()


def test_the_release_command_writes_a_schema_and_books_it(tmp_path, run, answer):
    data, out, budgets = tmp_path / "people.csv", tmp_path / "people.toml", tmp_path / "budgets.db"
    rows = zip(PEOPLE["age"], PEOPLE["job"], LABELS, strict=True)
    data.write_text("age,job,ill\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
    named = ["--target", "ill", "--numeric", "age", "--categorical", "job", "--delta", 1e-6]
    arguments = ["schema", "release", data, "--epsilon", 2, *named, "--out", out]
    hr.LedgerStore(budgets).create("people", epsilon=3, delta=1e-6)
    booked = ["--ledger", budgets, "--dataset", "people"]
    result = run(*arguments, *booked)
    assert result.exit_code == 0, result.output
    assert "promise    epsilon = 2, delta = 1e-6" in result.stdout
    made = Schema.load(out)
    (digest,) = made.releases
    assert f"certificate {digest}" in result.stdout
    assert made.target == "ill"
    assert run(*arguments).exit_code == 2  # the file is there
    assert run(*arguments, "--force", *booked).exit_code == 3
    assert hr.LedgerStore(budgets).ledger("people").spent == 2
    document = answer(*arguments, "--force", "--class", "yes", "--class", "no")
    assert document["schema"]["classes"] == ["yes", "no"]
    assert document["certificate"]["holds"]
    assert document["ranges"]["age"]["promised"] in (True, False)
    release = ["schema", "release", data, "--epsilon", 2, "--numeric", "age", "--out", tmp_path / "x.toml", "--target"]
    result = run(*release, "ill")
    assert result.exit_code == 2
    assert "delta must be above 0" in result.stderr
    assert run(*release, "well").exit_code == 2
    model = ["--system", "hedgerow", "--out", tmp_path / "m.hedgerow"]
    trained = run("train", data, "--schema", out, "--epsilon", 1, *model, *booked)
    assert trained.exit_code == 0, trained.output
    assert "released" in trained.stdout


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_a_value_that_no_counted_record_has_is_never_asked_about(kind):
    """Delta covers values that occur: unused ones of a dictionary, and those of records that do not count, are not among them."""
    cells = pd.Series(pd.Categorical(["a", "b", "b"], categories=["a", "b", "secret"]))
    if kind == "arrow":
        cells = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["a", "b", "secret"]))])
    column = read_columns({"x": cells}).cells(0)
    assert count_values(column) == {"a": 1, "b": 2}
    counted = np.array([True, False, False])
    assert count_values(column[counted]) == {"a": 1}
    assert count_values(column, (), counted.astype(float)) == {"a": 1}


def test_a_released_schema_names_its_persons_and_how_many_records_of_each_count():
    """So that a fit by it protects whom the release protected."""
    X = {"age": np.arange(900) % 70, "who": np.arange(900) // 3}
    made = private_schema(X, epsilon=5, numeric=["age"], classes=["no", "yes"], person="who", records_per_person=3)
    assert (made.person, made.records_per_person) == ("who", 3)
    assert made.certificate_.records_per_person == 3
    assert private_schema({"age": X["age"]}, epsilon=5, numeric=["age"], classes=[0, 1]).records_per_person == 1
