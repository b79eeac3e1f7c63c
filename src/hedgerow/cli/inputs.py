"""What commands take and give: files of records and settings; JSON, progress, and an account of what was spent on an error."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from hedgerow.analysis.card import Card
from hedgerow.analysis.group_cards import GroupCards
from hedgerow.analysis.release import NO_VALUE
from hedgerow.cli import TABLE, BrokenOff
from hedgerow.cli.options import Query
from hedgerow.engines.local import Silent
from hedgerow.engines.records import Records
from hedgerow.errors import BudgetExceeded, EngineError, HedgerowError
from hedgerow.estimator import PrivateEstimator
from hedgerow.files import atomic_file, write_kept
from hedgerow.parameters import rules_of
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.filter import Watch
from hedgerow.reading.table_file import (
    Columns,
    FileForm,
    TableFile,
    batches_of,
    check_header,
    check_types,
    is_parquet,
    open_table,
    read_table,
)
from hedgerow.schema import Encoder, Schema
from hedgerow.texts import bar_of, listed

# These have options of their own, or none.
ELSEWHERE = {"variant", *TABLE["train"]["takes"].replace("-", "_").split()}


def load_schema(path: Path, target: str | None, person: str | None = None) -> Schema:
    schema = Schema.load(path)
    Encoder(schema, max_bins=1)  # raises the errors that a model of any system would
    return with_options(schema, target, person, path)


def with_options(schema: Schema, target: str | None, person: str | None, place: Path) -> Schema:
    if target is None and schema.target is None:
        raise click.UsageError(
            f"{place} names no target, so it does not state which column holds the labels; pass --target COLUMN."
        )
    if None not in (person, schema.person) and person != schema.person:
        raise click.UsageError(
            f"--person {person}: {place} says that {schema.person!r} tells persons apart. Leave --person out."
        )
    return schema.replace(target=target, person=person)


def check_given(schema: Schema, place: Path, *, allow_inferred: bool) -> None:
    if NO_VALUE in schema.classes:
        raise click.UsageError(f"{place} has no classes, since none was released. Replace its classes by public ones.")
    if not schema.inferred:
        return
    text = (
        f"no guarantee would hold: {place} was read off the data in {listed(schema.inferred)}. Replace or confirm each by public "
        'knowledge and delete its line origin = "inferred" (classes_origin for the classes). A line reason = "..." may say why '
        "it is public."
    )
    if not allow_inferred:
        raise click.UsageError(f"{text} To fit without a guarantee, pass --allow-inferred.")
    click.echo(f"warning: {text}", err=True)


def columns_of(schema: Schema) -> list[str]:
    return [*schema.names, str(schema.target), *([] if schema.person is None else [schema.person])]


def check_columns(table: TableFile, schema: Schema, data: Path) -> None:
    check_header(table, columns_of(schema), data, ignored=schema.ignore)
    check_types(table, schema.features, schema.target, schema.labels)


def records_of(query: Query, target: str, form: FileForm, person: str | None = None) -> Records:
    """Return files as records that are read block by block; a pipe, which can be read only once, is read now."""
    room: dict[str, Any] = {"group": person, "memory": query.memory, "spill": query.spill}
    if not query.paths[0].is_file():
        return Records.from_batches([read_table(path, form) for path in query.paths], target, **room)
    if is_parquet(query.paths[0]):
        return Records.from_parquet(query.paths, target, **room)
    return Records.from_csv(query.paths, target, separator=form.separator, encoding=form.encoding, **room)


@contextmanager
def opened(
    data: Sequence[Path], form: FileForm, *, shown: bool = True
) -> Iterator[tuple[list[TableFile], Callable[[Sequence[str] | None], Iterator[Columns]]]]:
    """Yield open files of records, and what yields the batches of all of them with progress, of some columns or all."""
    with ExitStack() as stack:
        progress = stack.enter_context(ShareProgress(shown=shown))
        tables = [stack.enter_context(open_table(path, form)) for path in data]

        def batches(names: Sequence[str] | None) -> Iterator[Columns]:
            for batch, share in batches_of(tables, [path.stat().st_size for path in data], names):
                progress.read(share)
                yield batch

        yield tables, batches


def read_parameters(kind: type[PrivateEstimator], pairs: Iterable[str], delta: float | None = None) -> dict[str, Any]:
    rules, values = rules_of(kind), dict[str, Any]()
    if delta is not None:
        if "delta" not in rules:
            raise click.UsageError(
                f"{kind.__name__} is pure epsilon: its guarantee never fails, so there is no --delta to spend. Leave it out."
            )
        values["delta"] = delta
    own = [name for name in rules if name not in ELSEWHERE]
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals:
            raise click.UsageError(f"--param {pair!r} has no '='; write it as name=value.")
        if name not in own:
            raise click.UsageError(
                f"{kind.__name__} has no parameter {name!r} for --param; it has {', '.join(own)}. Others have options."
            )
        if name in values:
            raise click.UsageError(f"--param {name} is given twice; keep one of them.")
        allowed = [value for value in (_parsed(text), text) if rules[name].allows(value)]
        if not allowed:
            raise click.UsageError(f"--param {name}={text}: {name} must be {rules[name]}.")
        values[name] = allowed[0]
    return values


def _parsed(text: str) -> Any:
    with suppress(KeyError):
        return {"none": None, "true": True, "false": False}[text.lower()]
    for read in (int, float, json.loads):
        with suppress(ValueError, RecursionError):
            return read(text)
    return text


# If a fit ends with one of these, the request was wrong and nothing was charged. An EngineError occurs later.
REFUSALS = (click.ClickException, HedgerowError, BudgetExceeded)
PAUSE = 0.1  # seconds


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_text(value: Any) -> str:
    return json.dumps(value, indent=2, allow_nan=False)


def write_json(value: Any) -> None:
    click.echo(json_text(value))


def show(values: Any, text: object, *, as_json: bool) -> None:
    click.echo(json_text(values) if as_json else str(text))


def write_out(content: bytes, out: Path | None, *, force: bool) -> None:
    if out is None:
        click.echo(content, nl=False)
        return
    with atomic_file(out, replace=force) as part:
        part.write_bytes(content)
    click.echo(f"wrote {out}", err=True)


def check_stdout(out: Path | None) -> None:
    """Raise OSError if stdout accepts nothing (such as /dev/full), before a result costs budget; ``out`` is the result's file."""
    if sys.stdout is None:
        if out is None:
            raise click.UsageError("standard output is closed, so the result would be lost. Send it to a file.")
        return
    try:
        with suppress(io.UnsupportedOperation):  # no file of the system's
            os.write(sys.stdout.fileno(), b"")
    except OSError as error:
        raise OSError(error.errno, error.strerror, "stdout") from error


def model_values(model: PrivateEstimator) -> dict[str, Any]:
    return {
        "class": type(model).__name__,
        "parameters": {
            name: value
            for name, value in model.get_params(deep=False).items()
            if name not in ("schema", "ledger") and isinstance(value, int | float | str | dict | list | None)
        },
        "certificate": certificate_values(model.certificate_),
    }


def certificate_values(certificate: Certificate) -> dict[str, Any]:
    return {
        "holds": certificate.holds,
        "reasons": list(certificate.reasons),
        **certificate.to_dict(),
        "text": certificate.details(),
    }


def card_values(card: Card | GroupCards) -> dict[str, Any]:
    return {**card.to_dict(), "certificate": certificate_values(card.certificate_)}


class Spending(AbstractContextManager["Spending"]):
    """Make a query that costs ``claim`` and keep its result: an error within the context states what was spent, and what is kept.

    ``out`` is the result's file, if there is one, ``what`` the result, and ``begun`` says what an error may have broken off.
    """

    further: str | None = None  # what a second query costs, such as one about the model, once it is about to be made

    def __init__(
        self, claim: str, out: Path | None = None, what: str = "model", begun: str = "The fit had begun"
    ) -> None:
        self.claim, self.out, self.what, self.begun = claim, out, what, begun
        self._watch = Watch()
        self._done = False
        self._file: os.stat_result | None = None

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
        refused = isinstance(error, REFUSALS)
        if error is None or (refused and not isinstance(error, EngineError) and not self._done):
            return
        more = "" if self.further is None or refused else f" Count {self.further} more for the report."
        raise BrokenOff(error, self._outcome() + more) from error

    @contextmanager
    def watching(self, records: Records) -> Iterator[Records]:
        with self._watch, ShareProgress() as progress:
            yield records.with_progress(progress)
        self._done = True

    def save(self, write: Callable[[Path], Any], *, force: bool) -> Path:
        """Write the result by ``write``, and return where it is, which is said if it is not where it should be."""
        assert self.out is not None
        wanted = self.out

        def kept(part: Path) -> None:
            write(part)
            self._file = part.stat()

        self.out = write_kept(wanted, kept, replace=force)
        if self.out != wanted:
            click.echo(
                f"{wanted} is another file by now, or cannot be written: the {self.what} is in {self.out}", err=True
            )
        return self.out

    def _outcome(self) -> str:
        if not self._watch.begun:
            return "Nothing was spent."
        if not self._done:
            kept = "" if self.out is None else f" No {self.what} was written."
            return f"{self.begun}: count {self.claim} as spent.{kept}"
        if self.out is None:
            return f"{self.claim} was spent."
        # The place of an interruption is not always known, but the file is.
        with suppress(OSError):
            if self._file is not None and os.path.samestat(self._file, self.out.stat()):
                whole = f"{self.claim} was spent, and the {self.what} is whole in {self.out}"
                return f"{whole}: `hedgerow inspect` shows its certificate." if self.what == "model" else f"{whole}."
        return f"{self.claim} was spent, but no {self.what} was written."


class ShareProgress(Silent, AbstractContextManager["ShareProgress"]):
    """A progress bar on standard error: first for the share of the bytes that were read, then for each query that is counted.

    Nothing is written if standard error is not a terminal, or if ``shown`` is false, because a log would keep output that
    depends on the records.
    """

    def __init__(self, *, shown: bool = True) -> None:
        self._terminal = shown and sys.stderr is not None and sys.stderr.isatty()
        self._next = 0.0
        self._width = 0
        self._lock = threading.Lock()

    def __exit__(self, *_: object) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def read(self, share: float | None) -> None:
        self._show("reading" if share is None else f"{bar_of(share)} {int(100 * share):3d} % of the bytes read")

    def counted(self, question: int, share: float) -> None:
        self._show(f"{bar_of(share)} {int(100 * share):3d} % of round {question} counted")

    def _show(self, line: str) -> None:
        if not self._terminal or time.monotonic() < self._next:
            return
        with self._lock:
            self._next = time.monotonic() + PAUSE
            sys.stderr.write("\r" + line.ljust(self._width))
            sys.stderr.flush()
            self._width = len(line)
