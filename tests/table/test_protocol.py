"""The seam behind the curator is real: a table in parts gives every private system the same bits as one in memory."""

from fractions import Fraction

import numpy as np
import pytest
from private_fits import CASES, released
from products import thinned

from hedgerow.curator import Queryable
from hedgerow.engines.local import LocalEngine, Silent, Spill
from hedgerow.mechanisms import Geometric, PerRecordCoin, Randomness, WeightedCoin
from hedgerow.table import ClassCounts, Histogram, MemoryTable, Partition, PartitionedTable, Sizes
from parts import PartsTable

ENDS = {"one": [], "two": [613], "eight": [0, 7, 7, 300, 301, 820, 900]}  # uneven, with empty ones at all places


@pytest.mark.parametrize("case", thinned(CASES, 3))
@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_every_private_system_is_the_same_bits_in_any_parts(case):
    whole = released(*CASES[case], MemoryTable)
    for ends in ENDS.values():
        assert released(*CASES[case], lambda *records, ends=ends: PartsTable.cut(*records, ends)) == whole


def coin_bits(coin, about, first_row=0):
    return Randomness(3).coins(coin).parts(first_row, about)


@pytest.mark.parametrize("coin", [PerRecordCoin(5), WeightedCoin()], ids=lambda coin: type(coin).__name__)
def test_a_record_has_the_coin_of_its_row_number_whichever_rows_are_asked_for_together(coin):
    thresholds = np.linspace(0, 2**32, 1000).astype(np.uint64)

    def about(start, stop):
        return thresholds[start:stop] if isinstance(coin, WeightedCoin) else stop - start

    whole = coin_bits(coin, about(0, 1000))
    assert len(np.unique(whole)) > 1
    for start, stop in ((0, 1), (1, 1000), (7, 9), (8, 16), (500, 500), (999, 1000)):
        assert np.array_equal(coin_bits(coin, about(start, stop), start), whole[start:stop])


class Forgetful(LocalEngine):
    """Partitions of one process whose memos are lost between questions."""

    def ask(self, task):
        self.forget(task.log)
        return super().ask(task)


def test_sampled_tables_hold_the_records_of_their_coins_in_any_parts():
    generator = np.random.default_rng(0)
    codes, labels = generator.integers(0, 3, (300, 2)).astype(np.uint8), generator.integers(-1, 2, 300).astype(np.int16)
    sizes, coins, once = np.array([3, 3]), Randomness(3).coins(PerRecordCoin(8)), Randomness(4).coins(PerRecordCoin(1))
    whole = MemoryTable(codes, labels, sizes, 2)
    cut = [
        Partition(first, {"codes": codes[first:last], "labels": labels[first:last]})
        for first, last in [(0, 7), (7, 300)]
    ]
    tables = [
        whole,
        PartsTable.cut(codes, labels, sizes, 2, [7, 7, 120]),
        PartitionedTable(LocalEngine(cut, Spill(None, 1 << 20), Silent()), sizes, 2),
        PartitionedTable(Forgetful(cut, Spill(None, 1 << 20), Silent()), sizes, 2),
    ]
    part, total = coins.parts(0, 300), 0
    for first, last in ((0, 2), (2, 3), (3, 8)):
        mine = (part >= first) & (part < last) & (labels >= 0)
        counts = []
        for table in tables:
            own = table.sampled(coins, first, last).fresh()  # what a learner is given is fresh
            root = own.assign(once)
            assert own.answer(Sizes(root)).tolist() == [mine.sum()]
            own.merge([np.array([0, 1, 1]), np.array([0, 0, 1])])
            counts.append(own.answer(Histogram(own.assign(once))).tolist())
            assert table.answer(Histogram(table.assign(once))).shape == (1, 6, 2)  # the whole table is as it was
        assert counts.count(counts[0]) == len(tables)
        total += int(mine.sum())
    assert total == np.count_nonzero(labels >= 0)


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
        def answer(self, query):
            whole = super().answer(query)
            if not isinstance(query, ClassCounts):
                return whole
            return whole + self.tables[0].answer(ClassCounts(query.of.pieces[0]))

    case = CASES["forest"]
    assert released(*case, lambda *records: Twice.cut(*records, ENDS["two"])) != released(*case, MemoryTable)


def test_a_question_of_parts_is_charged_once():
    encoder_codes = np.zeros((10, 1), dtype=np.uint8)
    table = PartsTable.cut(encoder_codes, np.zeros(10, dtype=np.int16), np.array([2]), 2, [3, 3])
    curator = Queryable(table, Fraction(1), Randomness(0))
    root = curator.assign(PerRecordCoin(1))
    curator.answer(Sizes(root), Geometric(Fraction(1, 2)))
    assert curator.spent == Fraction(1, 2)
