"""Options and arguments that several commands share, and their values: files, ledgers, persons."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from glob import escape, glob, has_magic
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hedgerow.errors import ConfigurationError
from hedgerow.files import LEAST_MEMORY, MOST_RECORDS_OF_ONE
from hedgerow.privacy.exact import exact, exact_delta
from hedgerow.reading.table_file import is_parquet

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

READS_FILES = """\
DATA is a file, CSV or Parquet by its name, a folder, or a quoted pattern such as "people/*.parquet". It is read block by \
block."""

CHARGES_FIRST = """\
With --ledger and --dataset, the ledger is charged before anything is drawn. If it refuses, the exit code is 3 and nothing is \
written."""

ENDINGS = (".parquet", ".csv")  # of the files that a folder stands for, as in hr.Records
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
Command = TypeVar("Command", bound=Callable[..., Any])


class InputFile(click.Path):
    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, readable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if value == "-" and not os.path.lexists("-"):
            self.fail("there is no file '-'; pass /dev/stdin to read what a pipe brings.", param, ctx)
        return Path(os.fsdecode(super().convert(value, param, ctx)))


class OutputFile(click.Path):
    """A file that can be written, which is checked before any budget is spent."""

    def __init__(self) -> None:
        # Resolved, so that a link to a file stays a link.
        super().__init__(dir_okay=False, resolve_path=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
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
        one = InputFile()
        folder = os.path.isdir(value)
        if not folder and (not has_magic(str(value)) or Path(value).exists()):
            return (one.convert(value, param, ctx),)
        patterns = [os.path.join(escape(value), f"*{ending}") for ending in ENDINGS] if folder else [value]
        paths = sorted(path for pattern in patterns for path in glob(pattern))
        if not paths and folder:
            self.fail(f"the folder {value!r} has no file that ends in {' or '.join(ENDINGS)}.", param, ctx)
        if not paths:
            self.fail(f"no file is named like {value!r}.", param, ctx)
        if len({is_parquet(path) for path in paths}) > 1:
            self.fail(f"{value!r} names Parquet files and others; name those of one kind.", param, ctx)
        return tuple(one.convert(path, param, ctx) for path in paths)


def checked(read: Callable[[Any], Any], *, check_alone: bool = False) -> Callable[..., Any]:
    """Return a callback that reads, or only checks, an option's value, if it is given, and names the option on an error."""

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        try:
            made = None if value is None else read(value)
        except ConfigurationError as error:
            raise click.BadParameter(str(error), context, parameter) from error
        return value if check_alone else made

    return callback


def _memory(value: str) -> int:
    text = value.strip().lower().removesuffix("b")
    digits = text.rstrip("kmgti")
    try:
        size = int(float(digits) * UNITS[text[len(digits) :].strip()])
    except (ValueError, OverflowError, KeyError):
        raise ConfigurationError(f"{value!r} is no amount of memory; write it as 512MiB, 1GiB or 2GB.") from None
    if size < LEAST_MEMORY:
        raise ConfigurationError(f"{value} is too little; give at least {LEAST_MEMORY >> 20}MiB.")
    return size


def share(value: float) -> float:
    if not 0 < value < 1:
        raise ConfigurationError(f"{value} is no share; pass a number between 0 and 1, such as 0.2.")
    return value


def _separator(value: str) -> str:
    r"""Return the character between cells; ``\t`` may be spelled out."""
    character = "\t" if value == "\\t" else value
    if len(character) != 1 or character in '"\r\n':
        raise ConfigurationError(f"{value!r} cannot separate cells; pass one character, such as ',' or ';' or '\\t'.")
    return character


DATABASE = b"SQLite format 3\x00"  # how a store of ledgers begins
BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside it


def refuse_overwriting(out: Path | None, force: bool, *inputs: Path | None) -> None:
    """Raise UsageError if an output would replace an input file or a store of ledgers, or any file without ``force``."""
    if out is None:
        return
    for path in (out, *(out.with_name(out.name.removesuffix(end)) for end in BESIDE if out.name.endswith(end))):
        with suppress(OSError):  # there is none, or nobody may read it
            if not path.is_file():
                continue
            with path.open("rb") as file:
                if file.read(len(DATABASE)) == DATABASE:
                    raise click.UsageError(
                        f"{out} is, or belongs to, a database such as a store of ledgers, whose history would be lost; "
                        "choose another name."
                    )
    if not out.exists():
        return
    if any(path is not None and out.samefile(path) for path in inputs):
        raise click.UsageError(f"--out {out} is a file that this command reads; choose another name.")
    if not force:
        raise click.UsageError(f"{out} exists already; choose another name, or pass --force to replace it.")


def _required_schema(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path:
    """Return the schema's path. If it is missing, the error explains how to write a schema."""
    if value is None:
        raise click.UsageError(NO_SCHEMA, context)
    return value


# What several commands take. ``options`` adds some of them to a command, in this order of its help.
OPTIONS: dict[str, Callable[[Any], Any]] = {
    "schema": click.option(
        "--schema",
        "schema_path",
        type=InputFile(),
        callback=_required_schema,
        is_eager=True,
        help="TOML file with the public description of the data.  [required]",
    ),
    "target": click.option("--target", help="The column of labels. [default: the schema's target]"),
    "system": click.option(
        "--system",
        help="One of hedgerow.list_systems(). [default: hedgerow, or hedgerow-regressor if the schema has an outcome]",
    ),
    "variant": click.option(
        "--variant",
        type=click.Choice(["private", "published"]),
        default="private",
        show_default=True,
        help="The form whose guarantee is proved, or the form that the paper prints.",
    ),
    "param": click.option(
        "--param", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter of the system; repeatable."
    ),
    "adjacency": click.option(
        "--adjacency",
        type=click.Choice(["add-remove", "replace-one"]),
        default="add-remove",
        show_default=True,
        help="What neighboring data sets are.",
    ),
    "person": click.option(
        "--person",
        metavar="COLUMN",
        help="The column that identifies the person of a record. It is not a feature. At most K records of each person are "
        "read, drawn at random. [default: the schema's]",
    ),
    "records-per-person": click.option(
        "--records-per-person",
        type=click.IntRange(1, MOST_RECORDS_OF_ONE),
        metavar="K",
        help="Protect a person, of whom at most K records are read. Without a column of persons, you promise that no person "
        "has more. [default: the schema's, or 1]",
    ),
    "allow-inferred": click.option(
        "--allow-inferred", is_flag=True, help="Fit with a schema that was read off the records, without a guarantee."
    ),
    "memory": click.option(
        "--memory",
        callback=checked(_memory),
        default="1GiB",
        show_default=True,
        metavar="SIZE",
        help="Approximate memory for codes and counts. The rest goes to disk.",
    ),
    "spill": click.option(
        "--spill",
        type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
        help="The folder for codes that exceed --memory. [default: the system's folder for temporary files]",
    ),
    "ledger": click.option(
        "--ledger",
        "address",
        envvar="HEDGEROW_LEDGER",
        metavar="PATH_OR_URL",
        help="The ledger store: a file, or postgresql+psycopg://user@host/database.  [env: HEDGEROW_LEDGER]",
    ),
    "dataset": click.option(
        "--dataset",
        envvar="HEDGEROW_DATASET",
        metavar="NAME",
        help="The ledger's name in the store.  [env: HEDGEROW_DATASET]",
    ),
    "separator": click.option(
        "--separator",
        callback=checked(_separator),
        help="The character between cells of a CSV file. [default: the schema's delimiter, or a comma]",
    ),
    "force": click.option("--force", is_flag=True, help="Replace the file of --out if it exists."),
    "key": click.option(
        "--key",
        type=InputFile(),
        help="The public key, a PEM file of Ed25519, of whoever should have signed the model file.",
    ),
    "json": click.option("--json", "as_json", is_flag=True, help="Write the result to stdout as one JSON document."),
}
missing_option = click.option(
    "--missing", multiple=True, metavar="TEXT", help="A marker of a missing cell, such as ?; repeatable."
)
model_argument = click.argument("model", type=InputFile())
files_argument = click.argument("data", type=DataFiles())


def options(*names: str) -> Callable[[Command], Command]:
    """Add some of ``OPTIONS`` to a command."""

    def add(command: Command) -> Command:
        for name in reversed([name for name in OPTIONS if name in names]):
            command = OPTIONS[name](command)
        return command

    return add


def epsilon_option(words: str, name: str = "--epsilon", **settings: Any) -> Callable[[Command], Command]:
    return click.option(name, type=float, callback=checked(exact, check_alone=True), help=words, **settings)


def delta_option(words: str, **settings: Any) -> Callable[[Command], Command]:
    return click.option("--delta", type=float, callback=checked(exact_delta, check_alone=True), help=words, **settings)


def out_option(words: str, **settings: Any) -> Callable[[Command], Command]:
    return click.option("--out", type=OutputFile(), help=words, **settings)


def required(value: str | None, option: str, variable: str) -> str:
    """Return an option's value, or raise UsageError if neither the option nor its variable is given."""
    if not value:
        raise click.UsageError(f"{option} is missing; pass it, or set {variable}.")
    return value


def store_of(address: str | None) -> LedgerStore:
    from hedgerow.ledgers.store import LedgerStore  # SQLAlchemy takes its time, and most commands need none

    return LedgerStore(required(address, "--ledger", "HEDGEROW_LEDGER"))


def ledger_or_none(address: str | None, dataset: str | None) -> Ledger | None:
    """Return the ledger that a command charges, or None if neither option is given. One option alone is an error."""
    if not address and not dataset:
        return None
    return store_of(address).ledger(required(dataset, "--dataset", "HEDGEROW_DATASET"))


@dataclass(frozen=True)
class Query:
    """What a command that spends is given: its records and how they are read, the budget, whom it protects, and the results."""

    paths: tuple[Path, ...]
    memory: int
    spill: Path | None
    separator: str | None
    epsilon: float
    delta: float | None
    adjacency: str
    person: str | None
    records_per_person: int | None
    address: str | None
    dataset: str | None
    out: Path | None
    force: bool
    as_json: bool

    def claim(self) -> dict[str, Any]:
        """Return the budget, whom it protects, and the ledger that is charged, as every query in Python takes them."""
        return {
            "epsilon": self.epsilon,
            "adjacency": self.adjacency,
            "records_per_person": self.records_per_person,
            "ledger": ledger_or_none(self.address, self.dataset),
        }


def query_options(
    epsilon: str, delta: str | None, out: str, *, out_required: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the argument DATA and the options of ``Query`` to a command, which gets them as ``query``; texts are helps."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def collected(**given: Any) -> None:
            own = {name: given.pop(name, None) for name in Query.__dataclass_fields__ if name != "paths"}
            command(query=Query(given.pop("data"), **own), **given)

        collected.__doc__ = "\n\n".join([cleandoc(command.__doc__ or ""), READS_FILES, CHARGES_FIRST])
        common = "adjacency person records-per-person memory spill ledger dataset separator force json".split()
        result = out_option(out, required=out_required)(options(*common)(collected))
        if delta is not None:
            result = delta_option(delta)(result)
        return files_argument(epsilon_option(epsilon, required=True)(result))

    return add
