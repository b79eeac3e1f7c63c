"""Which kernels run, and for which kinds of arrays, stays in a folder: it must not tell the number of records."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from products import thinned

SCRIPT = Path(__file__).with_name("kernels_of_fits.py")
# A released number of records decides how deep cells are, and so how sums are made and what is drawn.
BY_RELEASED = ("hedgerow.mechanisms.", "hedgerow.table.kernels.pack", "hedgerow.table.kernels.add_")


def kernels(folder, *numbers):
    """Return which kernels the fits of each number of records run."""
    subprocess.run([sys.executable, SCRIPT, folder, *map(str, numbers)], check=True)
    return [json.loads((folder / f"{rows}.json").read_text()) for rows in numbers]


def outer(seen):
    """Leave out what is compiled into its callers, whenever these are compiled."""
    return {name: kinds for name, kinds in seen.items() if not name.rsplit(".", 1)[1].startswith("_")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each number of records has a fork of one process")
@pytest.mark.parametrize("numbers", thinned([[10_000], [1, 300_000]], 2), ids=str)
def test_the_number_of_records_does_not_choose_kernels(numbers, tmp_path):
    of_some, *others = kernels(tmp_path, 100, *numbers)
    for fit, seen in (one for other in others for one in other.items()):
        seen, expected = outer(seen), outer(of_some[fit])
        assert "hedgerow.reading.kernels.bin_columns" in seen
        for name in seen.keys() | expected.keys():
            if (name in seen and name in expected) or not name.startswith(BY_RELEASED):
                assert seen.get(name) == expected.get(name), (fit, name)
