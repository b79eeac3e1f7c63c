"""Every system of the registry in each variant, each value of each of its choices, and records for them."""

from __future__ import annotations

import numpy as np

import hedgerow as hr
from hedgerow.parameters import Choice, rules_of
from hedgerow.systems import system_class

SCHEMA = hr.Schema(
    {"age": hr.Numeric(0, 100), "job": hr.Categorical(["nurse", "clerk", "none"]), "score": hr.Numeric(-1, 1)},
    classes=["no", "yes"],
)
BY_NAME = {info.name: info for info in hr.list_systems()}
FORMS = [(info.name, variant) for info in hr.list_systems() for variant in info.variants]
PRIVATE = [name for name, variant in FORMS if variant == "private"]
WITH_DELTA = [name for name in PRIVATE if "delta" in rules_of(system_class(name))]
DELTA = 1e-6
# What a value needs beside it.
NEEDS = {
    ("forest", "leaf", "label"): {"voting": "hard"},
}


def records(rows=160, seed=0):
    """Numbers, categories, missing, infinite and undeclared cells, and records without a known label."""
    generator = np.random.default_rng(seed)
    X = {
        "age": generator.uniform(0, 100, rows),
        "job": generator.choice(["nurse", "clerk", "none", "pilot", ""], rows),
        "score": generator.uniform(-1, 1, rows),
    }
    y = np.where(X["age"] > 60, "yes", "no").astype(object)
    X["age"][::11] = np.nan
    X["score"][::13] = np.inf
    y[::17] = "unknown"
    return X, y


def choices(kind):
    """Yield each value of each choice of a class but its variant; None where a choice may be left to a rule."""
    for name, constraint in rules_of(kind).items():
        if isinstance(constraint, Choice) and name != "variant":
            for value in (*constraint.options, *([None] if constraint.or_none else [])):
                yield name, value


EVERY_CHOICE = [(*form, *choice) for form in FORMS for choice in choices(system_class(form[0]))]


def build(name, variant, **parameters):
    if variant != "private":
        parameters["variant"] = variant
    return system_class(name)(**{"schema": SCHEMA, **parameters})
