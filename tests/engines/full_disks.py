"""A disk that takes no more than so much."""

from contextlib import contextmanager
from threading import RLock

import pytest

ONE_AT_A_TIME = RLock()  # the limit is the process's: two threads that set it would restore each other's


@contextmanager
def full_disk(most):
    """Files longer than so many bytes cannot be written, as on a full disk."""
    resource = pytest.importorskip("resource")
    with ONE_AT_A_TIME:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
