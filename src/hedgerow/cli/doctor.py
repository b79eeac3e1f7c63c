"""``hedgerow doctor``: check what is installed, what the machine offers, and whether a ledger store is intact."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from hedgerow import __version__
from hedgerow.cli import FAILURE
from hedgerow.cli.options import options
from hedgerow.errors import HedgerowError
from hedgerow.texts import counted

REQUIRED = ("numpy", "scipy", "scikit-learn", "narwhals", "numba", "click", "sqlalchemy")
EXTRAS = {
    "parquet": "pyarrow",
    "plot": "matplotlib",
    "demo": "statsmodels",
    "onnx": "onnx",
    "postgres": "psycopg",
    "dask": "dask",
    "spark": "pyspark",
    "mlflow": "mlflow",
}


@click.command()
@options("ledger", "json")
def doctor(address: str | None, as_json: bool) -> int:
    """Print versions, cores, the folder of compiled kernels and the extras; check a ledger store.

    With --ledger, or if HEDGEROW_LEDGER is set, every ledger of the store is verified. The exit code is 1 if something is wrong:
    a package is missing, compiled kernels cannot be saved, or the store is damaged or cannot be read.
    """
    facts: dict[str, Any] = {
        "hedgerow": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: _version(name) for name in REQUIRED},
        "extras": {extra: _version(package) for extra, package in EXTRAS.items()},
        "cores": _cores(),
        "kernels": _kernels(),
        "store": _store(address) if address else None,
    }
    facts["wrong"] = list(_wrong(facts))
    if as_json:
        from hedgerow.cli.inputs import write_json

        write_json(facts)
    else:
        for line in _page(facts):
            click.echo(line)
    return FAILURE if facts["wrong"] else 0


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cores() -> dict[str, int]:
    from hedgerow.compiled import available_threads

    return {"machine": os.cpu_count() or 1, "used": available_threads()}


def _kernels() -> dict[str, Any]:
    """Return the folder of compiled kernels, the number of its files, and whether it can be written."""
    from hedgerow.compiled import kept_in
    from hedgerow.mechanisms import kernels

    root = kept_in(next(value for value in vars(kernels).values() if hasattr(value, "py_func")))
    if root is None:
        return {"folder": None, "files": 0, "bytes": 0, "writable": False}
    files = [file for pattern in ("*.nbi", "*.nbc") for file in root.glob(pattern)]
    existing = next(folder for folder in (root, *root.parents) if folder.is_dir())
    return {
        "folder": str(root),
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
        "writable": os.access(existing, os.W_OK),
    }


def _store(address: str) -> dict[str, Any]:
    """Return the contents of a store, and what is wrong with it."""
    from hedgerow.ledgers.store import LedgerStore

    facts: dict[str, Any] = {"address": None, "ledgers": {}, "error": None}
    try:
        store = LedgerStore(address)
        facts["address"] = store.address
        if not (names := store.names()):
            facts["error"] = "it holds no ledger, or does not exist"
        for name in names:
            facts["ledgers"][name] = _ledger(store, name)
    except (HedgerowError, OSError) as error:
        facts["error"] = str(error)
    return facts


def _ledger(store: Any, name: str) -> dict[str, Any]:
    ledger = store.ledger(name)
    unfinished = sum(entry.state == "unfinished" for entry in ledger.entries)
    try:
        store.verify(name)
    except HedgerowError as error:
        return {"sound": False, "unfinished": unfinished, "error": str(error)}
    return {"sound": True, "unfinished": unfinished, "error": None}


def _wrong(facts: dict[str, Any]) -> Iterator[str]:
    for name, installed in facts["packages"].items():
        if installed is None:
            yield f"{name} is not installed; install hedgerow again with pip."
    if not facts["kernels"]["writable"]:
        yield "compiled kernels cannot be kept; set NUMBA_CACHE_DIR to a folder that only you can write."
    store = facts["store"]
    if store and store["error"]:
        yield f"the ledger store: {store['error']}"
    for name, ledger in (store["ledgers"] if store else {}).items():
        if ledger["error"]:
            yield f"ledger {name!r}: {ledger['error']}"


def _page(facts: dict[str, Any]) -> Iterator[str]:
    yield f"hedgerow   {facts['hedgerow']}, Python {facts['python']}, {facts['system']}"
    yield "packages   " + ", ".join(f"{name} {installed}" for name, installed in facts["packages"].items())
    for place, (extra, installed) in enumerate(facts["extras"].items()):
        what = (
            f'not installed: pip install "hedgerow[{extra}]"' if installed is None else f"{EXTRAS[extra]} {installed}"
        )
        yield f"{'' if place else 'extras':<9}  {extra:<8}  {what}"
    yield f"cores      {facts['cores']['machine']}; hedgerow uses {counted(facts['cores']['used'], 'thread')}"
    kernels = facts["kernels"]
    size = f"{counted(kernels['files'], 'file')}, {kernels['bytes'] / 1e6:.1f} MB"
    yield f"kernels    {kernels['folder'] or 'no folder'}: {size}"
    store = facts["store"]
    if store is None:
        yield "store      none named; pass --ledger, or set HEDGEROW_LEDGER"
    else:
        yield f"store      {store['address'] or 'not opened'}: {counted(len(store['ledgers']), 'ledger')}"
        for name, ledger in store["ledgers"].items():
            state = "as it was written" if ledger["sound"] else "DAMAGED"
            yield f"           {name}: {state}; {ledger['unfinished']} unfinished"
    yield from ("", *(f"WRONG: {text}" for text in facts["wrong"])) if facts["wrong"] else ("", "nothing is wrong")
