"""Measuring the actual privacy loss behind a claimed epsilon, by running the shipped code."""

from hedgerow.audit.contents import check_model
from hedgerow.audit.exact import Grid
from hedgerow.audit.findings import Finding
from hedgerow.audit.losses import exact_loss, exact_search
from hedgerow.audit.membership import MembershipReport, membership_attack, one_run_audit

__all__ = [
    "Finding",
    "Grid",
    "MembershipReport",
    "check_model",
    "exact_loss",
    "exact_search",
    "membership_attack",
    "one_run_audit",
]
