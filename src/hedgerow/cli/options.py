"""Options and arguments that several commands share, and their values: files, ledgers, persons."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from glob import escape, glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hedgerow.errors import ConfigurationError
from hedgerow.limits import LEAST_MEMORY, MOST_RECORDS_OF_ONE

if TYPE_CHECKING:
    from hedgerow.ledgers.ledger import Ledger
    from hedgerow.ledgers.store import LedgerStore


NO_SCHEMA = """\
--schema is missing: ranges, values and classes must be public knowledge, written by somebody who knows the data, and not \
read off the records. Write a TOML file such as

  target = "income"
  classes = ["low", "high"]
  missing = ["?"]

  [features.age]
  low = 17
  high = 90

  [features.sex]
  values = ["Female", "Male"]

and pass it with --schema FILE. `hedgerow schema init DATA` drafts one; you must confirm each of its entries."""

ADJACENCIES = ("add-remove", "replace-one")  # as in ``hedgerow.privacy.accounting``, whose import is slow
adjacency_option = click.option(
    "--adjacency",
    type=click.Choice(ADJACENCIES),
    default="add-remove",
    show_default=True,
    help="What neighboring data sets are.",
)
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
Command = TypeVar("Command", bound=Callable[..., Any])


class InputFile(click.Path):
    """A file that exists and can be read."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, readable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, or fail if there is no file."""
        if value == "-" and not os.path.lexists("-"):
            self.fail("there is no file '-'; pass /dev/stdin to read what a pipe brings.", param, ctx)
        return Path(os.fsdecode(super().convert(value, param, ctx)))


class InputFolder(click.Path):
    """A folder that exists and can be written."""

    def __init__(self) -> None:
        super().__init__(exists=True, file_okay=False, writable=True, path_type=Path)


class OutputFile(click.Path):
    """A file that can be written, which is checked before any budget is spent."""

    def __init__(self) -> None:
        # Resolved, so that a link to a file stays a link.
        super().__init__(dir_okay=False, resolve_path=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, or fail if no file can be written there."""
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


class DataFiles(click.ParamType):  # type: ignore[type-arg]  # it is not generic before click 8.2
    """A file of records, or a folder or pattern for several files of one kind, in the order of their names."""

    name = "file, folder or pattern"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Path, ...]:
        """Return the paths, or fail if there is no file or they are of two kinds."""
        one = InputFile()
        folder = os.path.isdir(value)
        if not folder and (not has_magic(str(value)) or Path(value).exists()):
            return (one.convert(value, param, ctx),)
        from hedgerow.sources.tables import ENDINGS, is_parquet

        patterns = [os.path.join(escape(value), f"*{ending}") for ending in ENDINGS] if folder else [value]
        found = sorted(path for pattern in patterns for path in glob(pattern))
        if not found and folder:
            self.fail(f"the folder {value!r} has no file that ends in {' or '.join(ENDINGS)}.", param, ctx)
        if not found:
            self.fail(f"no file is named like {value!r}.", param, ctx)
        if len({is_parquet(path) for path in found}) > 1:
            self.fail(f"{value!r} names Parquet files and others; name those of one kind.", param, ctx)
        return tuple(one.convert(path, param, ctx) for path in found)


def checked_memory(context: click.Context, parameter: click.Parameter, value: str) -> int:
    """Return a number of bytes from a text such as 512MiB or 2GB."""
    text = value.strip().lower().removesuffix("b")
    digits = text.rstrip("kmgti")
    try:
        size = int(float(digits) * UNITS[text[len(digits) :].strip()])
    except (ValueError, OverflowError, KeyError):
        raise click.BadParameter(
            f"{value!r} is no amount of memory; write it as 512MiB, 1GiB or 2GB.", context, parameter
        ) from None
    if size < LEAST_MEMORY:
        raise click.BadParameter(f"{value} is too little; give at least {LEAST_MEMORY >> 20}MiB.", context, parameter)
    return size


def checked_epsilon(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Return a privacy budget, read as its shortest decimal, if one is given."""
    from hedgerow.privacy.exact import exact

    return _checked_exact(exact, context, parameter, value)


def checked_delta(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Return the probability that the guarantee may fail, if one is given."""
    from hedgerow.privacy.exact import exact_delta

    return _checked_exact(exact_delta, context, parameter, value)


def _checked_exact(
    read: Callable[[float], object], context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    try:
        if value is not None:
            read(value)
    except ConfigurationError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    return value


def checked_share(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Return a share of the lines, if it is given."""
    if value is not None and not 0 < value < 1:
        raise click.BadParameter(
            f"{value} is no share; pass a number between 0 and 1, such as 0.2.", context, parameter
        )
    return value


def refuse_overwriting(out: Path | None, force: bool, *inputs: Path | None) -> None:
    """Raise UsageError if an output would replace an input file, or any file without ``force``."""
    if out is None or not out.exists():
        return
    if any(path is not None and out.samefile(path) for path in inputs):
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
    """Return the schema's path. If it is missing, the error explains how to write a schema."""
    if value is None:
        raise click.UsageError(NO_SCHEMA, context)
    return value


force_option = click.option("--force", is_flag=True, help="Replace the file of --out if it exists.")
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
    help="TOML file with the public description of the data.  [required]",
)
target_option = click.option("--target", help="The column of labels. [default: the schema's target]")
files_argument = click.argument("data", type=DataFiles())
memory_option = click.option(
    "--memory",
    callback=checked_memory,
    default="1GiB",
    show_default=True,
    metavar="SIZE",
    help="Approximate memory for codes and counts. The rest goes to disk.",
)
spill_option = click.option(
    "--spill",
    type=InputFolder(),
    help="The folder for codes that exceed --memory. [default: the system's folder for temporary files]",
)


ledger_option = click.option(
    "--ledger",
    "address",
    envvar="HEDGEROW_LEDGER",
    metavar="PATH_OR_URL",
    help="The ledger store: a file, or postgresql+psycopg://user@host/database.  [env: HEDGEROW_LEDGER]",
)
dataset_option = click.option(
    "--dataset",
    envvar="HEDGEROW_DATASET",
    metavar="NAME",
    help="The ledger's name in the store.  [env: HEDGEROW_DATASET]",
)


system_option = click.option(
    "--system",
    help="One of hedgerow.list_systems(). [default: hedgerow, or hedgerow-regressor if the schema has an outcome]",
)
variant_option = click.option(
    "--variant",
    type=click.Choice(["private", "published"]),
    default="private",
    show_default=True,
    help="The form whose guarantee is proved, or the form that the paper prints.",
)


def ledger_options(command: Command) -> Command:
    """Add --ledger and --dataset to a command that spends."""
    return ledger_option(dataset_option(command))


def required(value: str | None, option: str, variable: str) -> str:
    """Return an option's value, or raise UsageError if neither the option nor its variable is given."""
    if not value:
        raise click.UsageError(f"{option} is missing; pass it, or set {variable}.")
    return value


def store_of(address: str | None) -> LedgerStore:
    """Return the store of a command that needs one."""
    from hedgerow.ledgers.store import LedgerStore

    return LedgerStore(required(address, "--ledger", "HEDGEROW_LEDGER"))


def ledger_or_none(address: str | None, dataset: str | None) -> Ledger | None:
    """Return the ledger that a command charges, or None if neither option is given. One option alone is an error."""
    if not address and not dataset:
        return None
    name = required(dataset, "--dataset", "HEDGEROW_DATASET")
    return store_of(address).ledger(name)


person_option = click.option(
    "--person",
    metavar="COLUMN",
    help="The column that identifies the person of a record. It is not a feature. At most K records of each person are read, "
    "drawn at random. [default: the schema's]",
)
records_per_person_option = click.option(
    "--records-per-person",
    type=click.IntRange(1, MOST_RECORDS_OF_ONE),
    metavar="K",
    help="Protect a person, of whom at most K records are read. Without a column of persons, you promise that no person has "
    "more. [default: the schema's, or 1]",
)


def person_options(command: Command) -> Command:
    """Add --person and --records-per-person to a command that reads records."""
    return person_option(records_per_person_option(command))


@dataclass(frozen=True)
class DataOptions:
    """What a command that spends is given of its records: the files, how they are read, and the ledger that is charged."""

    paths: tuple[Path, ...]
    memory: int
    spill: Path | None
    address: str | None
    dataset: str | None
    separator: str | None

    def ledger(self) -> Ledger | None:
        """Return the ledger that the command charges, or None."""
        return ledger_or_none(self.address, self.dataset)


def data_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --memory, --spill, --ledger, --dataset and --separator to a command, which gets them with DATA as ``data``."""

    @wraps(command)
    def collected(
        data: tuple[Path, ...],
        memory: int,
        spill: Path | None,
        address: str | None,
        dataset: str | None,
        separator: str | None,
        **others: Any,
    ) -> None:
        command(data=DataOptions(data, memory, spill, address, dataset, separator), **others)

    return memory_option(spill_option(ledger_options(separator_option(collected))))
