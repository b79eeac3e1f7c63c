"""The published form of every tree and forest system: its recipe and its default size, as the system files use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from hedgerow import published
from hedgerow.published import Recipe
from hedgerow.published.scores import Score
from hedgerow.schema import Schema
from hedgerow.trees.levels import Geometric, Harmonic, Levels, Linear, Uniform

PERMUTE_AND_FLIP = published.SelectTest(published.RealPermuteAndFlip, published.Gini())
EXPONENTIAL = published.SelectTest(published.RealExponential, published.Gini())
HALF_DEVIATION = published.NoisyCount(Fraction(1, 2))  # the papers name the whole share of a level, twice the count's


def edprf() -> Recipe:
    """4.1; with one tree pfDPDT, 4.2."""
    return Recipe(
        assign=published.FixedSize(),
        tests=published.NodeBins(),
        budgets=published.Aligned(Harmonic()),
        split=PERMUTE_AND_FLIP,
        leaf=published.PermuteAndFlipLabel(),
        stops=(published.SingleClass(),),
    )


def tradition(split: published.SelectTest = EXPONENTIAL) -> Recipe:
    """4.3, reading R1: half of a level for a count that nothing reads. Bins and stop are those of pfDPDT."""
    return Recipe(
        assign=published.AllRecords(),
        tests=published.NodeBins(),
        budgets=published.Halved(Uniform()),
        split=split,
        leaf=published.LaplaceCounts(),
        stops=(published.SingleClass(), published.UnreadCount()),
    )


def tradition_spl_imp() -> Recipe:
    """4.3, R1 with permute-and-flip for tests."""
    return tradition(PERMUTE_AND_FLIP)


def tradition_leaf_imp() -> Recipe:
    """4.3, R1 with permute-and-flip for labels, at the level's whole share."""
    return replace(
        tradition(), budgets=published.Halved(Uniform(), whole_leaf=True), leaf=published.PermuteAndFlipLabel()
    )


def undivided(recipe: Recipe) -> Recipe:
    """4.3, reading R2: no count, a level's whole share for its one question."""
    return replace(recipe, budgets=published.Undivided(Uniform()), stops=(published.SingleClass(),))


def diffprf_patil() -> Recipe:
    """4.4."""
    return replace(
        diffp_id3(), assign=published.Bootstrap(), budgets=published.PerQuery(), subspace=published.Subspace()
    )


def diffprfs(levels: Levels | None = None) -> Recipe:
    """4.5."""
    return Recipe(
        assign=published.Bootstrap(),
        tests=published.CutRanges(),
        budgets=published.Halved(Uniform() if levels is None else levels),
        split=published.SelectCutsThenTest(published.RealExponential, published.Gini()),
        leaf=published.LaplaceCounts(),
        stops=(HALF_DEVIATION,),
    )


def diffprf_deng(levels: Levels | None = None) -> Recipe:
    """4.6; also with Linear(1, 0), the arithmetic sequence, or Uniform()."""
    return diffprfs(Geometric(Fraction(2)) if levels is None else levels)


def diffprf_linear(slope: int = 1, constant: int = 1) -> Recipe:
    """4.7."""
    return diffprfs(Linear(Fraction(slope), Fraction(constant)))


def tpdprf() -> Recipe:
    """4.8."""
    return Recipe(
        assign=published.TwoPhases(),
        tests=published.SchemaBins(),
        budgets=published.Undivided(Harmonic()),
        split=EXPONENTIAL,
        leaf=published.LaplaceCounts(),
        stops=(published.SingleClass(),),  # inferred: without it wide categories fill the memory
    )


def sulq_id3() -> Recipe:
    """4.12, strict reading."""
    return Recipe(
        assign=published.AllRecords(),
        tests=published.SchemaBins(),
        budgets=published.PerQuery(),
        split=published.NoisyHistograms(partition=False),
        leaf=published.LaplaceCounts(partition=False),
        stops=(published.NoisyCount(Fraction(0)),),
    )


def pinq_id3() -> Recipe:
    """4.13."""
    return replace(
        sulq_id3(),
        split=published.NoisyHistograms(partition=True),
        leaf=published.LaplaceCounts(),
        stops=(published.NoisyCount(),),
    )


def diffp_id3(score: Score = published.InformationGain()) -> Recipe:  # noqa: B008 - a frozen value
    """4.14; N is taken from the data, as in the authors' code, unless InformationGain(records) has a public bound."""
    return replace(pinq_id3(), split=published.SelectTest(published.RealExponential, score))


def diffp_c45(score: Score = published.Max()) -> Recipe:  # noqa: B008 - a frozen value
    """4.15."""
    return replace(
        pinq_id3(),
        tests=published.CutRanges(),
        split=published.SelectCutsThenTest(published.RealExponential, score),
        pruning=published.Pruning(),
    )


def random_chunks() -> Recipe:
    """5.2, diffprivlib 0.6.6."""
    return Recipe(
        assign=published.Chunks(),
        tests=published.CutCodes(),
        budgets=published.LeafOnly(),
        split=published.RandomTest(),
        leaf=published.PermuteAndFlipLabel(score_range=1),
    )


def random_smooth() -> Recipe:
    """5.1, Fletcher and Islam 2017."""
    return Recipe(
        assign=published.FixedSize(label_factor=None),
        tests=published.CutRanges(),
        budgets=published.LeafOnly(),
        split=published.RandomTest(),
        leaf=published.SmoothSensitivityLabel(),
        stops=(published.Empty(),),
    )


@dataclass(frozen=True)
class System:
    """A recipe and its default size."""

    recipe: Recipe
    n_estimators: int
    max_depth: Callable[[Schema], int]


def _depth(depth: int) -> Callable[[Schema], int]:
    return lambda schema: depth


SYSTEMS = {
    "edprf": System(edprf(), 35, _depth(5)),
    "pfdpdt": System(edprf(), 1, _depth(5)),
    "tradition": System(tradition(), 1, _depth(5)),
    "tradition_spl_imp": System(tradition_spl_imp(), 1, _depth(5)),
    "tradition_leaf_imp": System(tradition_leaf_imp(), 1, _depth(5)),
    "tradition R2": System(undivided(tradition()), 1, _depth(5)),
    "tradition_spl_imp R2": System(undivided(tradition_spl_imp()), 1, _depth(5)),
    "tradition_leaf_imp R2": System(undivided(tradition_leaf_imp()), 1, _depth(5)),
    "diffprf_patil": System(diffprf_patil(), 10, _depth(5)),
    "diffprfs": System(diffprfs(), 25, _depth(5)),
    "diffprf_deng": System(diffprf_deng(), 25, _depth(5)),
    "diffprf_deng arithmetic": System(diffprf_deng(Linear(Fraction(1), Fraction(0))), 25, _depth(5)),
    "diffprf_linear": System(diffprf_linear(), 25, _depth(5)),
    "tpdprf": System(tpdprf(), 25, _depth(5)),
    "sulq_id3": System(sulq_id3(), 1, _depth(5)),
    "pinq_id3": System(pinq_id3(), 1, _depth(5)),
    "diffp_id3": System(diffp_id3(), 1, _depth(5)),
    "diffp_c45": System(diffp_c45(), 1, _depth(5)),
    "random_chunks": System(random_chunks(), 10, _depth(5)),
    "random_smooth": System(random_smooth(), 100, published.random_tree_depth),
}
