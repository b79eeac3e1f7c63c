"""Pack the rows of single fits of the papers' experiments into one compressed file for each paper, with hashes.

    python benchmarks/pack_rows.py docs/reproductions/rows
    (cd docs/reproductions/rows && sha256sum --check SHA256SUMS)

`hedgerow reproduce` writes a CSV file for each data set and reads packed files as well. The files of single sets that were packed
are removed; rows of data sets that no paper has stay where they are.
"""

from __future__ import annotations

import csv
import hashlib
import io
import lzma
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from hedgerow.files import atomic_file
from hedgerow.papers.reproduce.fits import FIELDS, KEY, PACKED, read_rows
from hedgerow.papers.reproduce.statements import PAPERS

HASHES = "SHA256SUMS"  # as `sha256sum --check` reads it


def pack_rows(home: Path, sets: Mapping[str, Collection[str]]) -> None:
    """Pack the rows of the data sets of each paper."""
    rows = read_rows(home)
    for paper, names in sets.items():
        own = [row for row in rows.values() if row["data"] in names]
        if not own:
            continue
        own.sort(key=lambda row: (*(row[name] for name in KEY[:-1]), int(row["run"])))
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(own)
        with atomic_file(home / f"{paper}{PACKED}") as part:
            part.write_bytes(lzma.compress(text.getvalue().encode("utf-8"), preset=9))
        for name in names:
            (home / f"{name}.csv").unlink(missing_ok=True)  # packed by now
    packed = sorted(home.glob(f"*{PACKED}"))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in packed]
    (home / HASHES).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    pack_rows(Path(sys.argv[1]), {paper.name: frozenset(paper.measures) for paper in PAPERS})
