"""Which kernels run, and for which kinds of arrays, stays in a folder: it must not tell the number of records."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from products import thinned

SCRIPT = Path(__file__).with_name("kernels_of_fits.py")
# A released number of records decides how deep cells are, and so how sums are made and what is drawn.
BY_RELEASED = ("hedgerow.mechanisms.", "hedgerow.table.kernels.pack")


def kernels(rows, folder):
    done = subprocess.run([sys.executable, SCRIPT, str(rows), folder], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def of_some(tmp_path_factory):
    return kernels(100, tmp_path_factory.mktemp("kernels"))


def outer(seen):
    """Leave out what is compiled into its callers, whenever these are compiled."""
    return {name: kinds for name, kinds in seen.items() if not name.rsplit(".", 1)[1].startswith("_")}


@pytest.mark.parametrize("rows", thinned([10_000, 1, 300_000], 3))
def test_the_number_of_records_does_not_choose_kernels(rows, of_some, tmp_path):
    for fit, seen in kernels(rows, tmp_path).items():
        seen, expected = outer(seen), outer(of_some[fit])
        assert "hedgerow.reading.kernels.bin_columns" in seen
        for name in seen.keys() | expected.keys():
            if (name in seen and name in expected) or not name.startswith(BY_RELEASED):
                assert seen.get(name) == expected.get(name), (fit, name)
