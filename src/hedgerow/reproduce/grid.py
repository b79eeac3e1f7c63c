"""Many fits, one line of a CSV file each: what stands there is not run again, and nothing is lost when a run is broken off."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from hedgerow.progress import Progress
from hedgerow.reproduce.fits import KEY, MEASURES, Fit, measured

__all__ = ["Row", "read_rows", "run_grid"]

Row = dict[str, str]
FIELDS = (*KEY, *MEASURES)


def read_rows(path: str | os.PathLike[str]) -> dict[tuple[str, ...], Row]:
    """Return the whole lines of a results file by the key of their fit; none where there is no file."""
    if not Path(path).exists():
        return {}
    text = Path(path).read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1].splitlines()  # the last line may have been cut by a crash
    return {tuple(row[name] for name in KEY): row for row in csv.DictReader(whole)}


def run_grid(
    fits: Iterable[Fit],
    path: str | os.PathLike[str],
    *,
    jobs: int = 1,
    work: Callable[[Fit], Row] = measured,
    progress: Callable[..., Progress] = Progress,
) -> dict[tuple[str, ...], Row]:
    """Run the fits that the file lacks, write each as soon as it is done, and return all rows of the file.

    Parameters
    ----------
    fits : iterable of Fit
        What is wanted; a fit that comes twice is run once.
    path : path
        The CSV file, which is made if it does not exist.
    jobs : int
        How many fits run at once, in processes of their own.
    work, progress : callable
        What runs a fit, and what shows how far the work is.
    """
    rows = read_rows(path)
    wanted = list(dict.fromkeys(fits))
    left = [fit for fit in wanted if fit.key not in rows]
    if not left:
        return rows
    _mend(Path(path))
    with (
        Path(path).open("a", newline="", encoding="utf-8") as file,
        progress(map(_group, left), len(wanted) - len(left)) as bar,
    ):
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not file.tell():
            writer.writeheader()
        for fit, row in _worked(left, jobs, work):
            writer.writerow(row)
            file.flush()
            rows[fit.key] = row
            bar.step(_group(fit), f"{fit.data} {fit.system} {fit.variant}")
    return rows


def _group(fit: Fit) -> tuple[object, ...]:
    """Return what decides how long a fit takes, for the estimate of the time left."""
    settings = dict(fit.settings)
    return fit.data, fit.records, fit.system, fit.variant, settings.get("n_estimators"), settings.get("max_depth")


def _worked(fits: Sequence[Fit], jobs: int, work: Callable[[Fit], Row]) -> Iterator[tuple[Fit, Row]]:
    """Yield each fit with its row as soon as it is done."""
    if jobs == 1:
        for fit in fits:
            yield fit, work(fit)
        return
    from sklearn.utils.parallel import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(_pair)(fit, work) for fit in fits)


def _pair(fit: Fit, work: Callable[[Fit], Row]) -> tuple[Fit, Row]:
    return fit, work(fit)


def _mend(path: Path) -> None:
    """Make the folder of a results file, and cut off a last line that was not written to its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        whole = path.read_bytes().rfind(b"\n") + 1
        os.truncate(path, whole)
