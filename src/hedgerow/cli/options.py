"""Types of options and arguments that several commands share."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import click

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.exact import exact

__all__ = ["InputFile", "OutputFile", "checked_epsilon", "checked_separator", "refuse_overwriting"]


class InputFile(click.Path):
    """A file that exists and can be read."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, readable=True, path_type=Path)


class OutputFile(click.Path):
    """A file that can be written, which is known before any budget is spent."""

    def __init__(self) -> None:
        # Resolved, so that a link to a file stays a link.
        super().__init__(dir_okay=False, resolve_path=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, or fail where no file could be put."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.exists() and not path.is_file():
            self.fail(f"{path} is no ordinary file, so it cannot be replaced by one.", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"the folder {path.parent} does not exist; create it first.", param, ctx)
        try:
            tempfile.TemporaryFile(dir=path.parent).close()
        except OSError as error:
            self.fail(f"the folder {path.parent} cannot be written ({error.strerror}).", param, ctx)
        return path


def checked_epsilon(context: click.Context, parameter: click.Parameter, value: float) -> float:
    """Return a privacy budget, which stands for its shortest decimal."""
    try:
        exact(value)
    except ConfigurationError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    return value


def checked_separator(context: click.Context, parameter: click.Parameter, value: str) -> str:
    r"""Return the character between cells; ``\t`` may be spelled out."""
    character = "\t" if value == "\\t" else value
    if len(character) != 1 or character in '"\r\n':
        raise click.BadParameter(
            f"{value!r} cannot separate cells; pass one character, such as ',' or ';' or '\\t'.", context, parameter
        )
    return character


def refuse_overwriting(out: Path, *inputs: Path) -> None:
    """Raise UsageError if the output would replace a file that is read."""
    for path in inputs:
        if out.exists() and out.samefile(path):
            raise click.UsageError(f"--out {out} is a file that this command reads; choose another name.")
