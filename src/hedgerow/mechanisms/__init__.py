"""Mechanisms: each states its event, draws its own noise exactly, and can say its exact law."""

from hedgerow.mechanisms.budget import Budget, Noise
from hedgerow.mechanisms.noise import AtMost, Geometric, PassesThreshold, RoundedNormal
from hedgerow.mechanisms.randomness import (
    Coin,
    Coins,
    Draw,
    Mechanism,
    PerRecordCoin,
    PoissonCoin,
    Randomness,
    WeightedCoin,
    Words,
)
from hedgerow.mechanisms.selection import (
    SELECTIONS,
    Exponential,
    PermuteAndFlip,
    PublicChoice,
    Selection,
)

__all__ = [
    "SELECTIONS",
    "AtMost",
    "Budget",
    "Coin",
    "Coins",
    "Draw",
    "Exponential",
    "Geometric",
    "Mechanism",
    "Noise",
    "PassesThreshold",
    "PerRecordCoin",
    "PermuteAndFlip",
    "PoissonCoin",
    "PublicChoice",
    "Randomness",
    "RoundedNormal",
    "Selection",
    "WeightedCoin",
    "Words",
]
