"""Mechanisms: each states its event, draws its own noise exactly, and can say its exact law."""

from hedgerow.mechanisms.noise import (
    SELECTIONS,
    AtMost,
    Basis,
    Budget,
    DiscreteGaussian,
    Exponential,
    Geometric,
    Noise,
    PassesThreshold,
    PermuteAndFlip,
    PublicChoice,
    RoundedNormal,
    Selection,
    broad_basis,
)
from hedgerow.mechanisms.randomness import Coin, Coins, Draw, PerRecordCoin, RandomBits, Randomness, WeightedCoin
