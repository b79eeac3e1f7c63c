"""Processes that race for one ledger, and processes that are killed: the short versions of `make test-ledgers`."""

import pytest
from store_processes import kills, race


@pytest.fixture
def models(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def test_a_race_books_exactly_what_the_ceiling_allows(address, models):
    race(address, models, processes=2, attempts=40, ceiling=10)


def test_a_killed_process_loses_no_charge(address, models):
    told = kills(address, models, count=4, together=4, seed=7)
    assert told["killed"] == 4


def test_a_server_that_is_killed_loses_no_charge(server, models):
    def restart():
        server.kill()
        server.start()

    kills(server.url(), models, count=4, together=4, seed=7, restart=restart)
