"""The published systems, one file each, and their list."""

from hedgerow.systems.registry import SystemInfo, list_systems, load, system_class

__all__ = ["SystemInfo", "list_systems", "load", "system_class"]
