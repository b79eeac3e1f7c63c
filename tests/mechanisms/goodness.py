"""Does a sample follow a law? A chi-square test that must also be able to say no."""

import numpy as np
from scipy.stats import chi2
from seeds import FITS

__all__ = ["FITS", "p_value", "tally"]


def p_value(counts, law) -> float:
    """The p-value of outcome counts under a law; the law's missing mass is one more outcome, which nobody drew.

    Cells with fewer than ten expected draws are pooled.
    """
    counts, law = np.append(np.asarray(counts, float), 0.0), np.append(law, max(0.0, 1 - np.sum(law)))
    expected = counts.sum() * law
    if (counts[law == 0] > 0).any():
        return 0.0
    rare = np.argsort(expected)
    rare = rare[: np.searchsorted(np.cumsum(expected[rare]), 10) + 1]  # together they expect at least ten
    rare = np.union1d(rare, np.flatnonzero(expected < 10))
    common = np.setdiff1d(np.arange(len(law)), rare)
    seen = np.append(counts[common], counts[rare].sum())
    wanted = np.append(expected[common], expected[rare].sum())
    return float(chi2.sf(((seen - wanted) ** 2 / wanted).sum(), len(seen) - 1))


def tally(draws, outcomes):
    """How often each outcome was drawn; every draw must be one of the outcomes, which rise in steps of one."""
    draws, outcomes = np.asarray(draws), np.asarray(outcomes)
    assert draws.min() >= outcomes[0]
    assert draws.max() <= outcomes[-1]
    return np.bincount(draws - outcomes[0], minlength=len(outcomes))
