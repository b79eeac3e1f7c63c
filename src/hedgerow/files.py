"""Files that appear whole or not at all: every file that hedgerow leaves behind is written here."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["atomic_file"]

# What a folder answers where the file system has nothing to flush for it.
NOTHING_TO_FLUSH = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place at the end, or vanishes if anything goes wrong.

    When it returns, the file and its name are on disk. A process that is killed leaves at most a file named
    ``.hedgerow-*.tmp`` behind, which may be removed when no command runs in that folder.

    Parameters
    ----------
    path : path
        The file to write. What it replaces hands its permissions on.
    replace : bool
        Whether a file that stands there may be replaced. That is decided when the new file takes its place, so of several
        writers without this right one wins.

    Raises
    ------
    FileExistsError
        When a file stands there that may not be replaced; it is untouched.
    OSError
        When the file cannot be written.
    """
    target = Path(path)
    part = target.with_name(f".hedgerow-{secrets.token_hex(8)}.tmp")
    part.open("xb").close()
    try:
        with suppress(OSError):  # there is none to replace, or the file system has no permissions
            part.chmod(target.stat().st_mode & 0o777 | 0o600)
        yield part
        _flush(part)
        if replace:
            os.replace(part, target)
        else:
            _place_new(part, target)
        _flush_folder(target.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _place_new(part: Path, target: Path) -> None:
    """Give a file its name unless another one has it."""
    try:
        try:
            os.link(part, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: an empty file of our own takes the name, and is replaced
            _replace_own(part, target)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "It exists already and was not replaced", str(target)) from None
    part.unlink(missing_ok=True)


def _replace_own(part: Path, target: Path) -> None:
    target.open("xb").close()
    try:
        os.replace(part, target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _flush(path: Path) -> None:
    """Wait until the content of a file is on disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where a folder can be asked for that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NOTHING_TO_FLUSH:
            raise
    finally:
        os.close(descriptor)
