"""A table whose partitions are on an executor's disk: the same bits as in memory, whatever is lost there."""

import pickle

import numpy as np
import pytest
from private_fits import CASES, released
from products import thinned

from hedgerow.engines.encode import Facts, Rows
from hedgerow.engines.local import Total
from hedgerow.engines.store import DiskStore
from hedgerow.table import MemoryTable, PartitionedTable

pytest.importorskip("fcntl")

KEY = bytes(range(32))


class OnDisk:
    """Asks partitions on a disk, of which some are lost and some lose what a log made of them, at random."""

    def __init__(self, kept, parts, lost):
        self.kept, self.parts, self.lost = kept, parts, lost
        self.generator, self.sent, self.again = np.random.default_rng(5), {}, 0
        self.facts = kept._facts
        for place in range(len(parts)):
            self.put(place)

    def put(self, place):
        self.kept.put(place, self.parts[place])

    def ask(self, question):
        whole, news = (
            pickle.loads(pickle.dumps(task)) for task in (question, question.after(self.sent.get(question.log, 0)))
        )
        total = Total(len(self.facts))
        for one in self.facts:
            if self.generator.random() < self.lost:
                gone = [f"{one.place}.index", f"log-{question.log}/{one.place}.index"][self.generator.integers(2)]
                (self.kept.folder / gone).unlink(missing_ok=True)
            found = self.kept.answer(news, one.place)
            if found.absent:
                self.put(one.place)
            if not found.places:
                self.again += 1
                found = self.kept.answer(whole, one.place)
            total.add(found)
        self.sent[question.log] = question.end
        return total.sum

    def forget(self, log):
        pass


@pytest.mark.parametrize("lost", [0.0, 0.3])
@pytest.mark.parametrize("case", thinned(CASES, 4))
@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_private_systems_are_the_same_bits(case, lost, tmp_path):
    engines = []

    def build(codes, labels, n_codes, n_classes):
        ends = [0, 7, 7, 300, 301, 820, len(codes)]
        starts = [0, *ends[:-1]]
        facts = [Facts(place, start, b"%d" % start) for place, start in enumerate(starts)]
        parts = [
            Rows(codes[start:end], labels[start:end], b"%d" % start) for start, end in zip(starts, ends, strict=True)
        ]
        engines.append(OnDisk(DiskStore(tmp_path, f"t{len(engines)}", KEY, facts), parts, lost))
        return PartitionedTable(engines[-1], n_codes, n_classes)

    assert released(*CASES[case], build) == released(*CASES[case], MemoryTable)
    assert bool(sum(engine.again for engine in engines)) == (lost > 0)
