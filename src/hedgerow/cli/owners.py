"""``hedgerow federate key | owner | fit | app``: the commands of several owners and their coordinator."""

from __future__ import annotations

import logging
import signal
import time
import tomllib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from hedgerow.cli import TEXTS, BrokenOff, sentence
from hedgerow.cli.options import command, refuse_overwriting, required, store_of
from hedgerow.cli.relay import Resident, Sockets
from hedgerow.engines.federated import Flower, Identity, Owner, Party, Transport, records
from hedgerow.engines.federated.coordinator import PAUSE, flwr
from hedgerow.engines.local import Silent
from hedgerow.engines.records import Records
from hedgerow.errors import BudgetExceeded, ConfigurationError, EngineError
from hedgerow.estimator import PrivateEstimator
from hedgerow.files import atomic_file, write_kept
from hedgerow.schema import Schema

SOCKET = "owner.socket"
BETWEEN = 5.0  # seconds, at least, between two lines of progress


def read_federation(path: Path) -> tuple[list[Party], Mapping[str, Any]]:
    try:
        given = tomllib.loads(path.read_text("utf-8"))
        parties = [Party(str(one["name"]), str(one["key"]), int(one["rows"])) for one in given["owner"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} does not name the owners, each as [[owner]] with name, key and rows: {error!r}."
        ) from None
    return parties, given.get("fit", {})


@command("federate key")
def key(folder: Path) -> None:
    click.echo(Identity(folder).public)


@command("federate owner")
def owner(
    data: Path,
    name: str,
    folder: Path,
    federation: Path,
    schema_path: Path,
    label: str | None,
    group: str | None,
    colluding: int | None,
    seeded: bool,
    address: str | None,
    dataset: str | None,
) -> None:
    parties, _ = read_federation(federation)
    of_files = Records.from_parquet if data.suffix == ".parquet" else Records.from_csv
    store = store_of(address)
    ledger = store.ledger(required(dataset, "--dataset", "HEDGEROW_DATASET"))
    mode = "trusted" if colluding is None else colluding
    schema = Schema.load(schema_path)
    known = of_files(data, label, group=group)
    made = Owner(known, name, folder, parties, ledger, schema=schema, colluding=mode, seeded=seeded)
    resident = Resident(made, folder / SOCKET)
    signals: list[int] = []

    def stop(number: int, _: object) -> None:
        signals.append(number)
        resident.close()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    click.echo(f"{name} answers at {folder / SOCKET}", err=True)
    try:
        resident.serve()
    finally:
        resident.close()
    if signal.SIGINT in signals:  # by somebody at the terminal
        click.echo(
            f"\n{name} was stopped. If a fit was in progress, start it again with the same options within the fit's timeout. "
            f"What was charged stays charged: hedgerow budget show --ledger {store.address} --dataset {dataset}",
            err=True,
        )


@command("federate app")
def app(folder: Path) -> None:
    files = TEXTS["flower-app"]
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if (folder / name).exists() and (folder / name).read_bytes() != text.encode():
            raise click.UsageError(f"{folder} has another {name} already; name a new folder.")
    for name, text in files.items():
        with atomic_file(folder / name) as part:
            part.write_text(text, "utf-8")
    click.echo(
        f"wrote {folder}; next: flwr run {folder} local --stream --run-config 'federation=\"/path/to/federation.toml\"'",
        err=True,
    )


@command("federate fit")
def fit(federation: Path, owners: Path) -> None:
    parties, _ = read_federation(federation)
    fit_over(Sockets({one.name: owners / one.name / SOCKET for one in parties}), federation)


class PrintedProgress(Silent):
    def __init__(self, transport: Transport) -> None:
        self._transport, self._silent, self._next = transport, list[str](), 0.0

    def send(self, messages: Mapping[str, bytes], timeout: float) -> Mapping[str, bytes]:
        replies = self._transport.send(messages, timeout)
        silent = [name for name in messages if name not in replies]
        if silent and silent != self._silent and timeout > PAUSE:  # the end of a fit waits for nobody
            self._print(f"waiting for {', '.join(silent)}, for up to {timeout:.0f} seconds")
        self._silent = silent
        return replies

    def sent(self, queries: int, down: int, up: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + BETWEEN
            self._print(f"query {queries}: {down:,} bytes to owners and {up:,} from them so far")

    def _print(self, line: str) -> None:
        print(line, flush=True)  # noqa: T201 - Flower shows what its app prints


def without_frames(record: logging.LogRecord) -> bool:
    if record.exc_info:
        record.msg, record.args, record.exc_info = "%s", (record.exc_info[1],), None
    return True


def server_app() -> Any:
    made = flwr("serverapp").ServerApp()

    @made.main()  # type: ignore[untyped-decorator]
    def main(grid: Any, context: Any) -> None:
        try:
            fit_over(Flower(grid), Path(str(context.run_config["federation"])))
        except (Exception, BudgetExceeded) as error:
            logging.getLogger("flwr").addFilter(without_frames)
            raise EngineError(sentence(error)) from None

    return made


def fit_over(transport: Any, path: Path) -> None:
    parties, given = read_federation(path)
    settings = dict(given)
    try:
        system, schema, model = settings.pop("system"), settings.pop("schema"), settings.pop("model")
    except KeyError as error:
        raise ConfigurationError(f"[fit] of {path} lacks {error}; it names system, schema and model.") from None
    how = {name: settings.pop(name) for name in ("group", "colluding", "timeout") if name in settings}
    kind, out = getattr(import_module("hedgerow"), str(system), None), path.parent / model
    if not (isinstance(kind, type) and issubclass(kind, PrivateEstimator)):
        raise ConfigurationError(
            f"[fit] of {path} has the system {system!r}; name an estimator, such as HedgerowClassifier."
        )
    if not out.parent.is_dir():
        raise ConfigurationError(f"the folder {out.parent} of the model does not exist; create it first.")
    refuse_overwriting(
        out, True, path, path.parent / schema
    )  # another file keeps its name, and the model gets a new one
    try:
        estimator = kind(schema=Schema.load(path.parent / schema), **settings)
    except TypeError as error:  # of a parameter that it does not have
        raise ConfigurationError(f"correct the parameters of {system} in [fit] of {path}: {error}.") from None
    printed = PrintedProgress(transport)
    of_owners = records(printed, parties, **how).with_progress(printed)
    try:
        fitted = estimator.fit(of_owners)
    except KeyboardInterrupt as error:
        raise BrokenOff(
            error, "An owner that began the fit keeps its charge, which hedgerow budget show shows there."
        ) from None
    out = write_kept(out, fitted.save, replace=False)
    print(fitted.certificate_)  # noqa: T201 - Flower shows what its app prints
    print(f"{of_owners.source.traffic}: {out}")  # noqa: T201
