"""Arrays: names of their types, checks of shapes, frozen copies, and values of objects that are computed at their first use."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from multiprocessing import parent_process
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt
from numba import njit
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]


def check_shape(array: npt.NDArray[Any], shape: tuple[int, ...], what: str) -> None:
    """Raise ValueError unless the array has the shape that a kernel will read; beyond its end is foreign memory.

    Shapes follow from the schema, the configuration and the number of records, never from what a record holds, so a wrong one
    is an error in code.
    """
    if array.shape != shape:
        raise ValueError(f"{what} should be of shape {shape}, but an array of shape {array.shape} was passed.")


def frozen_copy(array: npt.ArrayLike, kind: Any) -> npt.NDArray[Any]:
    """Return a copy of an array that cannot be made writeable again."""
    array = np.asarray(array)
    return np.frombuffer(array.astype(kind, copy=False).tobytes(), dtype=kind).reshape(array.shape)


Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801 - a decorator, like property
    """``functools.cached_property`` without its lock, which Python 3.11 shares among all objects of a class.

    A process that is forked while another thread holds such a lock waits for it forever. Two threads may compute a value at the
    same time; both get the one that was stored first.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.func = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...
    @overload
    def __get__(self, holder: object, owner: type) -> Value: ...
    def __get__(self, holder: object | None, owner: type) -> Self | Value:
        if holder is None:
            return self
        value: Value = vars(holder).setdefault(self._name, self.func(holder))
        return value


@contextmanager
def without_sizes() -> Iterator[None]:
    """Raise a lack of memory as an error that names no sizes: numpy's names the shape of an array."""
    try:
        yield
    except MemoryError:
        raise MemoryError(
            "there is not enough memory, so this operation ends; what was charged for it stays charged. Free some, or read "
            "the records by hr.Records with a smaller memory=."
        ) from None


# A process that is forked while another thread compiles would wait for the end of a compilation that is not its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


def compiled(function: Callable[..., Any], **options: bool) -> Callable[..., Any]:
    """Compile a kernel at its first call; it runs without the interpreter lock and stays on disk for later processes.

    numba notices a change of the kernel's own file only. A kernel therefore calls kernels of its own file and no others,
    or an old one would live on inside its callers. Where no folder can hold it, each process compiles it again.
    """
    # A wrapper for callers in C would take a tenth of the time to compile, and no kernel has such callers.
    kernel: Any = njit(**{"nogil": True, "no_cfunc_wrapper": True, **options})(function)
    try:
        kernel._cache = Kept(function)  # as njit(cache=True) does, which takes no other cache than numba's own
    except (RuntimeError, OSError):  # numba's word for: no folder can be written
        if parent_process() is None:  # otherwise the process that started this one imported it too, and has said so
            say_that_nothing_is_kept()
    compiled_kernel: Callable[..., Any] = kernel
    return compiled_kernel


class Kept(FunctionCache):  # type: ignore[misc]
    """A kernel's compiled code on disk; what cannot be read or written there costs time, and never a result.

    numba lets errors through: of a folder that became full or read-only, of files that are damaged or somebody else's.
    A kernel is compiled within a fit, after its budget was charged.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            try:
                super().save_overload(sig, data)
            except OSError:
                raise
            except Exception:  # the index is damaged, and numba reads it before it writes: begin a new one
                self.flush()
                super().save_overload(sig, data)
        except Exception:
            with suppress(Exception):  # a filter may make an error of it: that must not end a fit that has spent
                say_that_nothing_is_kept()


@cache  # the warning is given once in a process
def say_that_nothing_is_kept() -> None:
    warnings.warn(
        "hedgerow cannot keep its compiled code on disk, so that each process compiles it again. "
        "Set NUMBA_CACHE_DIR to a folder with room that only you can write.",
        UserWarning,
        stacklevel=1,
    )


Item = TypeVar("Item")

FEW_ROWS = 1 << 13  # fewer take longer on two threads

# A thread of a pool does what it is given by itself: pools within pools would crowd the processors.
_here = threading.local()


def available_threads() -> int:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 8)


def for_each(items: Iterable[Item], work: Callable[[Item], None], threads: int | None = None) -> None:
    """Call ``work`` for every item, on as many threads as asked for; the pieces must not share what they write.

    Where one fails, or this is interrupted, those that have not begun never do.
    """
    items = list(items)
    threads = min(available_threads() if threads is None else threads, len(items))
    if threads <= 1 or getattr(_here, "in_pool", False):
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(threads, initializer=partial(setattr, _here, "in_pool", True)) as pool:
        try:
            for _ in pool.map(work, items):
                pass
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def single() -> Iterator[None]:
    """Do what is done within on this thread alone, as where others of the same machine have their own share of the work."""
    before = getattr(_here, "in_pool", False)
    _here.in_pool = True
    try:
        yield
    finally:
        _here.in_pool = before


def for_slices(rows: int, work: Callable[[slice], None], few: int = FEW_ROWS) -> None:
    step = max(few, -(-rows // available_threads()))
    for_each(map(slice, range(0, rows, step), range(step, rows + step, step)), work)
