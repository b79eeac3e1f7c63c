"""Ids of persons on workers, which all of them must read alike: one person under two ids would count twice."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.engines.encode import ids_of, in_part, key_of_ids
from hedgerow.errors import EngineError
from hedgerow.schema.persons import Ids
from hedgerow.sources.streams import Block
from hedgerow.table import PersonPart

TEXT = ("object", "str", "large_string")
UNICODE = "the workers' Unicode version differs from the driver's"


def unicode_version() -> str:
    """Return the version of Unicode, by which this process normalizes text."""
    return unicodedata.unidata_version


def other_unicode() -> EngineError:
    """Return the error of workers that may read one text as two ids."""
    return EngineError(f"{UNICODE}, so one person could be read as two. Give all of them the same version of Python.")


def kind_of(column: Any) -> str:
    """Return what cells of a pandas column are; ids of columns of one kind are comparable."""
    dtype = getattr(column.dtype, "categories", column).dtype
    if str(dtype).startswith(TEXT):
        return "text"
    return "numbers" if dtype.kind in "iuf" else str(dtype)


@dataclass(frozen=True)
class Whose:
    """How the driver and every worker read ids.

    Parameters
    ----------
    kind : str or None
        What the frame declares its column of ids to be, where a partition may come otherwise; None: it never does.
    version : str
        The driver's version of Unicode.
    part : PersonPart or None
        The part of all persons whose records may count.
    """

    kind: str | None
    version: str
    part: PersonPart | None = None

    def check(self) -> None:
        """Raise EngineError where this process normalizes text by other rules."""
        if self.version != unicode_version():
            raise other_unicode()

    def ids(self, block: Block, missing: Sequence[str], key: bytes) -> Ids:
        """Return the hashed ids of a block's persons, or raise EngineError where its column is not what was declared."""
        present = None if self.kind is None else block.groups.dropna()
        if present is not None and len(present) and kind_of(present) != self.kind:
            raise EngineError(
                "a partition holds the ids of persons as another type than the frame declares, so one person could be read "
                "as two. Give the column one type in all partitions, ids best as text, and make hr.Records anew."
            )
        return ids_of(block, missing, key_of_ids(key))

    def counting(self, block: Block, missing: Sequence[str], ids: Ids) -> Ids:
        """Return a block's hashed ids, zeros where the person's records are not to count."""
        return in_part(block, missing, self.part, ids)
