"""Owners of made-up records, for tests of federated fits."""

from weakref import WeakValueDictionary

import numpy as np
import pandas as pd

import hedgerow as hr
from hedgerow import federated

SIZES = (500, 700, 400)
NAMES = ("south", "north", "west")  # not in the order of their names: masks follow names, rows follow this order
FEATURES = {"age": hr.Numeric(0, 100), "height": hr.Numeric(0, 2), "kind": hr.Categorical(["a", "b", "c"])}
CLASSES = hr.Schema(FEATURES, classes=["no", "yes"])
IN_FOLDER = WeakValueDictionary()  # the last owner that was started in each folder
OUTCOME = hr.Schema(FEATURES, outcome=hr.Numeric(0, 10))


def made_up(schema, sizes=SIZES, seed=0, persons=400):
    """Return a frame of each owner; no person is at two owners."""
    generator, frames = np.random.default_rng(seed), []
    for place, size in enumerate(sizes):
        age, height = generator.uniform(0, 100, size), generator.uniform(0, 2, size)
        kind = generator.choice(["a", "b", "c"], size)
        outcome = age / 20 + height + (kind == "a")
        label = np.where(age + generator.normal(0, 20, size) > 50, "yes", "no") if schema.classes else outcome
        person = [f"{place}-{i}" for i in generator.integers(0, persons, size)]
        frames.append(pd.DataFrame({"age": age, "height": height, "kind": kind, "y": label, "person": person}))
    return frames


class Owners:
    """Owners in one process, each with a folder below ``place``, who can be started anew."""

    def __init__(self, place, frames, group=None, colluding=None, records_per_person=1, **given):
        self.place, self.group, self.colluding, self.frames = place, group, colluding, frames
        names = NAMES[: len(frames)] if len(frames) <= len(NAMES) else [f"owner {i:04}" for i in range(len(frames))]
        self.parties = [
            federated.Party(name, federated.Identity(place / name).public, len(frame))
            for name, frame in zip(names, frames, strict=True)
        ]
        self.ledgers = {
            name: hr.Ledger(50, delta=1e-4, person=group, records_per_person=records_per_person) for name in names
        }
        self.given = given
        self.transport = federated.InProcess({name: self.started(name) for name in names})

    def started(self, name, **given):
        """Return an owner whose process begins, with what its folder holds."""
        place = [one.name for one in self.parties].index(name)
        frame = self.frames[place]
        frame = frame if self.group else frame.drop(columns="person")
        records = hr.Records.from_batches(lambda: [frame], label="y", group=self.group)
        colluding = "trusted" if self.colluding is None else self.colluding
        options = {"seeded": True, "colluding": colluding, **self.given, **given}
        folder = self.place / name
        if folder in IN_FOLDER:
            IN_FOLDER[folder]._alone.close()  # as the end of its process does
        IN_FOLDER[folder] = made = federated.Owner(records, name, folder, self.parties, self.ledgers[name], **options)
        return made

    def records(self, transport=None, **given):
        transport = self.transport if transport is None else transport
        return federated.records(
            transport, self.parties, label="y", group=self.group, colluding=self.colluding, **{"timeout": 5, **given}
        )

    def pooled(self):
        """Return the features, labels and persons of all owners together."""
        frame = pd.concat(self.frames, ignore_index=True)
        return frame.drop(columns=["y", "person"]), frame["y"], frame["person"] if self.group else None
