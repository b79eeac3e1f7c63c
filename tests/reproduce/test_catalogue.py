import re
from fractions import Fraction
from pathlib import Path

import pytest
from facts import implied_accuracy

import hedgerow as hr
from hedgerow.errors import ConfigurationError
from hedgerow.papers.reproduce.experiment import Results
from hedgerow.papers.reproduce.fits import TASKS, Fit, estimator
from hedgerow.papers.reproduce.readings import ALLOCATIONS
from hedgerow.papers.reproduce.statements import PAPERS, experiments_named
from hedgerow.privacy.accounting import cost

EXPERIMENTS = experiments_named(["all"])
SCHEMA = hr.Schema(
    {f"f{i}": hr.Numeric(0, 1) for i in range(5)} | {"c": hr.Categorical(["x", "y"])}, classes=["no", "yes"]
)
RECORDS = {name: [0.2, 0.4, 0.6, 0.9] * 3 for name in SCHEMA.names[:-1]} | {"c": ["x", "y", "x", "y"] * 3}
LABELS = ["no", "no", "yes", "yes"] * 3


def named(name):
    [experiment] = experiments_named([name])
    return experiment


def test_every_figure_and_table_of_the_papers_is_there():
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(set(names)) == len(names)
    assert {f"edprf/{part}" for part in ("table2", "table3", "fig3", "fig5", "fig6", "fig7", "fig8", "fig9")} <= set(
        names
    )
    assert [experiment.name.partition("/")[2] for experiment in experiments_named(["cart-dps-adaboost"])] == [
        *("text", "table2", "fig2", "fig3", "fig4", "fig5", "fig5ab", "table3", "table4", "time"),
        *("budgets", "shares", "ablation", "noisy-gini"),
    ]
    assert {f"dpada/fig{number}" for number in range(2, 7)} <= set(names)
    assert {f"dpada/{part}" for part in ("table2", "theorem1", "fig2-one", "fig6-one", "cost")} <= set(names)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_an_experiment_is_whole(experiment):
    assert experiment.claims
    assert experiment.title
    assert set(experiment.tasks) <= set(TASKS)
    places = {(curve.panel, curve.label) for curve in experiment.curves}
    for panel, label, x in experiment.reported:
        assert (panel, label) in places
        assert x in experiment.axis.values
    if experiment.curves:
        assert "published" in experiment.forms
        without_rows = Results(experiment, {}, 3)
        answers = {claim.text: claim.check(without_rows, "published").answer for claim in experiment.claims}
        assert set(answers.values()) == {"not measured"}, answers


def every_kind():
    """One fit of each system, form and settings, at its smallest size."""
    found = {}
    for experiment in EXPERIMENTS:
        for fit in experiment.fits(1):
            shape = {name: value for name, value in fit.settings if name not in ("n_estimators", "max_depth")}
            found.setdefault((fit.system, fit.variant, tuple(shape.items())), fit)
    return list(found.values())


@pytest.mark.parametrize("fit", every_kind(), ids=lambda fit: "-".join(fit.key[2:6]))
def test_every_kind_of_fit_runs(fit):
    small = Fit(
        "", fit.system, fit.variant, fit.epsilon, tuple((n, 2 if n == "n_estimators" else v) for n, v in fit.settings)
    )
    import numpy as np

    records = {name: np.array(column, dtype=object if name == "c" else float) for name, column in RECORDS.items()}
    model = estimator(small, SCHEMA, 0).fit(records, np.array(LABELS))
    assert model.predict_proba(records).shape == (12, 2)
    if fit.variant == "published":
        assert not model.certificate_.holds
    if fit.variant == "private":
        assert model.certificate_.reasons[0].startswith("the noise came from random_state")
        assert len(model.certificate_.reasons) == 1


@pytest.mark.parametrize(
    ("name", "first"), [("linear", Fraction(2, 27)), ("deng", Fraction(1, 63)), ("tpdprf", Fraction(20, 294))]
)
def test_the_rivals_budgets_are_a_tree_each(name, first):
    fit = Fit("", "allocation", "private", 1.0, (("allocation", name), ("max_depth", 5), ("n_estimators", 35)))
    event = estimator(fit, SCHEMA, 0).fit(RECORDS, LABELS).certificate_.event
    assert float(cost(event.parts[0]).epsilon) == pytest.approx(1 / 35, rel=1e-6)
    assert ALLOCATIONS[name].budgets(Fraction(1), 6)[0] == first


def test_the_printed_f1_are_those_of_the_printed_precision_and_recall():
    numbers = list(named("cart-dps-adaboost/table3").reported.values())
    for start in (0, 15):  # five budgets of each measure, set by set
        for precision, recall, f1 in zip(
            *(numbers[start + 5 * place : start + 5 * place + 5] for place in range(3)), strict=True
        ):
            assert 2 * precision * recall / (precision + recall) == pytest.approx(f1, abs=1.1e-5)


def test_the_accuracy_that_precision_and_recall_imply():
    # 60 of 100 are of the class; 48 of them are called so, and 12 others: 48 + 28 are right.
    assert implied_accuracy(48 / 60, 48 / 60, 0.6) == pytest.approx(0.76)


def test_the_budgets_of_figure_3_are_booked():
    experiment = named("edprf/fig3")
    [claim] = [claim for claim in experiment.claims if ".18, .27" in claim.text]
    assert (
        str(claim.check(Results(experiment, {}, 1), "published")) == "holds: booked as printed: 0.18, 0.27, 0.55, 0.82"
    )
    assert experiment.picture().axes


def test_treedepth_counts_levels():
    for _, fit in named("edprf/fig5").curves[0].points:
        assert dict(fit.settings)["max_depth"] in (3, 4, 5, 6, 7)


def test_a_papers_name_stands_for_all_of_its_own():
    own = {paper.name: paper.experiments for paper in PAPERS}
    assert experiments_named(["edprf"]) == own["edprf"]
    assert experiments_named(["dpada/table2", "dpada"]) == own["dpada"]
    assert len(EXPERIMENTS) == sum(len(paper.experiments) for paper in PAPERS)


def test_an_unknown_name_is_refused():
    with pytest.raises(ConfigurationError, match="reproduce list"):
        experiments_named(["edprf/fig99"])


def test_authors_code_is_run_as_often_as_its_authors_had_it():
    [paper] = [paper for paper in PAPERS if paper.name == "cart-dps-adaboost"]
    runs = {True: set(), False: set()}
    for fit in named("cart-dps-adaboost/fig2").fits(paper.runs, paper.coded_runs):
        runs["as_coded" in dict(fit.settings)].add(fit.run)
    assert (len(runs[False]), len(runs[True])) == (10, 5)


NOT_JUDGED = ("section", "the paper says", "run in", "without runs", "private form")


def answers(paper):
    """The answers of the kept page to a paper's sentences, by the authors' forms."""
    page = Path(__file__).parents[2] / "docs" / "reproductions" / f"{paper}.md"
    lines = page.read_text("utf-8").partition("## What the paper says")[2].partition("\n## ")[0].splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [
        cell for row in rows[2:] for form, cell in zip(rows[0], row, strict=False) if form.strip() not in NOT_JUDGED
    ]


@pytest.mark.parametrize("paper", [paper.name for paper in PAPERS])
def test_every_open_sentence_of_the_kept_pages_has_what_would_settle_it(paper):
    still_open = [cell for cell in answers(paper) if cell.startswith("cannot be told")]
    assert still_open
    settled = re.compile(
        r"runs (of every point )?would tell|runs that differ|a number that it misses would tell|neither set nor setting"
    )
    assert [cell for cell in still_open if not settled.search(cell)] == []


@pytest.mark.parametrize("paper", [paper.name for paper in PAPERS])
def test_every_contradiction_on_the_kept_pages_has_its_error_and_runs(paper):
    contradicted = [cell for cell in answers(paper) if cell.startswith("does not")]
    assert contradicted
    measured = re.compile(r"± [0-9.]+ \([0-9]+ runs\)|\(no noise\)|\(the same in [0-9]+ runs\)")
    assert [cell for cell in contradicted if not measured.search(cell)] == []
