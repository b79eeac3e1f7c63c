"""The comparison with another commit runs both trees and tells which is which."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_case_is_a_fit_of_a_system(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import beside

    found = beside.measure(["edprf", "hedgerow, delta"], 300, 2)
    assert all(len(values) == 3 and values[1] > 0 for values in found.values())
    assert {name.split(",")[0] for name in beside.CASES} <= {info.name for info in beside_systems()}


def beside_systems():
    from hedgerow.systems import list_systems

    return list_systems()
