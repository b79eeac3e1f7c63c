"""Seeded fits of every private system give the bits that they gave before: a change of structure changes no model unseen.

What is hashed are the sums of whole votes of fixed records, by class in the schema's order: integers, so that processors which
round exponentials in their own way agree. A change that is to change fits writes the hashes anew, and says so in the changelog:
``python tests/systems/test_seeded_fits.py > tests/fixtures/seeded-fits.json``.
"""

import hashlib
import inspect
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.systems import system_class

HASHES = Path(__file__).parents[1] / "fixtures" / "seeded-fits.json"
FEATURES = {
    "a": hr.Numeric(0, 1),
    "b": hr.Numeric(-4, 4),
    "c": hr.Categorical(["u", "v", "w"]),
    "d": hr.Integer(0, 49),
}
LABELS = {
    "two": {"classes": ["no", "yes"]},
    "three": {"classes": ["low", "middle", "high"]},
    "outcome": {"outcome": hr.Numeric(-5, 10)},
    "count": {"outcome": hr.Integer(0, 20)},
}


def records():
    generator, count = np.random.default_rng(5), 1500
    X = {
        "a": generator.uniform(0, 1, count),
        "b": generator.normal(0, 1, count),
        "c": generator.choice(list("uvw"), count),
        "d": generator.integers(0, 50, count),
    }
    score = 2 * X["a"] + X["b"] + (X["c"] == "v") + 0.01 * X["d"] + generator.normal(0, 0.5, count)
    three = np.array(LABELS["three"]["classes"])[np.digitize(score, np.quantile(score, [0.4, 0.7]))]
    two = np.where(score > np.median(score), "yes", "no")
    return X, {"two": two, "three": three, "outcome": score, "count": np.floor(np.exp(score / 2))}


X, Y = records()


def settings():
    """Each fit's parameters by its name."""
    for info in (*hr.list_systems(), *hr.list_systems(regressors=True)):
        known = inspect.signature(system_class(info.name)).parameters
        numeric = "outcome_transform" in known
        first, second = ("outcome", "count") if numeric else ("two", "three")
        yield f"{info.name}, {first}", {}
        yield f"{info.name}, {second}, replace-one", {"adjacency": "replace-one"}
        if "delta" in known:
            more = {"loss": "poisson"} if numeric else {}
            yield f"{info.name}, {second}, delta", {"delta": 1e-6, **more}


def bits(name, parameters):
    system, labels, *_ = name.split(", ")
    model = system_class(system)(
        epsilon=1.5, schema=hr.Schema(FEATURES, **LABELS[labels]), random_state=7, **parameters
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y[labels])
    sums = model.model_.answers(X, lambda sums: sums)
    return hashlib.sha256(np.ascontiguousarray(sums, dtype=np.int64).tobytes()).hexdigest()[:16]


FITS = dict(settings())


def test_every_fit_has_its_hash():
    assert list(json.loads(HASHES.read_text("utf-8"))) == list(FITS)


@pytest.mark.pinned
@pytest.mark.parametrize("name", FITS)
def test_a_seeded_fit_gives_the_bits_that_it_gave(name):
    assert bits(name, FITS[name]) == json.loads(HASHES.read_text("utf-8"))[name]


if __name__ == "__main__":
    print(json.dumps({name: bits(name, parameters) for name, parameters in FITS.items()}, indent=1))  # noqa: T201
