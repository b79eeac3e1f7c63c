"""Hatchling: the description in a wheel is the README without links into the repository, which lead nowhere there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # outside a build only the function is of use
    MetadataHookInterface = object

PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?://)[^)]*\)\n+", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\((?!https?://)[^)]*\)")


def without_links(text: str) -> str:
    """Return a page without pictures, and with the text in place of links, unless they are absolute."""
    return LINK.sub(r"\1", PICTURE.sub("", text))


class CustomMetadataHook(MetadataHookInterface):
    """Fills in the description of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README to the metadata of a build."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_links(text)}
