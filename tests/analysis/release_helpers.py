"""What released schemas are tested with: answers by the number of a draw, and records beyond a range."""

from __future__ import annotations

import numpy as np

from hedgerow.mechanisms import Geometric, Randomness


def beyond(values, feature):
    return max(int((values < feature.low).sum()), int((values > feature.high).sum()))


class Scripted(Randomness):
    """Answers by the number of the draw and its shape, whatever the statistics are."""

    def draw(self, mechanism, *statistics):
        if isinstance(mechanism, Geometric):
            script = np.random.default_rng(self._number())
            return script.integers(0, 10_000, np.shape(statistics[0])) * (script.random(np.shape(statistics[0])) < 0.3)
        return super().draw(mechanism, *statistics)
