"""The published systems, one file each, and their list."""

from hedgerow.catalogue import SystemInfo
from hedgerow.systems.registry import default_system, list_systems, load, system_class

__all__ = ["SystemInfo", "default_system", "list_systems", "load", "system_class"]
