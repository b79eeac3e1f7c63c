"""What comes before and after a fit, asked of records wherever they are."""

from __future__ import annotations

import warnings

import hedgerow as hr


def asked(schema: hr.Schema, X, y=None, groups=None, records_per_person=1) -> tuple:
    """A released schema, a report card and a search, as what they release."""
    common = {"records_per_person": records_per_person}
    numeric = [name for name, one in schema.features.items() if isinstance(one, hr.Numeric)]
    values = [name for name in schema.names if name not in numeric]
    model = hr.EDPRFClassifier(epsilon=2.0, schema=schema, random_state=1, **common).fit(X, y, groups=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        released = {"epsilon": 5, "delta": 0.01, "random_state": 2, **common}
        made = hr.private_schema(X, y, numeric=numeric, categorical=values, groups=groups, **released)
    card = hr.evaluate(model, X, y, epsilon=1, random_state=3, groups=groups, **common)
    search = hr.PrivateSearchCV(hr.EDPRFClassifier(schema=schema), {"max_depth": [1, 3]}, random_state=4, **common)
    search.fit(X, y, groups=groups)
    found = search.best_estimator_.model_.to_arrays()
    return (
        made.to_toml(),
        dict(made.ranges_),
        card.counts.tolist(),
        search.best_params_,
        {name: array.tolist() for name, array in found.items()},
    )
