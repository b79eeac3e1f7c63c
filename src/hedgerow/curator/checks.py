"""Checks that a mechanism fits a query, before the query is charged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hedgerow.curator.rounds import Cut, Splits
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Noise, Selection
from hedgerow.privacy.accounting import Cost
from hedgerow.table import ChannelRule

__all__ = ["check_cost", "check_cuts", "check_noise", "check_range", "check_scores", "check_sums"]


def check_cost(amount: Cost) -> None:
    """Raise ConfigurationError if a query would cost nothing."""
    if amount.epsilon <= 0 and amount.mu_squared <= 0:
        raise ConfigurationError(
            "a question costs nothing, but only noise with a cost protects; pass a positive budget."
        )


def check_noise(noise: Noise, cells: int, unit: int) -> None:
    """Raise ConfigurationError if the noise covers less than one record adds to this many cells."""
    if not noise.covers(cells * unit, cells * unit**2):
        raise ConfigurationError(
            f"a record of weight up to {unit} is in {cells} of the counts that are asked for; build the noise for that."
        )


def check_sums(noise: Noise, rule: ChannelRule) -> None:
    """Raise ConfigurationError if the noise covers less than one record adds to the sums of a rule."""
    if not noise.covers(rule.l1, rule.l2_squared):
        raise ConfigurationError(
            "the noise is calibrated for less than one record adds to the sums; build it for that."
        )


def check_scores(rule: ChannelRule) -> None:
    """Raise ConfigurationError if a rule has no channel that ranks features."""
    if not rule.scored:
        raise ConfigurationError("this round's rule ranks no features; open a round with a rule that scores them.")


def check_range(mechanism: Selection, name: str, score_range: int) -> None:
    """Raise ConfigurationError if a mechanism covers a smaller range than that of the score."""
    if mechanism.score_range < score_range:
        raise ConfigurationError(
            f"the mechanism is calibrated for scores that one record moves by at most {mechanism.score_range}, but the {name} "
            f"moves by up to {score_range}; build the mechanism with the score's range."
        )


def check_cuts(
    cuts: Sequence[Cut], splits: Splits | None, offsets: npt.NDArray[np.int64], feature: int | None = None
) -> None:
    """Raise ConfigurationError if cuts or a feature do not fit the table: a record would be in several cells, or in none."""
    codes = np.diff(offsets).tolist()
    sound = feature is None or 0 <= feature < len(codes)
    sound = sound and all(
        0 <= cut.by < len(codes) and len(cut.side) == codes[cut.by] and set(cut.side.tolist()) == {0, 1} for cut in cuts
    )
    if splits is not None:
        sound = sound and len(set(splits.by)) == len(splits.by) == len(splits.group) == len(splits.ordered) > 0
        sound = sound and all(
            0 <= by < len(codes) and len(group) == codes[by] and set(group.tolist()) == set(range(int(group.max()) + 1))
            for by, group in zip(splits.by, splits.group, strict=True)
        )
    if not sound:
        raise ConfigurationError(
            "these cuts read other features or codes than the records have, or one has not two sides; build them anew."
        )
