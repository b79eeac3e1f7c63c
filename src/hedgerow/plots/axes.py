"""The only module that imports matplotlib, when something is drawn and not before."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, Self

from hedgerow.errors import ConfigurationError, install_words
from hedgerow.files import packaged_table
from hedgerow.texts import printable

TEXTS = packaged_table("hedgerow.plots", "texts")
BLUE, RED, GREY = "#3b6ea5", "#b5402f", "#8a8a8a"
# Colors that remain distinct with any color vision (Okabe and Ito), without the palest.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


class Display:
    """A picture: it holds what is drawn, and ``plot`` draws it and sets ``ax_`` and ``figure_``, matplotlib's axes and figure."""

    ax_: Any
    figure_: Any
    _draw: ClassVar[Callable[..., None]]  # on given axes; a display of several axes has a ``plot`` of its own

    def plot(self, ax: Any = None) -> Self:
        """Draw it on ``ax``, matplotlib axes, or on a new figure, and return the display."""
        self._draw(self._axes(ax))
        return self

    def _axes(self, ax: Any, width: float = 5.0, height: float = 4.6) -> Any:
        """Return the axes to draw on, or those of a new figure of this size in inches, and keep them."""
        self.ax_ = new_grid(1, (width, height))[0] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def framed(ax: Any, title: str = "", across: str = "", up: str = "", fontsize: int = 10) -> None:
    """Set a title and labels, which must be texts that matplotlib shows literally, and leave out the upper and right frame."""
    ax.set_title(title, loc="left", fontsize=10)
    ax.set_xlabel(across, fontsize=fontsize)
    ax.set_ylabel(up, fontsize=fontsize)
    ax.spines[["top", "right"]].set_visible(False)


def new_grid(count: int, size: tuple[float, float]) -> list[Any]:
    """Return this many axes, each of this size in inches, in rows of three in a new pyplot figure, which a notebook displays."""
    plt = _matplotlib("pyplot")
    wide = max(min(count, 3), 1)
    high = max(-(-count // wide), 1)
    figure, axes = plt.subplots(
        high, wide, figsize=(size[0] * wide, size[1] * high), layout="constrained", squeeze=False
    )
    for unused in axes.ravel()[count:]:
        figure.delaxes(unused)
    return list(axes.ravel()[:count])


def new_figure(width: float, height: float) -> Any:
    """Return a figure of this size in inches for files, which no window or notebook displays."""
    return _matplotlib("figure").Figure(figsize=(width, height), layout="constrained")


def _matplotlib(name: str) -> Any:
    try:
        return import_module(f"matplotlib.{name}")
    except ImportError as error:
        raise ConfigurationError(install_words("a picture needs matplotlib", "plot")) from error


def png_bytes(figure: Any, dpi: int = 110, colors: int | None = None) -> bytes:
    """Return a figure as the bytes of a PNG file, the same bytes for the same figure.

    With at most this many ``colors``, a file of lines and bands is a quarter as large.
    """
    png, small = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=dpi, metadata={"Software": None})
    if colors is None:
        return png.getvalue()
    from PIL import Image  # matplotlib uses it to write PNG files

    Image.open(png).convert("RGB").quantize(colors, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return small.getvalue()


def shown(text: object) -> str:
    """Return a text that matplotlib shows literally: on one line, with dollar signs that do not start formulas."""
    return printable(str(text)).replace("$", r"\$")


def wrapped(text: object, width: int) -> str:
    """Return a text as ``shown`` does, in at most three lines of at most ``width`` characters."""
    return "\n".join(map(shown, textwrap.wrap(str(text), width, max_lines=3, placeholder=" ...")))
