"""Columns of odd cells and labels: no question of the whole analysis ends by them, and each cell decides for itself."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_strategies import cells

import hedgerow as hr
from hedgerow.analysis.ranges import reader_of
from hedgerow.engines.encode import ValueCounts
from hedgerow.reading.cells import object_array

few = settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
rows = st.lists(st.tuples(cells, cells, cells, cells), min_size=1, max_size=6)
SCHEMA = hr.Schema(
    {"n": hr.Numeric(-5, 5), "d": hr.Date("1990-01-01", "2030-12-31"), "c": hr.Categorical(["a", 1])},
    classes=["no", 7],
    missing=["?"],
    target="y",
)
MODEL = hr.EDPRFClassifier(epsilon=5, schema=SCHEMA, n_estimators=1, max_depth=1, random_state=0).fit(
    {"n": [0.0, 1.0], "d": ["2000-01-01", "2020-01-01"], "c": ["a", 1]}, ["no", 7]
)
NAMED = {"numeric": ["n"], "dates": ["d"], "categorical": ["c"], "missing": ["?"]}


def columns_of(found):
    columns = [object_array(cells, len(found)) for cells in zip(*found, strict=True)]
    return dict(zip(("n", "d", "c", "y"), columns, strict=True))


@few
@given(rows)
def test_odd_cells_end_no_question(found):
    columns = columns_of(found)
    labels = columns.pop("y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="no (range|value|cell|released)|delta is")
        made = hr.private_schema(columns, epsilon=9, delta=0.4, classes=["no", 7], random_state=0, **NAMED)
        assert hr.Schema.from_toml(made.to_toml()) == made
        card = hr.evaluate(MODEL, columns, labels, epsilon=1, random_state=0)
        assert 0 <= card.interval("roc_auc")[0] <= card.interval("roc_auc")[1] <= 1
        search = hr.PrivateSearchCV(
            hr.EDPRFClassifier(schema=SCHEMA, n_estimators=1), {"max_depth": [0, 1]}, random_state=0
        ).fit(columns, labels)
        assert np.isfinite(search.predict_proba(columns)).all()
        parts = [
            {name: column[i : i + 1] for name, column in (columns | {"y": labels}).items()} for i in range(len(found))
        ]
        records = hr.Records.from_batches(parts)
        again = hr.private_schema(records, epsilon=9, delta=0.4, classes=["no", 7], target="y", random_state=0, **NAMED)
        assert again.features == made.features
        assert np.array_equal(hr.evaluate(MODEL, records, epsilon=1, random_state=0).counts, card.counts)


@few
@given(rows)
def test_each_cell_decides_for_itself(found):
    """Values and places on a line are the same read alone and with all others."""
    columns = columns_of(found)
    asked = ValueCounts(SCHEMA, (2,), True)
    X = {name: columns[name] for name in SCHEMA.names}
    total = asked.nothing
    for i in range(len(found)):
        total = asked.sum(
            total, asked({name: column[i : i + 1] for name, column in X.items()}, columns["y"][i : i + 1])
        )
    assert tuple(map(dict, total)) == tuple(map(dict, asked(X, columns["y"])))
    for name in ("n", "d"):
        read = reader_of(SCHEMA.features[name], SCHEMA.missing)
        apart = np.concatenate([read(columns[name][i : i + 1]) for i in range(len(found))])
        assert np.array_equal(read(columns[name]), apart, equal_nan=True)
