"""``hedgerow evaluate | schema release | search | plan``: private queries before and after a fit, and its cost."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hedgerow.analysis.card import Card
from hedgerow.analysis.classification_card import ReportCard
from hedgerow.analysis.evaluation import evaluate as evaluate_model
from hedgerow.analysis.evaluation import group_of
from hedgerow.analysis.group_cards import GroupCards
from hedgerow.analysis.outlook import plan as plan_fit
from hedgerow.analysis.regression_card import RegressionCard
from hedgerow.analysis.release import private_schema
from hedgerow.analysis.search import PrivateSearchCV
from hedgerow.cli import inputs
from hedgerow.cli.options import Query, command, refuse_overwriting
from hedgerow.errors import FileFormatError
from hedgerow.files import LARGEST_CARD, read_place
from hedgerow.plots.axes import new_figure
from hedgerow.plots.utility import PlanDisplay
from hedgerow.privacy.exact import decimal_text, exact
from hedgerow.reading.table_file import COMMAS
from hedgerow.schema import Schema
from hedgerow.systems import default_system, load, system_class

MODEL = "model_sha256"
PICTURES = (".png", ".svg", ".pdf")


def read_report(path: Path, model: Path) -> Card | GroupCards:
    content = read_place(path, LARGEST_CARD, "no report card needs as many, so write it again by hedgerow evaluate")
    try:
        values = json.loads(content)
        about = values[MODEL]
        kind = GroupCards if "by" in values else RegressionCard if "outcome" in values else ReportCard
        card: Card | GroupCards = kind.from_dict(values)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{path} is no report card; write one by hedgerow evaluate MODEL DATA --epsilon EPSILON --out {path.name}."
        ) from error
    if about != inputs.file_digest(model):
        raise click.UsageError(f"the report card in {path} is about another model than that of the file {model}.")
    return card


@command("evaluate")
def evaluate(model: Path, query: Query, target: str | None, by: str | None) -> None:
    refuse_overwriting(query.out, query.force, model, *query.paths)
    estimator = load(model)
    schema = inputs.with_options(estimator.schema_, target, query.person, model)
    group_of(schema, by)  # refused before anything is read
    claim, form = query.claim(), schema.file_form.replaced(query.separator)
    inputs.check_stdout(query.out)
    of_files = inputs.records_of(query, str(schema.target), form, schema.person)
    with inputs.Spending(f"epsilon {query.epsilon:g}", query.out, "report", "The query may have been made") as spending:
        with spending.watching(of_files) as records:
            card = evaluate_model(estimator, records, by=by, delta=query.delta or 0.0, **claim)
        values = {MODEL: inputs.file_digest(model), **inputs.card_values(card)}
        if query.out is not None:
            out = spending.save(
                lambda part: part.write_text(inputs.json_text(values) + "\n", "utf-8"), force=query.force
            )
            click.echo(f"wrote {out}", err=True)
        inputs.show(values, f"{card}\n\n{card.certificate_}", as_json=query.as_json)


@command("schema release")
def release(query: Query, target: str, classes: Sequence[str], outcome: bool, **columns: Any) -> None:
    if classes and outcome:
        raise click.UsageError("the target has classes or is a number; pass --class LABEL or --outcome.")
    assert query.out is not None
    refuse_overwriting(query.out, query.force, *query.paths)
    claim = query.claim()
    inputs.check_stdout(query.out)
    of_files = inputs.records_of(query, target, COMMAS.replaced(query.separator), query.person)
    spent = f"epsilon {query.epsilon}" + (f", delta {query.delta}" if query.delta else "")
    with inputs.Spending(spent, query.out, "schema", "The release may have begun") as spending:
        with spending.watching(of_files) as records:
            schema = private_schema(
                records,
                delta=query.delta or 0.0,
                classes=list(classes) or None,
                outcome=outcome,
                target=target,
                person=query.person,
                **claim,
                **columns,
            )
        click.echo(f"wrote {spending.save(schema.save, force=query.force)}", err=True)
        certificate = schema.certificate_
        values = {
            "schema": schema.to_dict(),
            "ranges": {name: vars(one) for name, one in schema.ranges_.items()},
            "certificate": inputs.certificate_values(certificate),
        }
        inputs.show(values, f"{certificate}\n\ncertificate {certificate.digest}", as_json=query.as_json)


@command("search")
def search(
    query: Query,
    schema_path: Path,
    target: str | None,
    pairs: Sequence[str],
    tried: Sequence[str],
    system: str | None,
    allow_inferred: bool,
    refit: float,
) -> None:
    assert query.out is not None
    refuse_overwriting(query.out, query.force, *query.paths, schema_path)
    schema = inputs.load_schema(schema_path, target, query.person)
    inputs.check_given(schema, schema_path, allow_inferred=allow_inferred)
    kind = system_class(system or default_system(schema))
    start = kind(schema=schema, **inputs.read_parameters(kind, pairs))
    grid: dict[str, list[Any]] = {}
    for pair in tried:
        name, _, values = pair.partition("=")
        if name.strip() in grid:
            raise click.UsageError(f"--try {name.strip()} is given twice; keep one, with all its values.")
        each = [f"{name}={value}" for value in values.split(",")] if "=" in pair else [pair]
        grid[name.strip()] = [value for one in each for value in inputs.read_parameters(kind, [one]).values()]
    searched = PrivateSearchCV(start, grid, refit=refit, **query.claim())
    inputs.check_stdout(query.out)
    form = schema.file_form.replaced(query.separator)
    of_files = inputs.records_of(query, str(schema.target), form, schema.person)
    with inputs.Spending(f"epsilon {decimal_text(exact(query.epsilon))}", query.out) as spending:
        with spending.watching(of_files) as records:
            searched.fit(records)
        out = spending.save(searched.best_estimator_.save, force=query.force)
        click.echo(f"wrote {out}", err=True)
        certificate, best = searched.certificate_, searched.best_params_
        document = {"model": str(out), "best_params": best, "certificate": inputs.certificate_values(certificate)}
        shown = ", ".join(f"{name}={value}" for name, value in best.items())
        text = f"{certificate}\n\nbest of the candidates of {kind.__name__}: {shown}"
        inputs.show(document, text, as_json=query.as_json)


@command("plan")
def plan(
    schema_path: Path,
    system: str | None,
    pairs: Sequence[str],
    delta: float | None,
    out: Path | None,
    force: bool,
    **claim: Any,
) -> None:
    if out is not None and out.suffix not in PICTURES:
        raise click.UsageError(f"--out {out.name} is no name of a picture; it must end in {' or '.join(PICTURES)}.")
    refuse_overwriting(out, force, schema_path)
    schema = Schema.load(schema_path)
    kind = system_class(system or default_system(schema))
    arguments = {"system": system, **claim, **inputs.read_parameters(kind, pairs, delta)}
    outlook = plan_fit(schema, **arguments)
    if out is not None:
        figure = new_figure(14.4, 4.8)
        PlanDisplay.from_schema(schema, **arguments).plot(figure.subplots(1, 3))
        picture = io.BytesIO()
        figure.savefig(picture, format=out.suffix[1:])
        inputs.write_out(picture.getvalue(), out, force=force)
    click.echo(outlook)
