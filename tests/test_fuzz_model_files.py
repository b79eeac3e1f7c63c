"""Damaged model files, some hundred of them: refused by FileFormatError, or everything works (``make fuzz`` tries more)."""

from __future__ import annotations

import pytest
from fuzz_model_files import base_files, outcome, write_input, write_records
from fuzz_mutations import damaged
from products import thinned

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")  # of few records nothing stands out

PARTS, EACH = 10, 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    write_records(folder)
    return folder


@pytest.fixture(scope="module")
def files(folder):
    return base_files(folder)


@pytest.mark.full
def test_whole_files_pass_every_check(files, folder):
    for content in files.values():
        (folder / "whole").write_bytes(content)
        assert outcome(folder / "whole", folder) == "accepted"


@pytest.mark.parametrize("part", thinned(range(PARTS), PARTS))
def test_damaged_files_are_refused_or_work(part, files, folder):
    first = 1_000_000 + part * EACH  # other seeds than those of ``make fuzz``
    outcomes = {seed: outcome(write_input(seed, files, folder), folder) for seed in range(first, first + EACH)}
    assert set(outcomes.values()) <= {"refused", "accepted"}


def test_a_seed_gives_one_file_and_most_seeds_another(files):
    base = files["edprf"]
    inputs = [damaged(base, seed) for seed in range(50)]
    assert inputs == [damaged(base, seed) for seed in range(50)]
    assert len(set(inputs)) > 45
