"""How long a fit on a Dask cluster waits, and what it says where nothing comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from typing import Any

from hedgerow.errors import EngineError, HedgerowError

Future = Any

GATHER = 10.0  # seconds for a result that is there; one that takes longer is asked for anew
LOOK = 1.0  # seconds between two looks at whether workers are still there


class Patience:
    """Ends a fit once nothing has come from any worker for so many seconds."""

    def __init__(self, timeout: float) -> None:
        self._timeout, self._last = timeout, time.monotonic()

    def progressed(self) -> None:
        """Begin to wait anew."""
        self._last = time.monotonic()

    @property
    def left(self) -> float:
        """How many seconds are left, or EngineError where none is."""
        left = self._last + self._timeout - time.monotonic()
        if left <= 0:
            raise silent(self._timeout)
        return left


def gathered(
    futures: Iterable[Future],
    patience: Patience,
    workers: Mapping[Future, Collection[str | None]] | None = None,
    present: Callable[[], Collection[str]] = tuple,
) -> Iterable[tuple[Future, Any]]:
    """Yield futures as they finish, with what they made.

    A result that its worker took along when it was lost is passed over: Dask makes it again, but a client that asks at that very
    moment may wait for ever. So is one that waits for ``workers`` that are not ``present`` any more: where none was left when
    they were lost, Dask forgets to send their tasks to those that come. Whoever needs a result asks anew, which changes nothing:
    tasks are functions.
    """
    distributed = import_module("distributed")
    waiting = set(futures)
    while waiting:
        try:
            done = distributed.wait(waiting, timeout=min(LOOK, patience.left), return_when="FIRST_COMPLETED").done
        except TimeoutError:
            if workers:
                now = set(present())
                waiting = {future for future in waiting if now.issuperset(workers.get(future, ()))}
            continue
        except distributed.CancelledError:
            raise lost() from None
        waiting -= done
        for future in done:
            try:
                found = future.result(timeout=min(GATHER, patience.left))
            except TimeoutError:
                continue
            except HedgerowError:
                raise
            except Exception:
                raise lost() from None  # what failed may quote a record
            patience.progressed()
            yield future, found


def silent(timeout: float) -> EngineError:
    """Return the error of workers that do not answer."""
    return EngineError(
        f"no worker answered for {timeout:g} seconds, so the fit ends; what was charged for it stays charged. See to the "
        "workers, and pass a larger timeout= if partitions take longer."
    )


def lost_scheduler() -> EngineError:
    """Return the error of a cluster that is gone."""
    return EngineError(
        "the cluster's scheduler does not answer, so the fit ends; what was charged for it stays charged. Restart the cluster."
    )


def lost() -> EngineError:
    """Return the error of a partition that cannot come back."""
    return EngineError(
        "a partition's records could not be read or counted by any worker, so the fit ends; what was charged for it stays "
        "charged. The workers' logs say why."
    )
