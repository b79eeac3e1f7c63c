"""What stands before the blocks of pages that speak of a model, a schema or files without making them."""

from __future__ import annotations

MODEL = """
import numpy as np, hedgerow as hr
random = np.random.default_rng(0)
X = {
    "age": random.integers(18, 80, 3000),
    "job": random.choice(["nurse", "cook"], 3000),
    "sex": random.choice(["f", "m"], 3000),
}
y = np.where(X["age"] + 20 * (X["job"] == "cook") > 55, "ill", "well")
schema = hr.Schema(
    {"age": hr.Numeric(18, 80), "job": hr.Categorical(["nurse", "cook"]), "sex": hr.Categorical(["f", "m"])},
    classes=["ill", "well"],
)
model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X, y)
"""

SMALL = """
import numpy as np, hedgerow as hr
X, y = {"age": np.arange(18.0, 78.0), "job": np.array(["nurse", "cook"] * 30)}, np.array(["ill", "well"] * 30)
schema = hr.Schema({"age": hr.Numeric(18, 80), "job": hr.Categorical(["nurse", "cook"])}, classes=["ill", "well"])
model = hr.EDPRFClassifier(epsilon=1.0, schema=schema).fit(X, y)
"""

FILES = """
import os, numpy as np, pandas as pd, hedgerow as hr
os.mkdir("people")
frame = pd.DataFrame({"age": np.arange(2000) % 60 + 18, "diagnosis": np.where(np.arange(2000) % 60 > 30, "ill", "well")})
frame.to_parquet("people/1.parquet")
schema = hr.Schema({"age": hr.Numeric(18, 78)}, classes=["ill", "well"])
"""

PEOPLE = """
import numpy as np, pandas as pd
random = np.random.default_rng(0)
people = pd.DataFrame({"age": random.integers(18, 90, 6000), "job": random.choice(["nurse", "clerk", "cook"], 6000)})
people["ill"] = np.where(people.age + 20 * (people.job == "cook") + random.normal(0, 8, 6000) > 60, "yes", "no")
people.to_csv("people.csv", index=False)
"""

BEFORE = {
    "SECURITY.md": PEOPLE,
    "docs/architecture.md": SMALL,
    "docs/curves.md": MODEL,
    "docs/develop/boosting.md": SMALL,
    "docs/exports.md": SMALL + "report = hr.evaluate(model, X, y, epsilon=0.5)\n",
    "docs/scaling.md": FILES,
    "docs/whole-analysis.md": PEOPLE,
}

# Packages without which a page's blocks cannot run.
NEEDS = {
    "docs/audit.md": ["sklearn"],
    "docs/exports.md": ["onnx", "onnxruntime"],
    "docs/scaling.md": ["pyarrow"],
    "docs/guide/gallery.md": ["matplotlib"],
    "docs/comparisons/index.md": ["matplotlib"],
    "docs/curves.md": ["matplotlib"],
    "docs/index.md": ["matplotlib"],
}

DATA = {  # published data sets, and minutes
    "docs/decisions/0010-boosting.md",
    "docs/reproductions/cart-dps-adaboost-map.md",
    "docs/reproductions/dpada-map.md",
    "docs/reproductions/edprf-map.md",
}
