"""The additive engine: HedgerowClassifier's rounds, and the terms that they release.

Data flows one way. ``losses`` say what a record adds; ``plan`` and ``round`` query the sums; ``estimate`` and ``monotone`` turn
these into votes; ``terms`` are the model. ``files``, ``trees``, ``curves`` and ``bands`` read it.
"""
