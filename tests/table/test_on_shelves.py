"""A table whose partitions are on an executor's disk: the same bits as in memory, whatever is lost there."""

import pickle

import numpy as np
import pytest
from private_fits import CASES, released
from products import thinned

from hedgerow.engines.local import Total
from hedgerow.engines.remote import Facts, Rows
from hedgerow.engines.shelf import Shelf
from hedgerow.table import MemoryTable, PartitionedTable

pytest.importorskip("fcntl")

KEY = bytes(range(32))


class OnShelves:
    """Asks partitions on a shelf, of which some are lost and some lose what a log made of them, at random."""

    def __init__(self, kept, parts, lost):
        self.kept, self.parts, self.lost = kept, parts, lost
        self.generator, self.sent, self.again = np.random.default_rng(5), {}, 0
        self.facts = [self.put(place, first) for place, (first, _) in enumerate(parts)]

    def put(self, place, first):
        rows = self.parts[place][1]
        self.kept.put(place, rows)
        return Facts(place, first, rows.digest)

    def ask(self, question):
        total, news = Total(len(self.facts)), pickle.dumps(question.after(self.sent.get(question.log, 0)))
        for one in self.facts:
            if self.generator.random() < self.lost:
                gone = [f"{one.place}.index", f"log-{question.log}/{one.place}.index"][self.generator.integers(2)]
                (self.kept.folder / gone).unlink(missing_ok=True)
            found = self.kept.answer(one, news)
            if found.absent:
                self.put(one.place, one.first_row)
            if not found.places:
                self.again += 1
                found = self.kept.answer(one, pickle.dumps(question))
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
        kept, ends = Shelf(tmp_path, f"t{len(engines)}", KEY), [0, 7, 7, 300, 301, 820, len(codes)]
        parts = [
            (start, Rows(codes[start:end], labels[start:end], b"%d" % start))
            for start, end in zip([0, *ends], ends, strict=False)
        ]
        engines.append(OnShelves(kept, parts, lost))
        return PartitionedTable(engines[-1], n_codes, n_classes)

    assert released(*CASES[case], build) == released(*CASES[case], MemoryTable)
    assert bool(sum(engine.again for engine in engines)) == (lost > 0)
