"""How every kernel of the library is compiled."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock

__all__ = ["compiled", "kept_in"]

# A process that is forked while another thread compiles would wait for the end of a compilation that is not its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel at its first call; it runs without the interpreter lock and stays on disk for later processes.

    numba notices a change of the kernel's own file only. A kernel therefore calls kernels of its own file and no others,
    or an old one would live on inside its callers. Where no folder can hold it, each process compiles it again.
    """
    # A wrapper for callers in C would take a tenth of the time to compile, and no kernel has such callers.
    kernel: Any = njit(nogil=True, no_cfunc_wrapper=True)(function)
    try:
        kernel._cache = Kept(function)  # as njit(cache=True) does, which takes no other cache than numba's own
    except (RuntimeError, OSError):  # numba's word for: no folder can be written
        if parent_process() is None:  # otherwise the process that started this one imported it too, and has said so
            say_that_nothing_is_kept()
    compiled_kernel: Callable[..., Any] = kernel
    return compiled_kernel


def kept_in(kernel: Any) -> Path | None:
    """Return the folder of a kernel's compiled code, None where nothing is kept."""
    path = getattr(kernel._cache, "cache_path", None)
    return None if path is None else Path(path)


class Kept(FunctionCache):  # type: ignore[misc]
    """A kernel's compiled code on disk; what cannot be read or written there costs time, and never a result.

    numba lets errors through: of a folder that became full or read-only, of files that are damaged or somebody else's.
    A kernel is compiled within a fit, after its budget was charged.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, None where there is none that can be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, if that is possible."""
        try:
            self._save(sig, data)
        except Exception:
            with suppress(Exception):  # a filter may make an error of it: that must not end a fit that has spent
                say_that_nothing_is_kept()

    def _save(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:
            raise
        except Exception:  # the index is damaged, and numba reads it before it writes: begin a new one
            self.flush()
            super().save_overload(sig, data)


@cache  # once in a process
def say_that_nothing_is_kept() -> None:
    """Warn that later processes compile again.

    Warns
    -----
    UserWarning
        At the first call.
    """
    warnings.warn(
        "hedgerow cannot keep its compiled code on disk, so that each process compiles it again. "
        "Set NUMBA_CACHE_DIR to a folder with room that only you can write.",
        UserWarning,
        stacklevel=1,
    )
