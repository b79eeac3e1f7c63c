"""The output of ``hedgerow demo``: a picture, a card and a model, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import click

from hedgerow.errors import ConfigurationError
from hedgerow.estimator import PrivateEstimator
from hedgerow.files import atomic_file

__all__ = ["claim_folder", "fill_folder"]

MARK = "written-by-hedgerow-demo.txt"
MARKED = "hedgerow demo wrote the files in this folder, and replaces them when it runs again.\n"
CURVES, CARD, MODEL = "curves.png", "card.html", "model.hedgerow"


def claim_folder(folder: Path) -> None:
    """Claim the folder for the demo, or raise UsageError if it contains other files."""
    mark = folder / MARK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_own = mark.is_file() and mark.read_bytes() == MARKED.encode()
        if not is_own and any(folder.iterdir()):
            raise click.UsageError(
                f"the folder {folder} holds files that the demo did not write; name another one by --out FOLDER."
            )
        _write(mark, MARKED.encode())
    except FileExistsError as error:
        raise click.UsageError(f"{folder} is no folder; name another one by --out FOLDER.") from error


def fill_folder(folder: Path, model: PrivateEstimator, title: str) -> list[str]:
    """Write what the model learned to the demo's folder, and return lines that describe it."""
    from hedgerow.plots import Page
    from hedgerow.plots.axes import png_bytes
    from hedgerow.plots.card import curves_figure, write_card

    model.save(folder / MODEL)
    page = Page(title)
    write_card(model, page)
    page.write(folder / CARD)
    said = [
        f"What the last fit learned is in the folder {folder}; showing it costs nothing:",
        f"  {CARD:<15} its card: guarantee, schema, what it learned, limits",
        f"  {MODEL:<15} the model itself, for hedgerow predict, inspect and export",
    ]
    try:
        figure, words = curves_figure(model)
        picture = png_bytes(figure)
    except ConfigurationError as error:
        (folder / CURVES).unlink(missing_ok=True)  # of an earlier model
        return [*said, f"  There is no {CURVES}: {error}"]
    _write(folder / CURVES, picture)
    return [*said, f"  {CURVES:<15} {words}"]


def _write(path: Path, content: bytes) -> None:
    with atomic_file(path) as part:
        part.write_bytes(content)
