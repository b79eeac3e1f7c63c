"""The tables of docs/audit.md."""

from __future__ import annotations

import audit_table
import hedgerow as hr


def found(subject, loss, epsilon=1.0, **other):
    return {
        "subject": subject,
        "loss": loss,
        "epsilon": epsilon,
        "delta": 0.0,
        "refuted": False,
        "adjacency": "add-remove",
        "pair": "one-leaf: words",
        "power": 2.0,
        **other,
    }


def test_the_table_says_what_each_tool_sees_of_a_private_form(monkeypatch):
    monkeypatch.setattr(audit_table, "exactly", lambda name: None)
    findings = [
        found("edprf, private (max_depth=0)", 0.5),
        found("edprf, private", 1.2, epsilon=4.0, adjacency="replace-one"),
        found("edprf, private", 0.9, delta=1e-5),
        found("edprf, published", "infinity"),
    ]
    rows = audit_table.seen(findings).splitlines()
    assert len(rows) == 2 + len(hr.list_systems())
    assert "| `edprf` | 50% of 1 | one-leaf | 2.00 | too many outcomes |  |" in rows
    assert "| `forest` |  |  |  | too many outcomes |  |" in rows


def test_the_exact_law_sees_more_than_half_of_what_an_attack_does_not():
    for name in ("dt-diff", "smooth-boost"):
        finding = audit_table.exactly(name)
        assert 0.5 < finding.loss / finding.epsilon <= 1
