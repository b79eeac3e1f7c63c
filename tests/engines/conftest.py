import pytest
from random_records import random_records


@pytest.fixture(params=[0, 1, 2], ids="seed {}".format)
def made(request):
    """A random schema, and random records of it."""
    return random_records(request.param)
