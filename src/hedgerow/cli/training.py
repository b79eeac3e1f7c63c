"""The implementation of ``hedgerow train``: checks that read no record, the fit, the file, and scores on held-out lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.metrics import roc_auc_score

from hedgerow.analysis import evaluate, hold_out
from hedgerow.analysis.card import Card
from hedgerow.analysis.held_out import rows_of
from hedgerow.cli.inputs import (
    Spending,
    card_values,
    check_columns,
    check_files,
    check_records,
    check_stdout,
    load_schema,
    model_values,
    read_delta,
    read_init,
    read_parameters,
    records_of,
    write_json,
)
from hedgerow.cli.options import Query, refuse_overwriting
from hedgerow.engines.records import Records
from hedgerow.estimator import ClassOrder, PrivateEstimator, PrivateRegressor
from hedgerow.privacy.exact import decimal_text, exact, exact_delta
from hedgerow.reading.csv_file import Columns, CSVFormat
from hedgerow.reading.table_file import read_table
from hedgerow.schema import Encoder, Schema
from hedgerow.systems import default_system, system_class
from hedgerow.texts import counted, listed

IN_ONE_PART = (
    "Each {who} went to the fit or to this report at random, so no {who} pays for both. A ledger is charged for both."
)
OF_A_PROMISE = (
    "Each line was sent to the fit or to this report at random, and no column tells persons apart, so a person of several lines "
    "may pay for both: the two add up. Name the column in the schema as person, or by --person."
)
SCORES = {"accuracy": "accuracy {:.4f}", "roc_auc": "ROC AUC {:.4f}", "rmse": "RMSE {:.6g}", "r2": "R2 {:.4f}"}
NOT_COVERED = (
    "These figures are computed from raw records and are NOT covered by the guarantee, "
    "so they must not leave the building."
)


def run_training(
    query: Query,
    schema_path: Path,
    target: str | None,
    system: str | None,
    pairs: Sequence[str],
    init: Path | None,
    public_start: bool,
    holdout: float | None,
    holdout_epsilon: float | None,
) -> None:
    if holdout_epsilon is not None and holdout is None:
        raise click.UsageError(
            "--holdout-epsilon is the budget of a query of held-out lines, but there are none; pass --holdout SHARE."
        )
    assert query.out is not None
    refuse_overwriting(query.out, query.force, *query.paths, schema_path, init)
    whole = holdout is not None or not query.paths[0].is_file()
    if whole and len(query.paths) > 1:
        raise click.UsageError("--holdout reads one file into memory; pass one file.")
    schema = load_schema(schema_path, target, query.person)
    kind = system_class(system or default_system(schema))
    settings: dict[str, Any] = {
        **read_parameters(kind, pairs),
        **read_delta(kind, query.delta),
        **read_init(kind, init, public=public_start),
    }
    form = CSVFormat.of(query.separator or schema.delimiter, schema.encoding)
    _warn_of_inferred(schema, schema_path)
    model = kind(schema=schema, **query.claim(), **settings)
    check_stdout(query.out if holdout_epsilon is None else None)

    # A function of its own, because freeing many records takes time, and an interruption then must report the cost.
    def run(spending: Spending) -> None:
        testing, label = None, str(schema.target)
        if whole:
            training = _read(query.paths[0], schema, form)
            if holdout is not None:
                training, testing = divided(training, holdout, schema)
            records = Records.from_batches([training], label, memory=query.memory, spill=query.spill)
        else:
            check_files(query.paths, form, lambda table, path: check_columns(table, schema, path))
            records = records_of(query, label, form)
        spending.fit(model, records, None)
        out = spending.save(model.save, force=query.force)
        score: dict[str, Any] | Card | None = None
        if testing is not None and holdout_epsilon is not None:
            spending.ask(f"epsilon {holdout_epsilon}")
            score = ask_privately(model, testing, holdout_epsilon)
        elif testing is not None:
            score = measure(model, testing)
        _report(model, query, out, score)

    with Spending(_claim(model), query.out) as spending:
        run(spending)


def _read(path: Path, schema: Schema, form: CSVFormat) -> Columns:
    """Return all columns of one file, after the checks that read no record."""
    columns = read_table(path, form, lambda table: check_columns(table, schema, path))
    check_records(len(columns[str(schema.target)]), path)
    return columns


def _claim(model: PrivateEstimator) -> str:
    delta = exact_delta(getattr(model, "delta", 0))
    return f"epsilon {decimal_text(exact(model.epsilon))}" + (f", delta {decimal_text(delta)}" if delta else "")


def _warn_of_inferred(schema: Schema, path: Path) -> None:
    if schema.inferred:
        click.echo(
            f"warning: no guarantee will hold: {path} was read off the data in {listed(schema.inferred)}. Replace or confirm "
            'each by public knowledge and delete its line origin = "inferred" (classes_origin for the classes).',
            err=True,
        )


def _report(model: PrivateEstimator, query: Query, out: Path, score: dict[str, Any] | Card | None) -> None:
    if query.as_json:
        test: dict[str, Any] | None = None
        if isinstance(score, Card):
            test = {**card_values(score), "covered_by_guarantee": score.certificate_.holds, "note": both_of(score)}
        elif score is not None:
            test = {**score, "covered_by_guarantee": False, "note": NOT_COVERED}
        write_json({"model": str(out), **model_values(model), "holdout": test})
    else:
        click.echo(str(model.certificate_))
        if isinstance(score, Card):
            click.echo(f"\n{score}\n\n{score.certificate_}\n\n{both_of(score)}")
        elif score is not None:
            click.echo(f"\n{_score_text(score)}\n{NOT_COVERED}")
    if not model.certificate_.holds:
        click.echo("note: no guarantee holds for this model; the certificate says why.", err=True)
    click.echo(f"wrote {out}", err=True)


def divided(columns: Columns, share: float, schema: Schema) -> tuple[Columns, Columns]:
    """Return the lines for training and those for testing, divided by person if the schema names a column of persons."""
    label = str(schema.target)
    X = {name: cells for name, cells in columns.items() if name != label}
    parts = hold_out(X, columns[label], share, schema=schema)
    return {**parts.X_train, label: parts.y_train}, {**parts.X_test, label: parts.y_test}


def both_of(card: Card) -> str:
    """Return a description of the total cost of the fit and the report on held-out lines."""
    unit = card.certificate_.unit
    return OF_A_PROMISE if unit.is_promise else IN_ONE_PART.format(who="line" if unit.who == "record" else unit.who)


def ask_privately(model: PrivateEstimator, testing: Columns, epsilon: float) -> Card:
    """Return the report card of a fitted model on held-out lines, charged to the ledger of the fit."""
    label = str(model.schema_.target)
    X = {name: cells for name, cells in testing.items() if name != label}
    return evaluate(
        model,
        X,
        testing[label],
        epsilon=epsilon,
        adjacency=model.adjacency,
        ledger=model.ledger,
        random_state=model.random_state,
    )


def measure(model: PrivateEstimator, testing: Columns) -> dict[str, Any]:
    """Return the number of held-out lines with a label, and the scores on them; None where they cannot be computed."""
    schema = model.schema_
    labels = Encoder(schema, 2).labels(testing[str(schema.target)])
    known = labels >= 0
    truth, X = labels[known], rows_of({name: testing[name] for name in schema.names}, known)
    if isinstance(model, PrivateRegressor):
        scores = dict.fromkeys(("rmse", "r2"))
        if len(truth):
            outcomes = schema.outcome_grid.values(truth)
            error, spread = float(((outcomes - model.predict(X)) ** 2).mean()), float(outcomes.var())
            scores = {"rmse": error**0.5, "r2": 1 - error / spread if spread else None}
    else:
        scores = dict.fromkeys(("accuracy", "roc_auc"))
        if len(truth):
            probabilities, truth = model.predict_proba(X), ClassOrder.of(schema).codes(truth)
            scores["accuracy"] = float(np.mean(probabilities.argmax(axis=1) == truth))
            if probabilities.shape[1] == 2 and 0 < truth.sum() < len(truth):
                scores["roc_auc"] = float(roc_auc_score(truth, probabilities[:, 1]))
    return {"lines": len(truth), **scores}


def _score_text(score: dict[str, Any]) -> str:
    shown = [SCORES[name].format(value) for name, value in score.items() if name in SCORES and value is not None]
    if not shown:
        lacks = (
            "a declared label, so there is no accuracy" if "accuracy" in score else "an outcome, so there is no error"
        )
        return f"held-out test: no held-out line has {lacks}"
    return f"held-out test on {counted(score['lines'], 'line')}: {', '.join(shown)}"
