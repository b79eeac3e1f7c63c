"""Measuring the actual privacy loss behind a claimed epsilon, by running the shipped code."""

from hedgerow.audit.contents import check_model
from hedgerow.audit.exact import Grid
from hedgerow.audit.findings import Finding
from hedgerow.audit.losses import exact_loss
from hedgerow.audit.replay import Replayed, replay_fit

__all__ = ["Finding", "Grid", "Replayed", "check_model", "exact_loss", "replay_fit"]
