"""Packed rows are the rows, beside the hash of their file (docs/reproductions/README.md)."""

import hashlib
from dataclasses import replace

from hedgerow.papers.reproduce.fits import KEY, MEASURES, Fit, read_rows, run_grid
from pack_rows import HASHES, pack_rows

FITS = [Fit("small", "edprf", "private", 1.0, (("max_depth", 1),), 0, run) for run in range(5)]


def row_of(fit):
    return {**dict(zip(KEY, fit.key, strict=True)), **dict.fromkeys(MEASURES, f"0.{fit.run}")}


def test_packed_rows_are_read_back_and_gone_on_from(tmp_path):
    other = [replace(fit, data="other") for fit in FITS[:2]]
    rows = run_grid([*FITS[:3], *other], tmp_path, work=row_of)
    pack_rows(tmp_path, {"paper": {"small"}, "empty": {"none"}})
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["paper.csv.xz", HASHES, "other.csv"])
    assert read_rows(tmp_path) == rows
    digest = hashlib.sha256((tmp_path / "paper.csv.xz").read_bytes()).hexdigest()
    assert (tmp_path / HASHES).read_text() == f"{digest}  paper.csv.xz\n"
    done = []
    assert len(run_grid([*FITS, *other], tmp_path, work=lambda fit: done.append(fit) or row_of(fit))) == 7
    assert done == FITS[3:]
    packed = (tmp_path / "paper.csv.xz").read_bytes()
    pack_rows(tmp_path, {"paper": {"small"}})
    assert [row["run"] for row in read_rows(tmp_path).values() if row["data"] == "small"] == ["0", "1", "2", "3", "4"]
    again = (tmp_path / "paper.csv.xz").read_bytes()
    assert again != packed
    pack_rows(tmp_path, {"paper": {"small"}})
    assert (tmp_path / "paper.csv.xz").read_bytes() == again
