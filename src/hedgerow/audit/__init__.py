"""Measuring the actual privacy loss behind a claimed epsilon, by running the shipped code."""

from hedgerow.audit.contents import check_model
from hedgerow.audit.exact import Grid, Replay, exact_law, open_law, worst_loss
from hedgerow.audit.findings import Finding
from hedgerow.audit.losses import exact_loss, exact_search
from hedgerow.audit.membership import (
    MembershipReport,
    allowed_rate,
    guessing_bound,
    membership_attack,
    one_run_audit,
)

__all__ = [
    "Finding",
    "Grid",
    "MembershipReport",
    "Replay",
    "allowed_rate",
    "check_model",
    "exact_law",
    "exact_loss",
    "exact_search",
    "guessing_bound",
    "membership_attack",
    "one_run_audit",
    "open_law",
    "worst_loss",
]
