"""Records made up from what a model released, and cut points at quantiles of the model's predictions for them.

They are computed from the released model and its schema alone, so they are public and cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.estimator import Model

RECORDS = 8_192
SEED = 0  # the same model always has the same bins
EVEN = 0.2  # of the values that quantiles are taken of: evenly spaced, where made-up records may have none


def made_up_answers(model: Model) -> Floats:
    """Return the probabilities, (records, classes), or the outcomes, (records,), of a released model for made-up records.

    Features are drawn independently, each by the model's ``code_shares``.
    """
    shares = model.code_shares()
    draws = np.random.default_rng(SEED).random((len(shares), RECORDS))
    codes = [
        np.searchsorted(np.cumsum(share)[:-1], draw, side="right") for share, draw in zip(shares, draws, strict=True)
    ]
    return model.answers_of_codes(np.ascontiguousarray(np.column_stack(codes), dtype=model.encoder.dtype))


def cut_points(
    values: Floats, bins: int, low: float, high: float, among: Sequence[float] = (), even: float = EVEN
) -> tuple[float, ...]:
    """Return at most ``bins - 1`` ascending cut points between ``low`` and ``high``, nearly at quantiles of the values.

    A share of ``even`` of the values is evenly spaced ones that are added. A cut point is midway between neighboring values. The
    nearest one to each of ``among`` is replaced by it.
    """
    spaced = np.linspace(low, high, round(len(values) * even / (1 - even)))
    every = np.sort(np.concatenate([values, spaced]))
    below = every[len(every) * np.arange(1, bins) // bins - 1]
    above = every[np.minimum(np.searchsorted(every, below, side="right"), len(every) - 1)]
    cuts, kept = (below + above) / 2, above > below  # nothing is above the largest value
    for point in among:
        nearest = np.abs(cuts - point).argmin()
        cuts[nearest], kept[nearest] = point, True
    return tuple(np.unique(cuts[kept & (cuts > low) & (cuts < high)]).tolist())
