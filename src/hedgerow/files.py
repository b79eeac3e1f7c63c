"""Files: how they are read, how they appear whole or not at all, and what one may ask of the machine that reads it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from itertools import count
from pathlib import Path
from tempfile import gettempdir
from typing import IO, Any, TypeGuard

from hedgerow.errors import ConfigurationError, FileFormatError

# Limits, each once, with its reason. Most are of model files. What a file unpacks to is bounded in bytes, by
# ``hedgerow.load(path, max_bytes=...)``, and what is made of it follows from these bytes. The other limits are far above what
# ``save`` writes.

# Bytes from the quote that begins a cell to the quote that ends it. A spreadsheet's cell has 2**17 at most, and Python's csv
# module refuses a cell of more; a stray quote can take no more than this with it. The value is part of the guarantee's unit.
LONGEST_QUOTED = 2**20

BASE_BYTES = 2**27  # any file may unpack to 128 MiB: a forest of a million leaves takes 40
MOST_TIMES = 64  # a larger file to so many times its own size: models pack 3 to 30 times, deflated zeros 1000 times

LARGEST_MODEL = 2**30  # bytes of a model's file that are read unless the caller allows more, since all of it is held
LARGEST_CARD = 2**26  # bytes of a report card, whose table has a million counts for a thousand classes

MOST_MEMBERS = 64  # a model has up to ten arrays; zipfile keeps half a kilobyte for each member
DEEPEST_DOCUMENT = 80  # brackets: taxonomies are up to 32 deep, events take two brackets for each of up to 20
LONGEST_NUMBER = 4000  # digits in a row; Python itself neither reads nor writes more than 4300

MOST_EVENTS = 50_000  # a run of equal ones counts once; 65 levels, each with a path of its own, take 4500
DEEPEST_EVENT = 20  # events in events; plans nest up to seven
LONGEST_WORDS = 1000  # letters of a mechanism, a purpose or a rule; the certificate pads all to the longest
SMALLEST_AMOUNT, LARGEST_AMOUNT = 1e-100, 1e18  # between them squares and quotients of budgets are finite floats
LARGEST_INTEGER = 2**63  # and levels and trees: integers of a machine
MOST_DENOMINATOR_BITS = 2**13  # of the common denominator of all budgets: sums have it, and adding is quadratic in it
# Of the different tests of a forest times codes, two bytes each: 3800 values of 70 000 tested apart.
MOST_BRANCHES = 2**28
LEAST_MEMORY = 2**26  # bytes that codes and counts of records must be given
MOST_RECORDS_OF_ONE = 2**31  # records of one person: more than a table holds


def _part(share: int) -> Any:
    return property(lambda allowance: allowance.bytes // share)


@dataclass(frozen=True)
class Allowance:
    """What one file may unpack to, in bytes, and the most of other things that follow from that."""

    bytes: int

    @classmethod
    def of_file(cls, size: int, max_bytes: int | None = None) -> Allowance:
        return cls(max(BASE_BYTES, MOST_TIMES * size) if max_bytes is None else max_bytes)

    document = _part(2)  # bytes, which take several times as much memory when they are parsed
    values = _part(64)  # values of the document: one of few letters takes up to 250 bytes of memory
    tests = _part(32)  # codes of all features together: as many tests may be listed, of 20 bytes each
    cells = _part(4)  # cells of a table of features by codes, whose rows are as wide as the widest feature
    letters = _part(16)  # letters of an array of the classes, in which each takes as much as the longest


def packaged_text(package: str, name: str) -> str:
    return (resources.files(package) / name).read_text(encoding="utf-8")


def packaged_table(package: str, name: str) -> dict[str, Any]:
    return tomllib.loads(packaged_text(package, f"{name}.toml"))


# What a folder answers where the file system has nothing to flush for it.
NOTHING_TO_FLUSH = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place at the end, or vanishes if anything goes wrong.

    When it returns, the file and its name are on disk. A process that is killed leaves at most a file named
    ``.hedgerow-*.tmp`` behind, which may be removed when no command runs in that folder.

    What it replaces hands its permissions on. Whether a file stands there that may not be replaced (FileExistsError) is decided
    when the new file takes its place, so one of several writers without ``replace`` wins.
    """
    target = Path(path)
    part = target.with_name(f".hedgerow-{secrets.token_hex(8)}.tmp")
    part.open("xb").close()
    try:
        with suppress(OSError):  # there is none to replace, or the file system has no permissions
            part.chmod(target.stat().st_mode & 0o777 | 0o600)
        yield part
        with part.open("r+b") as file:
            os.fsync(file.fileno())
        if replace:
            os.replace(part, target)
        else:
            _place_new(part, target)
        if os.name == "posix":
            _flush_folder(target.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock, also until the process ends, and yield whether it was free. It is not if its folder is gone."""
    import fcntl  # not on Windows, where neither owners nor executors run

    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    except FileNotFoundError:
        yield False
        return
    with os.fdopen(descriptor, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True


def write_kept(path: str | os.PathLike[str], write: Callable[[Path], Any], *, replace: bool) -> Path:
    """Write a result that was paid for by ``write(part)``, and return where it is.

    That is ``path``. If another file has that name and may not be replaced, it is the name with a number. If the folder takes
    no file, it is the folder for temporary files.
    """
    target = place = Path(path)
    numbered = (target.with_name(f"{target.stem}-{number}{target.suffix}") for number in count(1))
    last = Path(gettempdir()) / f"{target.stem}-{secrets.token_hex(4)}{target.suffix}"
    while True:
        try:
            with atomic_file(place, replace=replace and place == target) as part:
                write(part)
        except FileExistsError:
            place = next(numbered)
        except OSError:
            if place == last:
                raise
            place = last
        else:
            return place


def _place_new(part: Path, target: Path) -> None:
    try:
        try:
            os.link(part, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: an empty file of our own takes the name, and is replaced
            target.open("xb").close()
            try:
                os.replace(part, target)
            except BaseException:
                target.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "It exists already and was not replaced", str(target)) from None
    part.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NOTHING_TO_FLUSH:
            raise
    finally:
        os.close(descriptor)


OVERHEAD = 2**16  # bytes that an archive of little content takes beyond what it unpacks to
CHUNK = 2**20  # bytes that are read at once

Place = str | os.PathLike[str] | IO[bytes]


def is_path(place: object, method: str) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether a file is named by its path, or raise ConfigurationError unless it is a binary file object."""
    if isinstance(place, str | os.PathLike):
        return True
    if hasattr(place, "encoding") or not callable(getattr(place, method, None)):  # text files have an encoding
        raise ConfigurationError(
            f"a file is named by {type(place).__name__}, but it must be a path or a binary file object with {method}()."
        )
    return False


def place_name(place: Place) -> str:
    return os.fspath(place) if isinstance(place, str | os.PathLike) else "the file object"


def read_place(place: Place, most: int | None, remedy: str) -> bytes:
    """Return the bytes of a file or a binary file object; FileFormatError, which says the remedy, if it has more than ``most``.

    A file whose size is above the limit is not read. A file object is read from where it stands, and need not be seekable; None
    allows as much of it as a file may unpack to in any case.
    """
    most = BASE_BYTES + OVERHEAD if most is None else most
    too_large = FileFormatError(
        f"{place_name(place)} has more bytes than the {most} that are allowed, and reading it might take all memory; "
        f"{remedy}."
    )
    if is_path(place, "read"):
        with open(place, "rb") as file:
            facts = os.fstat(file.fileno())
            if facts.st_size > most:
                raise too_large
            read = file.read(facts.st_size if stat.S_ISREG(facts.st_mode) else most + 1)  # a pipe has no size
        if len(read) > most:
            raise too_large
        return read
    file_object: Any = place
    content = bytearray()
    while part := file_object.read(CHUNK):
        if not isinstance(part, bytes | bytearray | memoryview):
            raise ConfigurationError(
                f"the file object returns {type(part).__name__}, but its content is bytes; open it in mode 'rb'."
            )
        content += part
        if len(content) > most:
            raise too_large
    if not content:
        raise FileFormatError("the file object is at its end, so there is nothing to read; call seek(0) after writing.")
    return bytes(content)


def write_object(file: Any, content: bytes) -> None:
    """Write bytes to a binary file object, where it stands. It need not be seekable, and stays open."""
    rest = memoryview(content)
    while rest:
        written: Any = file.write(rest)  # an unbuffered file may take a part of them; one that returns None takes all
        if written == 0:
            raise OSError(errno.EIO, "the file object takes no more bytes")
        rest = rest[len(rest) if written is None else written :]
