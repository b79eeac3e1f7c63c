"""Time to fit and to predict with diffprivlib's forest. `fit.py` runs this in diffprivlib's own environment."""

from __future__ import annotations

import diffprivlib
import sklearn
from diffprivlib.models import RandomForestClassifier

from peer_environment import answer
from timing import made_up, median_seconds, peak_mib


def measure(rows: int, features: int, trees: int, depth: int, repeats: int) -> dict[str, float | str]:
    X, y = made_up(rows, features)
    model = RandomForestClassifier(trees, epsilon=1.0, bounds=(0, 1), classes=[0, 1], max_depth=depth, n_jobs=2)
    few = min(2000, rows)
    model.fit(X[:few], y[:few]).predict(X[:few])
    before = peak_mib()
    fit = median_seconds(lambda: model.fit(X, y), repeats)
    memory = peak_mib() - before
    predict = median_seconds(lambda: model.predict(X), repeats)
    versions = f"diffprivlib {diffprivlib.__version__}, scikit-learn {sklearn.__version__}"
    return {"fit": fit, "predict": predict, "memory": memory, "versions": versions}


if __name__ == "__main__":
    answer(measure)
