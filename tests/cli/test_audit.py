"""``hedgerow audit``: what it says, what it writes, and its exit codes."""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile

import pytest

import hedgerow as hr
from hedgerow.audit.contents import UNTOLD
from hedgerow.audit.findings import Finding
from hedgerow.cli.audit import write_page

PUBLISHED = ("audit", "--system", "pfdpdt", "--variant", "published", "--pair", "pure-node", "--runs", "200")
PRIVATE = ("audit", "--system", "forest", "--pair", "one-leaf", "--runs", "200")


def test_a_refuted_claim_is_told_in_words_and_by_the_exit_code(run):
    result = run(*PUBLISHED)
    assert result.exit_code == 4, result.output
    assert "pfdpdt, published" in result.stdout
    assert "REFUTED" in result.stdout
    assert "a root of a single class is a leaf for certain" in result.stdout
    assert "in 100 of 100 runs without it, in 0 of 100 runs with it" in result.stdout
    assert "1 of 1 attack refuted a claim" in result.stdout
    assert "attacking" in result.stderr


def test_a_private_form_is_not_refuted(run):
    result = run(*PRIVATE, "--adjacency", "add-remove", "--adjacency", "replace-one")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("not refuted") == 2
    assert "0 of 2 attacks refuted a claim" in result.stdout
    assert "99.9 % for all pairs together" in result.stdout


def test_json_is_one_document(run):
    result = run(*PUBLISHED, "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 4
    assert document["refuted"] == 1
    (found,) = document["findings"]
    assert found["refuted"] is True
    assert found["epsilon"] == 1
    assert found["loss"] > 1
    assert found["confidence"] == 0.999


def test_a_page_for_a_reviewer(run, tmp_path):
    pytest.importorskip("matplotlib")
    result = run(*PUBLISHED, "--page", tmp_path / "audit.html")
    assert result.exit_code == 4, result.output
    page = (tmp_path / "audit.html").read_text("utf-8")
    assert "data:image/png;base64," in page
    assert "<td>refuted</td>" in page
    assert "a root of a single class" in page
    assert f"wrote {tmp_path / 'audit.html'}" in result.stderr


def test_a_page_replaces_no_file_unless_told_to(run, train, folder, is_refused):
    assert train("--param", "n_estimators=2").exit_code == 0
    before = (folder / "m.hedgerow").read_bytes()
    for force in ((), ("--force",)):
        is_refused(run("audit", "m.hedgerow", "--page", "m.hedgerow", *force), 2, "is the MODEL under audit")
    assert (folder / "m.hedgerow").read_bytes() == before
    (folder / "p.html").write_text("mine", "utf-8")
    is_refused(run("audit", "m.hedgerow", "--page", "p.html"), 2, "exists already", "--force")
    is_refused(run(*PUBLISHED, "--page", "p.html"), 2, "exists already")
    is_refused(run("audit", "m.hedgerow", "--force"), 2, "pass --page FILE")
    assert (folder / "p.html").read_text("utf-8") == "mine"
    assert run("audit", "m.hedgerow", "--page", "p.html", "--force").exit_code == 0
    assert "nothing unexplained found" in (folder / "p.html").read_text("utf-8")


def test_without_matplotlib_a_page_of_attacks_is_refused_at_once(run, train, folder, is_refused, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    is_refused(run(*PUBLISHED, "--page", "p.html"), 2, "pip install matplotlib")
    assert train("--param", "n_estimators=2").exit_code == 0
    assert run("audit", "m.hedgerow", "--page", "p.html").exit_code == 0  # which draws nothing


def test_findings_are_written_before_the_page(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")

    def broken(*given):
        raise OSError(28, "no space")

    monkeypatch.setattr("hedgerow.cli.audit.write_page", broken)
    result = run(*PUBLISHED, "--page", tmp_path / "p.html")
    assert result.exit_code == 1
    assert "REFUTED" in result.stdout


def test_infinite_losses_and_exact_ones_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    found = Finding("a", "exact", "p", "add-remove", 1.0, 0.0, float("inf"), 1.0, 1.0, "w")
    write_page([found], tmp_path / "p.html")
    assert "<td>inf</td>" in (tmp_path / "p.html").read_text("utf-8")


@pytest.mark.parametrize("option", [("--runs", "500"), ("--adjacency", "add-remove")])
def test_options_of_an_attack_are_refused_with_a_model(run, train, folder, is_refused, option):
    assert train("--param", "n_estimators=2").exit_code == 0
    is_refused(run("audit", "m.hedgerow", *option), 2, "checked as it is")


def test_a_model_that_claims_no_guarantee_is_not_refuted(run, train, folder):
    assert train("--param", "n_estimators=2", "--param", "random_state=1").exit_code == 0
    result = run("audit", "m.hedgerow")
    assert result.exit_code == 0, result.output
    assert "no guarantee: its own certificate says so: the noise came from random_state" in result.stdout
    assert "nothing unexplained found; its own certificate says that no guarantee holds" in result.stdout
    assert "REFUTED" not in result.stdout


def test_a_model_with_a_foreign_member_is_refuted(run, train, folder):
    assert train("--param", "n_estimators=2").exit_code == 0
    with zipfile.ZipFile(folder / "m.hedgerow", "a") as archive:
        archive.writestr("counts.json", "[300]")
    result = run("audit", "m.hedgerow")
    assert result.exit_code == 4, result.output
    assert "REFUTED: the file has the member counts.json, which is no part of a model" in result.stdout
    assert "m.hedgerow: 1 unexplained" in result.stdout


def test_json_and_page_of_a_model_say_what_was_checked(run, train, folder):
    assert train("--param", "n_estimators=2").exit_code == 0
    result = run("audit", "m.hedgerow", "--page", "p.html", "--json")
    document = json.loads(result.stdout)
    about = {
        "file": "m.hedgerow",
        "sha256": hashlib.sha256((folder / "m.hedgerow").read_bytes()).hexdigest(),
        "system": "edprf",
        "variant": "private",
        "claim": "epsilon 1, delta 0, add-remove",
        "protected": str(hr.load(folder / "m.hedgerow").certificate_.unit),
        "signature": "not signed",
        "checked by": f"hedgerow {hr.__version__}",
        "verdict": "nothing unexplained found",
        "not told": UNTOLD,
    }
    assert document == {"model": about, "findings": [], "refuted": 0}
    page = (folder / "p.html").read_text("utf-8")
    assert [value for value in about.values() if f"<td>{value}</td>" not in page] == []
    assert "<img" not in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name what to audit"),
        (("--all", "--system", "edprf"), "name what to audit"),
        (("--all", "--adjacency", "add-remove"), "--all attacks every system as it is"),
        (("--all", "--epsilon", "1"), "--all attacks every system as it is"),
        (("--system", "nobody"), "there is no system 'nobody'"),
        (("--system", "forest", "--variant", "published"), "has no variant 'published'"),
        (("--system", "edprf", "--delta", "1e-6"), "is pure epsilon"),
        (("--system", "edprf", "--pair", "nowhere"), "there is no pair 'nowhere'"),
        (("--system", "edprf", "--param", "moon=1"), "has no parameter 'moon'"),
        (("--system", "edprf", "--epsilon", "-1"), "epsilon"),
        (("--system", "edprf", "--runs", "5"), "5 is not in the range"),
        (("--system", "edprf", "--minutes", "0"), "0.0 is not in the range"),
        (("--system", "edprf", "--confidence", "1"), "1.0 is not in the range"),
    ],
)
def test_wrong_usage(run, arguments, said):
    result = run("audit", *arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr


@pytest.mark.slow
def test_all_private_forms_survive(run):
    result = run("audit", "--all", "--runs", "200")
    assert result.exit_code == 0, result.output
    assert all(f"{info.name}, private" in result.stdout for info in hr.list_systems())
