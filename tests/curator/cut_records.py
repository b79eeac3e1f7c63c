"""Records of several kinds of features, cuts and splits of them, and a round's rule and mechanisms."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import hedgerow as hr
from hedgerow.additive.losses import Logistic
from hedgerow.curator import Cut, Splits
from hedgerow.mechanisms import Geometric, PermuteAndFlip
from hedgerow.schema import Encoder

SCHEMA = hr.Schema(
    {
        "a": hr.Numeric(0, 1),
        "b": hr.Categorical(["x", "y", "z"]),
        "c": hr.Numeric(0, 1),
        "d": hr.Categorical(list(range(12))),
    },
    classes=["no", "yes"],
)
ENCODER = Encoder(SCHEMA, 9)
N_CODES = ENCODER.n_codes
OFFSETS = np.concatenate([[0], np.cumsum(N_CODES)])
ORDERED = tuple(SCHEMA.is_numeric)
SPLITS = Splits([0, 1], [np.array([0, 0, 1, 2, 3, 3, 4, 5, 6, 7]), np.arange(5)], [True, False])
ON_B = Cut(1, np.array([1, 0, 1, 1, 0]))
ON_C = Cut.at(2, 4, int(N_CODES[2]), ordered=True)
ON_D = Cut(3, np.arange(N_CODES[3]) % 2)
CUTS = ((), (ON_B,), (ON_C, ON_D), (ON_D, ON_B, ON_C))
RULE = Logistic(2, normal=False)
SELECTION = PermuteAndFlip(Fraction(1), 2 * RULE.scored_l1)
NOISE = Geometric(Fraction(1), RULE.l1)


def records(count, seed=0):
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.integers(0, n, count) for n in N_CODES], axis=1).astype(np.uint8)
    return codes, generator.integers(0, 2, count).astype(np.int16)


def penalties(splits):
    return np.zeros((1 + len(splits or ()), len(N_CODES)), dtype=np.int64)
