"""The engine of HedgerowClassifier and HedgerowRegressor.

Losses (``losses``, ``squared``) give each record's channels; ``plan``, ``regression`` and ``round`` query noisy sums;
``estimate`` computes steps; ``monotone`` constrains them; ``model`` and ``starts`` hold the model; ``curves`` explains it;
``kernels`` is compiled code.
"""
