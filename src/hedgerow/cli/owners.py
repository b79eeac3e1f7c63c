"""``hedgerow federate key | owner | fit | app``: the commands of several owners and their coordinator."""

from __future__ import annotations

import signal
import tomllib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from hedgerow.cli import TEXTS
from hedgerow.cli.options import command, refuse_overwriting, required, store_of
from hedgerow.cli.relay import Resident, Sockets
from hedgerow.engines.federated import Flower, Identity, Owner, Party, records
from hedgerow.engines.federated.coordinator import flwr
from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError
from hedgerow.files import atomic_file, write_kept
from hedgerow.schema import Schema

SOCKET = "owner.socket"


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
    ledger = store_of(address).ledger(required(dataset, "--dataset", "HEDGEROW_DATASET"))
    mode = "trusted" if colluding is None else colluding
    schema = Schema.load(schema_path)
    known = of_files(data, label, group=group)
    made = Owner(known, name, folder, parties, ledger, schema=schema, colluding=mode, seeded=seeded)
    resident = Resident(made, folder / SOCKET)
    signal.signal(signal.SIGTERM, lambda *_: resident.close())
    click.echo(f"{name} answers at {folder / SOCKET}", err=True)
    try:
        resident.serve()
    finally:
        resident.close()


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
        f"wrote {folder}; next: flwr run {folder} --run-config 'federation=\"/path/to/federation.toml\"'", err=True
    )


@command("federate fit")
def fit(federation: Path, owners: Path) -> None:
    parties, _ = read_federation(federation)
    fit_over(Sockets({one.name: owners / one.name / SOCKET for one in parties}), federation)


def server_app() -> Any:
    made = flwr("serverapp").ServerApp()

    @made.main()  # type: ignore[untyped-decorator]
    def main(grid: Any, context: Any) -> None:
        fit_over(Flower(grid), Path(str(context.run_config["federation"])))

    return made


def fit_over(transport: Any, path: Path) -> None:
    parties, given = read_federation(path)
    settings = dict(given)
    try:
        system, schema, model = settings.pop("system"), settings.pop("schema"), settings.pop("model")
    except KeyError as error:
        raise ConfigurationError(f"[fit] of {path} lacks {error}; it names system, schema and model.") from None
    how = {name: settings.pop(name) for name in ("group", "colluding", "timeout") if name in settings}
    kind, out = getattr(import_module("hedgerow"), system), path.parent / model
    if not out.parent.is_dir():
        raise ConfigurationError(f"the folder {out.parent} of the model does not exist; create it first.")
    refuse_overwriting(
        out, True, path, path.parent / schema
    )  # another file keeps its name, and the model gets a new one
    of_owners = records(transport, parties, **how)
    fitted = kind(schema=Schema.load(path.parent / schema), **settings).fit(of_owners)
    out = write_kept(out, fitted.save, replace=False)
    print(fitted.certificate_)  # noqa: T201 - Flower shows what its app prints
    print(f"{of_owners.source.traffic}: {out}")  # noqa: T201
