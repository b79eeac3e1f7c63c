"""``hedgerow audit``: what it says, what it writes, and its exit codes."""

from __future__ import annotations

import json

import pytest

import hedgerow as hr
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
    assert "100 %" in result.stderr


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


def test_runs_in_a_folder_are_used_again(run, tmp_path):
    first = run(*PUBLISHED, "--json", "--out", tmp_path / "rows")
    again = run(*PUBLISHED, "--json", "--out", tmp_path / "rows")
    assert again.stdout == first.stdout  # fresh noise would hardly give the same counts of every event
    assert "4/4" in again.stderr.splitlines()[0]


def test_a_system_without_labels_that_tell(run):
    result = run(*PUBLISHED, "--view", "everything", "--view", "labels")
    assert result.exit_code == 4
    result = run(*PRIVATE, "--view", "moon")
    assert result.exit_code == 2
    assert "no answer has a view 'moon'" in result.stderr


def test_a_search_attacks_one_pair_more(run):
    result = run(*PUBLISHED[:-2], "--runs", "200", "--search", "2")
    assert "attacks refuted" in result.stdout
    assert "2 attacks" in result.stdout


def test_a_page_for_a_reviewer(run, tmp_path):
    pytest.importorskip("matplotlib")
    result = run(*PUBLISHED, "--page", tmp_path / "audit.html")
    assert result.exit_code == 4, result.output
    page = (tmp_path / "audit.html").read_text("utf-8")
    assert "data:image/png;base64," in page
    assert "<td>refuted</td>" in page
    assert "a root of a single class" in page


def test_infinite_losses_and_exact_ones_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    found = Finding("a", "exact", "p", "add-remove", 1.0, 0.0, float("inf"), 1.0, 1.0, "w")
    write_page([found], tmp_path / "p.html")
    assert "<td>inf</td>" in (tmp_path / "p.html").read_text("utf-8")


def test_a_saved_model_is_checked(run, train, folder):
    assert train("--param", "n_estimators=2").exit_code == 0
    result = run("audit", "m.hedgerow")
    assert result.exit_code == 0, result.output
    assert result.stdout == "m.hedgerow: the certificate explains everything that it holds\n"
    result = run("audit", "m.hedgerow", "--runs", "500")
    assert result.exit_code == 2
    assert "checked as it is" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name what to audit"),
        (("--all", "--system", "edprf"), "name what to audit"),
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
