"""Options and arguments that several commands share, and their types."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import click

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.exact import exact, exact_delta

__all__ = [
    "InputFile",
    "InputFolder",
    "OutputFile",
    "checked_delta",
    "checked_epsilon",
    "checked_share",
    "data_argument",
    "force_option",
    "json_option",
    "refuse_overwriting",
    "schema_option",
    "separator_option",
    "target_option",
]

NO_SCHEMA = """\
--schema is missing: ranges, values and classes must be public knowledge, written down by whoever knows the data and not \
read off the records. Write a TOML file such as

  target = "income"
  classes = ["low", "high"]
  missing = ["?"]

  [features.age]
  low = 17
  high = 90

  [features.sex]
  values = ["Female", "Male"]

and pass it with --schema FILE. `hedgerow schema init DATA` drafts one, every entry of which you must confirm."""


class InputFile(click.Path):
    """A file that exists and can be read."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, readable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, or fail where there is no file."""
        if value == "-" and not os.path.lexists("-"):
            self.fail("there is no file '-'; pass /dev/stdin to read what a pipe brings.", param, ctx)
        return Path(os.fsdecode(super().convert(value, param, ctx)))


class InputFolder(click.Path):
    """A folder that exists and can be written."""

    def __init__(self) -> None:
        super().__init__(exists=True, file_okay=False, writable=True, path_type=Path)


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


def checked_delta(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Return the probability that the guarantee may fail, if one is given."""
    if value is not None:
        try:
            exact_delta(value)
        except ConfigurationError as error:
            raise click.BadParameter(str(error), context, parameter) from error
    return value


def checked_share(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Return a share of the lines, if one is given."""
    if value is not None and not 0 < value < 1:
        raise click.BadParameter(
            f"{value} is no share; pass a number between 0 and 1, such as 0.2.", context, parameter
        )
    return value


def refuse_overwriting(out: Path, force: bool, *inputs: Path) -> None:
    """Raise UsageError if the output would replace a file that is read, or without ``force`` any file."""
    if not out.exists():
        return
    if any(out.samefile(path) for path in inputs):
        raise click.UsageError(f"--out {out} is a file that this command reads; choose another name.")
    if not force:
        raise click.UsageError(f"{out} exists already; choose another name, or pass --force to replace it.")


def _checked_separator(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    r"""Return the character between cells, if one is given; ``\t`` may be spelled out."""
    if value is None:
        return None
    character = "\t" if value == "\\t" else value
    if len(character) != 1 or character in '"\r\n':
        raise click.BadParameter(
            f"{value!r} cannot separate cells; pass one character, such as ',' or ';' or '\\t'.", context, parameter
        )
    return character


def _required_schema(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path:
    """Return the schema's path; whoever gives none is told first of all how to write one."""
    if value is None:
        raise click.UsageError(NO_SCHEMA, context)
    return value


data_argument = click.argument("data", type=InputFile())
force_option = click.option("--force", is_flag=True, help="Replace what --out names if it exists.")
json_option = click.option("--json", "as_json", is_flag=True, help="Write the result to stdout as one JSON document.")
separator_option = click.option(
    "--separator",
    callback=_checked_separator,
    help="The character between cells of a CSV file. [default: the schema's delimiter, or a comma]",
)
schema_option = click.option(
    "--schema",
    "schema_path",
    type=InputFile(),
    callback=_required_schema,
    is_eager=True,
    help="TOML file that says what is public about the data.  [required]",
)
target_option = click.option("--target", help="The label's column. [default: the schema's target]")
