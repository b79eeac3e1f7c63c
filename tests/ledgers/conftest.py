import pytest
from postgres import Server, why_not


@pytest.fixture(scope="session")
def server():
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    server = Server()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.full)])
def address(request, tmp_path):
    """Where a store is to be, of either kind: every test of the contract runs against both."""
    if request.param == "sqlite":
        return str(tmp_path / "budgets.db")
    return request.getfixturevalue("server").url()
