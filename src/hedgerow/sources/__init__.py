"""Readers of files that hold tables of records or of their columns."""
