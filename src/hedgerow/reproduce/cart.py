"""What Jia, Qiu and Ma say of CART-DPsAdaBoost, Journal of Cyber Security 6(4), 2021: its algorithm, data, figures and tables."""

from __future__ import annotations

from hedgerow.reproduce.cart_figures import FIGURES
from hedgerow.reproduce.cart_tables import TABLES
from hedgerow.reproduce.cart_text import TABLE_3, TEXT, implied_accuracy

__all__ = ["EXPERIMENTS", "SUMMARY", "SYSTEMS", "TABLE_3", "implied_accuracy"]

SYSTEMS = ("cart-dps-adaboost", "dp-adaboost")
SUMMARY = (
    "As printed, noise has the scale max w / epsilon', and weights sum to 1 over all records: a count of thousands is off by far "
    "less than one record. What depends on epsilon in the paper's figures cannot come from that noise.",
)
EXPERIMENTS = (*TEXT, *FIGURES, *TABLES)
