"""A disk that takes no more than so much."""

from contextlib import contextmanager

import pytest


@contextmanager
def full_disk(most):
    """Files longer than so many bytes cannot be written, as on a full disk."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
