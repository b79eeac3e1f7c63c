"""Zones of pytz, which pandas 2 makes, are read by their name; whoever has it can pass them under any version."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
import pytz

from hedgerow.schema.cells import category_key, known_zone
from hedgerow.schema.columns import read_columns

UNDECLARED = "(undeclared)"
BERLIN = "Europe/Berlin"


def key(cell):
    try:
        return category_key(cell)
    except Exception:
        return UNDECLARED


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        (pytz.timezone(BERLIN), "2020-10-25 02:30:00+01:00"),  # an hour that comes twice: pytz takes the second
        (pytz.timezone("EST"), "2020-10-25 02:30:00-05:00"),
        (pytz.timezone("Etc/GMT-3"), "2020-10-25 02:30:00+03:00"),
        (pytz.utc, "2020-10-25 02:30:00+00:00"),
        (pytz.FixedOffset(-90), "2020-10-25 02:30:00-01:30"),
    ],
)
def test_zones_of_pytz_are_those_of_their_name(zone, text):
    moment = zone.localize(datetime(2020, 10, 25, 2, 30))
    column = pd.Series([pd.Timestamp(moment)])
    assert [key(moment), key(pd.Timestamp(moment)), *map(key, read_columns({"a": column}).cells(0))] == [text] * 3
    assert key(time(12, tzinfo=zone)) == UNDECLARED


def test_a_class_that_looks_like_a_zone_of_pytz_runs_no_code():
    class Hostile(type(pytz.timezone(BERLIN))):
        zone = BERLIN

        def utcoffset(self, *_, **__):
            raise AssertionError

        tzname = dst = fromutc = utcoffset

    class Unknown(Hostile):
        zone = "Nowhere/None"

    class Meta(type):
        def __getattribute__(cls, name):
            raise AssertionError

    class Worse(Hostile, metaclass=Meta):
        pass

    for kind in (Hostile, Unknown, Worse):
        assert key(datetime(2020, 1, 1, tzinfo=tzinfo.__new__(kind))) == UNDECLARED


def test_an_object_of_pytz_with_foreign_methods_runs_no_code():
    zone = pytz.FixedOffset(61)
    zone.utcoffset = None
    try:
        assert key(datetime(2020, 1, 1, tzinfo=zone)) == "2020-01-01 00:00:00+01:01"
    finally:
        del zone.utcoffset


def test_without_pytz_no_zone_is_one_of_its(monkeypatch):
    monkeypatch.delitem(sys.modules, "pytz")
    assert key(datetime(2020, 1, 1, tzinfo=pytz.FixedOffset(60))) == UNDECLARED
    for zone in (None, UTC, timezone(timedelta(hours=1)), ZoneInfo(BERLIN)):
        assert known_zone(zone) is zone
