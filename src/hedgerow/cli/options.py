"""Options and arguments that several commands share, and their values: files, ledgers, persons."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from glob import has_magic
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hedgerow.cli import TABLE, TEXTS
from hedgerow.errors import ConfigurationError
from hedgerow.files import LEAST_MEMORY
from hedgerow.privacy.exact import exact, exact_delta
from hedgerow.reading.streams import files_of
from hedgerow.reading.table_file import COMMAS, is_parquet

if TYPE_CHECKING:
    from hedgerow.ledgers.ledger import Ledger
    from hedgerow.ledgers.store import LedgerStore

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
    def __init__(self) -> None:
        # Resolved, so that a link to a file stays a link.
        super().__init__(dir_okay=False, resolve_path=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        given = Path(os.fsdecode(value))  # a pipe behind /dev/stdout exists under no name of its own
        if given.exists() and not given.is_file():
            self.fail(f"{given} is no ordinary file, so it cannot be replaced by one.", param, ctx)
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
        if not os.path.isdir(value) and (not has_magic(str(value)) or os.path.exists(value)):
            return (one.convert(value, param, ctx),)
        try:
            paths = files_of(value, *ENDINGS)
        except ConfigurationError as error:
            self.fail(str(error), param, ctx)
        if len({is_parquet(path) for path in paths}) > 1:
            self.fail(f"{value!r} names Parquet files and others; name those of one kind.", param, ctx)
        return tuple(one.convert(path, param, ctx) for path in paths)


def checked(read: Callable[[Any], Any], *, check_alone: bool = False) -> Callable[..., Any]:
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


def _separator(value: str) -> str:
    character = "\t" if value == "\\t" else value
    COMMAS.replaced(character)  # raises SchemaError if it is wrong
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
    if value is None:
        raise click.UsageError(TEXTS["no-schema"], context)
    return value


# What the ``type`` of an option in commands.toml stands for: click's type, and the callback that reads or checks a value.
TYPES: dict[str | None, tuple[Any, Callable[..., Any] | None]] = {
    None: (None, None),
    "int": (int, None),
    "float": (float, None),
    "epsilon": (float, checked(exact, check_alone=True)),
    "delta": (float, checked(exact_delta, check_alone=True)),
    "memory": (None, checked(_memory)),
    "separator": (None, checked(_separator)),
    "file": (InputFile(), None),
    "new file": (OutputFile(), None),
    "records": (DataFiles(), None),
    "schema": (InputFile(), _required_schema),
    "path": (click.Path(path_type=Path), None),
    "existing path": (click.Path(exists=True, path_type=Path), None),
    "folder": (click.Path(file_okay=False, path_type=Path), None),
    "writable folder": (click.Path(exists=True, file_okay=False, writable=True, path_type=Path), None),
}
RANGES: dict[str, Any] = {"int": click.IntRange, "float": click.FloatRange}


def _parameter(name: str, settings: dict[str, Any]) -> Callable[[Command], Command]:
    kind, callback = TYPES[settings.pop("type", None)]
    if "choice" in settings:
        kind = click.Choice(settings.pop("choice"))
    for number in RANGES.keys() & settings.keys():
        kind = RANGES[number](**settings.pop(number))
    if settings.pop("argument", False):
        return click.argument(name, type=kind, callback=callback, **settings)
    variable = [settings.pop("name")] if "name" in settings else []
    return click.option(f"--{name}", *variable, type=kind, callback=callback, **settings)


def command(name: str, **known: dict[str, Any]) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function by its table in commands.toml; ``known`` are settings of options that code alone knows."""
    table = TABLE[name]

    def add(function: Callable[..., None]) -> click.Command:
        made, words = function, [table["help"]]
        if "query" in signature(function).parameters:
            made, words = _with_query(function), [*words, TEXTS["reads-files"], TEXTS["charges-first"]]
        for each in reversed(table["takes"].split()):
            own = table.get("options", {}).get(each) or TABLE["shared"][each]
            made = _parameter(each, {**own, **known.get(each, {})})(made)
        return click.command(name.split()[-1], help="\n\n".join(words))(made)

    return add


def required(value: str | None, option: str, variable: str) -> str:
    if not value:
        raise click.UsageError(f"{option} is missing; pass it, or set {variable}. `hedgerow budget create` makes one.")
    return value


def store_of(address: str | None) -> LedgerStore:
    from hedgerow.ledgers.store import LedgerStore  # SQLAlchemy takes its time, and most commands need none

    return LedgerStore(required(address, "--ledger", "HEDGEROW_LEDGER"))


def ledger_or_none(address: str | None, dataset: str | None) -> Ledger | None:
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
        return {
            "epsilon": self.epsilon,
            "adjacency": self.adjacency,
            "records_per_person": self.records_per_person,
            "ledger": ledger_or_none(self.address, self.dataset),
        }


def _with_query(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def collected(**given: Any) -> None:
        own = {name: given.pop(name, None) for name in Query.__dataclass_fields__ if name != "paths"}
        command(query=Query(given.pop("data"), **own), **given)

    return collected
