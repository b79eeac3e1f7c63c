"""The published systems, one file each."""
