"""The published systems, one file each, and their list."""

from hedgerow.systems.registry import SystemInfo, default_system, list_systems, load, system_class

__all__ = ["SystemInfo", "default_system", "list_systems", "load", "system_class"]
