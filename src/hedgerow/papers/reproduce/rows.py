"""Many fits, one line of a CSV file each: what stands there is not run again, and nothing is lost when a run is broken off.

Rows of a paper that is done are packed into one compressed file, whose hash stands beside it.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from hedgerow.compiled import single
from hedgerow.errors import ConfigurationError
from hedgerow.files import HASHES, read_packed, write_packed
from hedgerow.papers.reproduce.fits import KEY, MEASURES, Fit, Row, measured
from hedgerow.texts import Progress

FIELDS = (*KEY, *MEASURES)
PACKED = ".csv.xz"


def read_rows(folder: str | os.PathLike[str]) -> dict[tuple[str, ...], Row]:
    """Return the whole lines of all results files in a folder by the key of their fit; none where there is no folder.

    A file with other columns, or a packed one with another hash than stands beside it, is a ConfigurationError.
    """
    rows: dict[tuple[str, ...], Row] = {}
    for path in sorted(Path(folder).glob(f"*{PACKED}")):
        try:
            text = read_packed(path)
        except ValueError as error:
            raise ConfigurationError(str(error)) from None
        rows.update(_rows(path, text))
    for path in sorted(Path(folder).glob("*.csv")):
        rows.update(_rows(path, path.read_text(encoding="utf-8")))
    return rows


def _rows(path: Path, text: str) -> dict[tuple[str, ...], Row]:
    reader = csv.DictReader(text[: text.rfind("\n") + 1].splitlines())  # the last line may have been cut by a crash
    if tuple(reader.fieldnames or FIELDS) != FIELDS:
        raise ConfigurationError(f"{path} is no file of rows of this version: it has other columns. Move it away.")
    return {tuple(row[name] for name in KEY): row for row in reader}


def pack_rows(folder: str | os.PathLike[str], sets: Mapping[str, Collection[str]]) -> list[Path]:
    """Pack the rows of a folder into one compressed file for each paper, with hashes, and remove the files of single sets.

    ``sets`` are the data sets of each paper; rows of others stay where they are. Returned is what was written.
    """
    home, rows, written = Path(folder), read_rows(folder), []
    for paper, names in sets.items():
        own = sorted((row for row in rows.values() if row["data"] in names), key=_place)
        if not own:
            continue
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(own)
        written.append(home / f"{paper}{PACKED}")
        write_packed(written[-1], text.getvalue())
    for name in {name for names in sets.values() for name in names}:
        (home / f"{name}.csv").unlink(missing_ok=True)  # packed by now
    return [*written, home / HASHES] if written else []


def _place(row: Row) -> tuple[object, ...]:
    return *(row[name] for name in KEY[:-1]), int(row["run"])


def run_grid(
    fits: Iterable[Fit],
    folder: str | os.PathLike[str],
    *,
    jobs: int = 1,
    work: Callable[[Fit], Row] = measured,
    progress: Callable[..., Progress] = Progress,
) -> dict[tuple[str, ...], Row]:
    """Run the fits that the folder lacks, each once, write each as soon as it is done, and return all rows in the folder.

    The folder has one CSV file for each data set. ``jobs`` fits run at once, in processes of their own; 0 runs none.
    """
    rows = read_rows(folder)
    wanted = list(dict.fromkeys(fits))
    left = [fit for fit in wanted if fit.key not in rows]
    if not left or not jobs:
        return rows
    paths = {fit.data: Path(folder) / f"{fit.data}.csv" for fit in left}
    for path in paths.values():
        _mend(path)
    with progress(map(_group, left), len(wanted) - len(left)) as bar:
        for fit, row in _worked(left, jobs, work):
            with paths[fit.data].open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if not file.tell():
                    writer.writeheader()
                writer.writerow(row)
            rows[fit.key] = row
            bar.step(_group(fit), f"{fit.data} {fit.system} {fit.variant}")
    return rows


def _group(fit: Fit) -> tuple[object, ...]:
    """Return what decides how long a fit takes, for the estimate of the time left."""
    settings = dict(fit.settings)
    return fit.data, fit.records, fit.system, fit.variant, settings.get("n_estimators"), settings.get("max_depth")


def _worked(fits: Sequence[Fit], jobs: int, work: Callable[[Fit], Row]) -> Iterator[tuple[Fit, Row]]:
    if jobs == 1:
        for fit in fits:
            yield fit, work(fit)
        return
    from sklearn.utils.parallel import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(_pair)(fit, work) for fit in fits)


def _pair(fit: Fit, work: Callable[[Fit], Row]) -> tuple[Fit, Row]:
    with single():  # the other jobs have the other processors
        return fit, work(fit)


def _mend(path: Path) -> None:
    """Make the folder of a results file, and cut off a last line that was not written to its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        whole = path.read_bytes().rfind(b"\n") + 1
        os.truncate(path, whole)
