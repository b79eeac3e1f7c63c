"""The seam behind the curator is real: a table in parts gives every private system the same bits as one in memory."""

from fractions import Fraction

import numpy as np
import pytest
from private_fits import CASES, released

from hedgerow.curator import Queryable
from hedgerow.mechanisms import Geometric, PerRecordCoin, PoissonCoin, Randomness, WeightedCoin
from hedgerow.table import MemoryTable
from parts import PartsTable

ENDS = {"one": [], "two": [613], "eight": [0, 7, 7, 300, 301, 820, 900]}  # uneven, with empty ones at all places


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_every_private_system_is_the_same_bits_in_any_parts(case):
    whole = released(*CASES[case], MemoryTable)
    for ends in ENDS.values():
        assert released(*CASES[case], lambda *records, ends=ends: PartsTable.cut(*records, ends)) == whole


def coin_bits(coin, about, first_row=0):
    return Randomness(3).coins(coin).parts(first_row, about)


@pytest.mark.parametrize(
    "coin", [PerRecordCoin(5), PoissonCoin(Fraction(1, 3)), WeightedCoin()], ids=lambda coin: type(coin).__name__
)
def test_a_record_has_the_coin_of_its_row_number_whichever_rows_are_asked_for_together(coin):
    thresholds = np.linspace(0, 2**32, 1000).astype(np.uint64)

    def about(start, stop):
        return thresholds[start:stop] if isinstance(coin, WeightedCoin) else stop - start

    whole = coin_bits(coin, about(0, 1000))
    assert len(np.unique(whole)) > 1
    for start, stop in ((0, 1), (1, 1000), (7, 9), (8, 16), (500, 500), (999, 1000)):
        assert np.array_equal(coin_bits(coin, about(start, stop), start), whole[start:stop])


def test_parts_that_start_counting_anew_are_noticed():
    """The planted bug: every part's first record has row number 0."""

    def counting_anew(*records):
        table = PartsTable.cut(*records, ENDS["two"])
        for part in table.tables:
            part._first_row = 0
        return table

    case = CASES["forest, per record"]
    assert released(*case, counting_anew) != released(*case, MemoryTable)


def test_a_part_that_answers_twice_is_noticed():
    class Twice(PartsTable):
        def class_counts(self, frontier):
            return super().class_counts(frontier) + self.tables[0].class_counts(frontier.pieces[0])

    case = CASES["forest"]
    assert released(*case, lambda *records: Twice.cut(*records, ENDS["two"])) != released(*case, MemoryTable)


def test_a_question_of_parts_is_charged_once():
    encoder_codes = np.zeros((10, 1), dtype=np.uint8)
    table = PartsTable.cut(encoder_codes, np.zeros(10, dtype=np.int16), np.array([2]), 2, [3, 3])
    curator = Queryable(table, Fraction(1), Randomness(0))
    root = curator.assign(PerRecordCoin(1))
    curator.count(root, Geometric(Fraction(1, 2)))
    assert curator.spent == Fraction(1, 2)
