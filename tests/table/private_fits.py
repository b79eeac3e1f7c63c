"""Every private system on a few records, through any table."""

import numpy as np

import hedgerow as hr
from hedgerow.curator import Queryable
from hedgerow.estimator import claim_of, plan_of
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.systems import system_class

RECORDS = 900

GENERATOR = np.random.default_rng(5)
X = {
    "age": np.where(GENERATOR.random(RECORDS) < 0.05, np.nan, GENERATOR.uniform(0, 100, RECORDS)),
    "colour": GENERATOR.choice(["red", "green", "blue", "other"], RECORDS),
    "height": GENERATOR.normal(50, 20, RECORDS),
}
Y = np.where((np.nan_to_num(X["age"]) > 40) ^ (X["colour"] == "red"), "yes", "no").astype(object)
Y[X["height"] > 75] = "maybe"
Y[::37] = None
SCHEMA = hr.Schema(
    {
        "age": hr.Numeric(0, 100),
        "colour": hr.Categorical(["red", "green", "blue"]),
        "height": hr.Numeric(0, 100),
    },
    classes=["no", "yes", "maybe"],
)
DELTA = {"delta": 1e-6}
CASES = {
    **{info.name: (info.name, {}) for info in hr.list_systems()},
    **{
        f"{name}, delta": (name, DELTA)
        for name in ("hedgerow", "dp-adaboost", "cart-dps-adaboost", "dpada", "smooth-boost")
    },
    "forest, per record": ("forest", {"assignment": "per-record", "n_estimators": 7}),
    "forest, noisy minority": ("forest", {"stop": "noisy-minority", "selection": "exponential"}),
    "subspace": ("diffprf", {}),
    "histograms": ("pinq-id3", {}),
    "dpada, random": ("dpada", {"schedule": "random"}),
    "edprf, replace-one": ("edprf", {"adjacency": "replace-one"}),
}


def released(name, settings, table_of):
    estimator = system_class(name)(epsilon=3.0, schema=SCHEMA, **settings)
    claim, randomness = claim_of(estimator), Randomness(11)
    plan = plan_of(estimator, SCHEMA, claim, estimator._draw_coins(claim, randomness.draw))
    encoder = plan.encoder
    table = table_of(encoder.transform(X), encoder.labels(Y), encoder.n_codes, len(SCHEMA.classes))
    arrays = plan.fit(Queryable(table, cost(plan.event), randomness)).to_arrays()
    return {key: (array.dtype.str, array.shape, array.tobytes()) for key, array in arrays.items()}
