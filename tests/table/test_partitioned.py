"""A table in partitions: the same bits as one in memory, whoever answers, how often and in which order."""

import numpy as np
import pytest
from private_fits import CASES, released

from hedgerow.engines.collect import Partial, Total
from hedgerow.table import Behind, Memo, MemoryTable, Partition, PartitionedTable


def cut(codes, labels, ends):
    starts = [0, *ends]
    return [
        Partition(start, {"codes": codes[start:stop].copy(), "labels": labels[start:stop].copy()})
        for start, stop in zip(starts, [*ends, len(codes)], strict=True)
    ]


class Answers:
    """Partitions in a random order, of which a share lost what it remembered, or is sent the new commands only."""

    def __init__(self, partitions, seed, lost=0.3):
        self.partitions, self.lost = partitions, lost
        self.generator = np.random.default_rng(seed)
        self.memos, self.sent = {}, {}

    def ask(self, task):
        total = Total(len(self.partitions))
        for place in self.generator.permutation(len(self.partitions)).tolist():
            key = task.log, place
            if self.generator.random() < self.lost:
                self.memos.pop(key, None)
            memo = self.memos.setdefault(key, Memo())
            try:
                answer = task.after(self.sent.get(key, 0)).answer(self.partitions[place], memo)
            except Behind:
                answer = task.answer(self.partitions[place], memo)
            again = task.answer(self.partitions[place], memo if self.generator.random() < 0.5 else Memo())
            assert np.array_equal(answer, again)
            self.sent[key] = task.end
            total.add(Partial((place,), answer))
        return total.sum

    def forget(self, log):
        self.memos = {key: memo for key, memo in self.memos.items() if key[0] != log}


def table_of(ends, seed, lost=0.3):
    def build(codes, labels, n_codes, n_classes):
        return PartitionedTable(Answers(cut(codes, labels, ends), seed, lost), n_codes, n_classes)

    return build


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_every_private_system_is_the_same_bits(case):
    whole = released(*CASES[case], MemoryTable)
    assert released(*CASES[case], table_of([0, 7, 7, 300, 301, 820, 900], seed=3)) == whole
