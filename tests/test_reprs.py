"""What Python and a notebook show of an object is short, and a table in HTML escapes every text and sets no color."""

import json
import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import Finding
from hedgerow.privacy.accounting import Gaussian, Parallel, Pure, Sequence, Unprotected
from hedgerow.texts import LONGEST_REPR, MOST_COLUMNS, MOST_ROWS, html_table

MARK = "<script>&"
WIDE = 16  # features, each with many long values
LONG = "x" * 400
MOST_LINES = 12
MOST_HTML = 60_000  # characters; a diagram of scikit-learn's is the largest part

# What has no repr of its own: functions, modules, exceptions, warnings, and displays, which Python shows by their class.
SHOWN_BY_THEIR_CLASS = re.compile("Display$|Error$|Warning$|Exceeded$|Unavailable$|Damaged$|^[a-z]")


@pytest.fixture(scope="module")
def schema():
    values = [f"{MARK}{LONG}{i}" for i in range(30)]
    features = {f"{MARK}{LONG}{i}": hr.Categorical(values) if i % 2 else hr.Numeric(0, 1) for i in range(WIDE)}
    return hr.Schema(features, classes=[f"{MARK}{i}" for i in range(3)], missing=[f"m{i}{LONG}" for i in range(50)])


@pytest.fixture(scope="module")
def records(schema):
    generator = np.random.default_rng(0)
    columns = {
        name: generator.uniform(size=400) if isinstance(kind, hr.Numeric) else generator.choice(kind.values, 400)
        for name, kind in schema.features.items()
    }
    return columns, generator.choice(schema.classes, 400)


@pytest.fixture(scope="module")
def objects(schema, records, tmp_path_factory):
    """One object at least of every public class, each as large as it may become."""
    X, y = records
    number = schema.replace(outcome=hr.Numeric(0, 1))
    models = [getattr(hr, info.class_name)(schema=schema) for info in hr.list_systems() if info.name != "diffgen"]
    outcome = np.linspace(0, 1, 400)
    ledger, store = hr.Ledger(epsilon=1000.0), hr.LedgerStore(tmp_path_factory.mktemp("store") / "budgets.db")
    stored = store.create("patients", epsilon=1000.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few records
        fitted = [kind(schema=schema).fit(X, y) for kind in (hr.HedgerowClassifier, hr.EDPRFClassifier)]
        regressor = hr.HedgerowRegressor(schema=number).fit(X, outcome)
        search = hr.PrivateSearchCV(hr.EDPRFClassifier(schema=schema), {"max_depth": [1, 2]}).fit(X, y)
        card = hr.evaluate(fitted[0], X, y, epsilon=1.0)
        by_group = hr.evaluate(fitted[0], X, y, epsilon=1.0, by=schema.names[1])
        regression_card = hr.evaluate(regressor, X, outcome, epsilon=1.0)
        seen = hr.private_schema({"a": np.arange(400) % 90}, epsilon=1.0, numeric=["a"], classes=["ill", "well"])
    for book in (ledger, stored):
        for _ in range(12):
            book.reserve(fitted[1].certificate_)
    curator = hr.Curator(X, y, schema, epsilon=100.0)
    for _ in range(30):
        curator.histogram(curator.root, schema.names, epsilon=1.0)
    steps = tuple(Pure(Fraction(1, 100 + i), LONG, f"{MARK}{i}") for i in range(500))
    many = Sequence((Parallel(steps, LONG), *(Unprotected(f"{MARK}{LONG}{i}") for i in range(500))))
    broken = replace(fitted[0].certificate_, event=many, warnings=(LONG,) * 9, seeded=True, records_per_person=4)
    return [
        *models, *fitted, regressor, search, card, card.roc_curve(schema.classes[0]), card.calibration(schema.classes[0]),
        by_group, regression_card, regression_card.calibration(), seen, *seen.ranges_.values(), curator, *curator.questions,
        ledger, *ledger.entries, store, stored, *stored.entries, schema, *schema.features.values(), number, hr.Boolean(),
        hr.Date("2020-01-01", "2030-01-01", [f"202{i}-0{j}-01" for i in range(10) for j in range(2, 10)]),
        hr.Integer(0, 10**6, list(range(1, 5000))), hr.hold_out(X, y), hr.plan(schema, records=400, epsilon=1.0),
        *hr.list_systems(), hr.Records.from_batches(lambda: [X], label="none"), fitted[0].explain(X), fitted[1].explain(X),
        regressor.explain(X), fitted[0].certificate_, fitted[0].certificate_.event, broken, broken.event, *broken.lines,
        *(model.model_ for model in (*fitted, regressor)), hr.Signature("valid", f"SHA256:{'0' * 64}", expected=True),
        Finding(LONG, "exact", MARK, "add-remove", 1.0, 0.0, 2.0, 1.0, 0.5, LONG),
    ]  # fmt: skip


def test_no_repr_is_long(objects):
    assert [(type(one).__name__, len(repr(one))) for one in objects if len(repr(one)) > LONGEST_REPR] == []


def test_every_public_class_is_shown(objects):
    shown = {type(one).__name__ for one in objects}
    public = {name for name in hr.__all__ if not SHOWN_BY_THEIR_CLASS.search(name)}
    assert public - shown == {"DiffGenClassifier"}


def test_a_certificate_prints_at_most_twelve_lines(objects):
    certificates = [one for one in objects if isinstance(one, hr.Certificate)]
    certificates += [one.certificate_ for one in objects if hasattr(one, "certificate_")]
    assert len(certificates) > 8
    for one in certificates:
        assert str(one) == repr(one)
        assert len(str(one).splitlines()) <= MOST_LINES


def test_the_longest_summary_of_a_guarantee_has_twelve_lines():
    steps = Gaussian(Fraction(1, 10), 10, LONG)
    unit = {"records_per_person": 2, "warnings": (LONG, LONG)}
    one = hr.Certificate("C", "private", Fraction(12), Fraction(1, 100), "replace-one", steps, **unit)
    assert one.holds
    assert len(str(one).splitlines()) == MOST_LINES
    assert len(str(one)) <= LONGEST_REPR


WITH_TABLES = ("Certificate", "ReportCard", "RegressionCard")


def tables(objects):
    for one in objects:
        if hasattr(one, "_repr_html_"):
            yield type(one).__name__, one._repr_html_()


def test_a_notebook_shows_small_tables(objects):
    pages = list(tables(objects))
    assert set(WITH_TABLES) <= {name for name, _ in pages}
    assert [(name, len(page)) for name, page in pages if len(page) > MOST_HTML] == []


def test_no_text_of_a_table_is_a_tag(objects):
    for name, page in tables(objects):
        assert MARK not in page, name
    assert sum("&lt;script&gt;&amp;" in page for _, page in tables(objects)) > 5


def test_a_table_has_so_many_rows_and_columns_at_most_and_no_color():
    page = html_table("t", ([f"r{i}"] * 30 for i in range(50)), [f"h{i}" for i in range(30)])
    assert page.count("<tr") == MOST_ROWS + 1
    assert page.count("<t") - page.count("<tr") - page.count("<ta") - page.count("<tb") - page.count("<thead") == (
        (MOST_ROWS + 1) * MOST_COLUMNS
    )
    assert "and 30 more" in page
    assert re.search(r"(?<!-)color:|background: (?!none)", page) is None


def test_a_summary_names_what_stops_the_guarantee(objects):
    [broken] = [one for one in objects if isinstance(one, hr.Certificate) and not one.holds]
    lines = str(broken).splitlines()
    assert lines[0].startswith("Privacy certificate of HedgerowClassifier")
    assert "  holds      NO" in lines
    assert f"             and {len(broken.reasons) - 3} more reasons" in lines
    assert "WARNING" in str(broken)
    assert len(broken.details()) > 100 * len(str(broken))


def test_json_has_everything_that_a_certificate_is(objects):
    [one, *_] = [one for one in objects if isinstance(one, hr.Certificate)]
    assert json.loads(json.dumps(one.to_dict())) == one.to_dict()
    assert hr.Certificate.from_dict(json.loads(json.dumps(one.to_dict()))) == one
