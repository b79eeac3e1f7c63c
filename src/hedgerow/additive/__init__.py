"""The additive engine: HedgerowClassifier's rounds, the terms that they release, and all that reads them.

Data flow one way: ``losses`` say what a record adds, ``plan`` and ``round`` ask for its sums, ``estimate`` and ``monotone``
make votes of these, ``terms`` are the model. ``files`` and ``trees`` read and write it; ``bands`` and ``curves`` say what it
holds.
"""
