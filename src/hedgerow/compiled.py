"""How every kernel of the library is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["compiled"]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel at its first call; it runs without the interpreter lock and stays on disk for later processes.

    numba notices a change of the kernel's own file only. A kernel therefore calls kernels of its own file and no others,
    or an old one would live on inside its callers.
    """
    kernel: Callable[..., Any] = njit(cache=True, nogil=True)(function)
    return kernel
