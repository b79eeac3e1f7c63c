"""Refute other libraries' claims with the audit of this one: diffprivlib's forest, DP-EBM, Fletcher and Islam's leaf.

    python benchmarks/audit_peers.py                       # all, some minutes
    python benchmarks/audit_peers.py dp-ebm-regressor dp-ebm-regressor-replaced
    python benchmarks/audit_peers.py --json build/peers-audit.json

Each library runs in an environment of its own (see `peer_environment.py`); the audit knows it by two functions only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hedgerow.audit.attack import Trial, attack
from hedgerow.audit.cases import NeighborPair
from hedgerow.privacy.accounting import Adjacency
from peer_environment import PEERS, PeerEnvironment, PeerEnvironmentError, make_environment

HERE = Path(__file__).resolve().parent
RUNS = 600
AT_ONCE = 600  # fits in one call of a peer, which has to be started each time
DELTA = 1e-5
TOP = 1_000_000.0  # the upper bound of a target


@dataclass
class Peer:
    """A classifier in another environment as the two functions of a target."""

    environment: PeerEnvironment
    script: str
    epsilon: float
    settings: Mapping[str, int]
    at_once: int = AT_ONCE
    _ready: dict[str, list[Any]] = field(default_factory=dict)

    def fit(self, X: Mapping[str, list[Any]], y: list[int]) -> Any:
        """Return what one fit released."""
        key = json.dumps([X, y])
        if not self._ready.get(key):
            arguments = {"X": X, "y": y, "runs": self.at_once, "epsilon": self.epsilon, "settings": dict(self.settings)}
            self._ready[key] = self.environment.run(HERE / self.script, arguments)
        return self._ready[key].pop()

    def answer(self, model: Any) -> Any:
        """Return it by name."""
        return model


def diffprivlib(directory: Path) -> Trial:
    """Its forest gives records to trees by their position, so a record in front moves others over every border."""
    labels = [i // 2 % 2 for i in range(19)]
    peer = Peer(
        make_environment("diffprivlib", directory), "diffprivlib_audit.py", 1.0, {"n_estimators": 10, "max_depth": 1}
    )
    pair = NeighborPair(
        "chunks",
        "19 records whose classes are 0, 0, 1, 1 in turn, and one of class 1 in front: ten trees get records by position.",
        "add-remove",
        ({"x": [0.5] * 19}, labels),
        ({"x": [0.5] * 20}, [1, *labels]),
    )
    return Trial("diffprivlib RandomForestClassifier", peer.fit, peer.answer, pair, 1.0, runs=RUNS)


def dp_ebm(directory: Path) -> Trial:
    """It lists the categories that it saw, and hides a rare one only if its noisy count is small."""
    values, labels = ["x"] * 10 + ["y"] * 10, [0, 1] * 10
    peer = Peer(make_environment("interpret", directory), "interpret_audit.py", 1.0, {"max_rounds": 1})
    pair = NeighborPair(
        "lone-category",
        "20 records of the categories x and y, and one of a category that no other record has.",
        "add-remove",
        ({"a": values}, labels),
        ({"a": [*values, "rare"]}, [*labels, 1]),
    )
    return Trial("DP-EBM (interpret-core)", peer.fit, peer.answer, pair, 1.0, DELTA, runs=RUNS)


def _regressor(directory: Path, name: str, words: str, adjacency: Adjacency, other: list[float]) -> Trial:
    peer = Peer(make_environment("interpret", directory), "interpret_regressor_audit.py", 0.1, {"max_rounds": 1}, 100)
    rows = [TOP] * 300
    pair = NeighborPair(name, words, adjacency, ({"x": [0.5] * len(rows)}, rows), ({"x": [0.5] * len(other)}, other))
    subject = f"DP-EBM's regressor (interpret-core), {adjacency}"
    return Trial(subject, peer.fit, peer.answer, pair, 0.1, 1e-6, runs=200)


def dp_ebm_regressor(directory: Path) -> Trial:
    """Its noise follows the width of the target's bounds, but the first residuals are the targets themselves."""
    words = "300 rows with the target 1 000 000, and 301 of them; the bounds are 999 000 and 1 000 000."
    return _regressor(directory, "one-more-target", words, "add-remove", [TOP] * 301)


def dp_ebm_regressor_replaced(directory: Path) -> Trial:
    """Replacing a target moves a sum by no more than the width of the bounds, so this attack shows nothing."""
    words = "300 rows with the target 1 000 000, and 299 of them with one of 999 000."
    return _regressor(directory, "another-target", words, "replace-one", [*[TOP] * 299, TOP - 1000])


PEER_TRIALS = {
    "diffprivlib": diffprivlib,
    "dp-ebm": dp_ebm,
    "dp-ebm-regressor": dp_ebm_regressor,
    "dp-ebm-regressor-replaced": dp_ebm_regressor_replaced,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", nargs="*", help=f"which of {', '.join(PEER_TRIALS)}; all if left out")
    parser.add_argument("--environments", type=Path, default=PEERS, help="where the environments are kept")
    parser.add_argument("--confidence", type=float, default=0.999)
    parser.add_argument("--json", type=Path, help="write the findings to this file")
    options = parser.parse_args()
    trials = []
    for name in options.peers or PEER_TRIALS:
        try:
            trials.append(PEER_TRIALS[name](options.environments))
        except PeerEnvironmentError as error:
            print(f"{name} is left out, its environment cannot be made here: {error}")
    findings = attack(trials, confidence=options.confidence, progress=True)
    for found in findings:
        print(f"{found.subject}: {'REFUTED' if found.refuted else 'not refuted'}")
        print(f"  {found.pair}")
        print(f"  claim {found.epsilon:g}, delta {found.delta:g}; the loss is at least {found.loss:.3g}")
        print(f"  {found.words}")
    if options.json:
        options.json.write_text(json.dumps([found.to_dict() for found in findings], indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
