"""The experiments of the three papers, as data, and the engine that runs them: ``hedgerow reproduce``."""
