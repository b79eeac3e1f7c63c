"""Budgets for several operations: ceilings, the entries charged under them, and the stores that keep both."""
