"""What a finding says of itself, and at which level every audit is made."""

from __future__ import annotations

import inspect
from dataclasses import replace

from hedgerow.audit import Finding
from hedgerow.audit.attack import attack
from hedgerow.cli.audit import audit

FINDING = Finding(
    "edprf, published", "distinguishing", "pure-node", "add-remove", 1.0, 0.0, 2.5, 0.999, 1.5, "the label <yes>: often"
)


def test_a_finding_prints_as_sentences():
    assert str(FINDING).splitlines() == [
        "edprf, published: epsilon 1, add-remove: REFUTED",
        "  pure-node",
        "  the loss is at least 2.5 (99.9 % for all pairs together); a loss of 1.5 would have been seen",
        "  the label <yes>: often",
    ]
    exact = replace(FINDING, delta=1e-5, loss=0.5, confidence=1.0, power=float("inf"))
    assert str(exact).splitlines()[::2] == [
        "edprf, published: epsilon 1, delta 1e-05, add-remove: not refuted",
        "  the loss is at least 0.5 (exact)",
    ]


def test_what_a_model_holds_is_no_loss():
    found = replace(FINDING, attack="contents", loss=float("inf"), words="the model has an attribute")
    assert str(found) == "edprf, published: refuted: the model has an attribute"
    assert repr(found) == "<Finding: edprf, published: refuted>"
    own = replace(found, attack="certificate", loss=0.0)
    assert str(own) == "edprf, published: no guarantee: the model has an attribute"


def test_a_finding_is_one_line_in_a_list_and_escaped_on_a_page():
    assert repr([FINDING]) == "[<Finding: edprf, published: refuted, a loss of at least 2.5>]"


def test_every_audit_is_made_at_one_level():
    level = inspect.signature(attack).parameters["confidence"].default
    assert level == 0.999
    assert [option.default for option in audit.params if option.name == "confidence"] == [level]
