"""``hedgerow train``: checks that read no record, the fit, the file, and a report card on held-out lines."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from hedgerow.analysis.card import Card
from hedgerow.analysis.evaluation import evaluate
from hedgerow.analysis.group_cards import GroupCards
from hedgerow.analysis.held_out import hold_out
from hedgerow.cli import inputs
from hedgerow.cli.options import Query, command, refuse_overwriting
from hedgerow.engines.records import Records
from hedgerow.estimator import PrivateEstimator
from hedgerow.export.signature import signer
from hedgerow.privacy.exact import decimal_text, exact, exact_delta
from hedgerow.reading.streams import no_records
from hedgerow.reading.table_file import whole
from hedgerow.systems import default_system, load, system_class

IN_ONE_PART = (
    "Each {who} went to the fit or to this report at random, so no {who} pays for both. A ledger is charged for both."
)
OF_A_PROMISE = (
    "Each line was sent to the fit or to this report at random, and no column tells persons apart, so a person of several lines "
    "may pay for both: the two add up. Name the column in the schema as person, or by --person."
)


@command("train")
def train(
    query: Query,
    schema_path: Path,
    target: str | None,
    system: str | None,
    pairs: Sequence[str],
    init: Path | None,
    public_start: bool,
    allow_inferred: bool,
    holdout: float | None,
    holdout_epsilon: float | None,
    sign: Path | None,
) -> None:
    if (holdout is None) != (holdout_epsilon is None):
        raise click.UsageError(
            "--holdout SHARE keeps lines for a report card, and --holdout-epsilon EPSILON is its budget; pass both."
        )
    assert query.out is not None
    refuse_overwriting(query.out, query.force, *query.paths, schema_path, init, sign)
    if sign is not None:
        signer(sign)  # before anything is spent
    if holdout is not None and len(query.paths) > 1:
        raise click.UsageError("--holdout reads one file into memory; pass one file.")
    schema = inputs.load_schema(schema_path, target, query.person)
    kind = system_class(system or default_system(schema))
    settings = inputs.read_parameters(kind, pairs, query.delta)
    if init is not None:
        if "init" not in inspect.signature(kind).parameters:
            raise click.UsageError(
                f"{kind.__name__} starts from no model; leave out --init, or take hedgerow or hedgerow-regressor."
            )
        settings |= {"init": load(init), "public_start": public_start}
    elif public_start:
        raise click.UsageError("--public-start states something about the model of --init; pass --init MODEL, too.")
    form, label = schema.file_form.replaced(query.separator), str(schema.target)
    inputs.check_given(schema, schema_path, allow_inferred=allow_inferred)
    model = kind(schema=schema, **query.claim(), **settings)
    inputs.check_stdout(query.out if holdout is None else None)
    delta = exact_delta(getattr(model, "delta", 0))
    claim = f"epsilon {decimal_text(exact(model.epsilon))}" + (f", delta {decimal_text(delta)}" if delta else "")

    # A function of its own, because freeing many records takes time, and an interruption then must report the cost.
    def run(spending: inputs.Spending) -> None:
        parts = None
        if holdout is None:
            records = inputs.records_of(query, label, form)
        else:
            path = query.paths[0]
            with inputs.opened([path], form) as (tables, batches):
                inputs.check_columns(tables[0], schema, path)
                columns = whole(tables, batches(None))
            if not len(columns[label]):
                raise no_records()
            parts = hold_out(columns, columns.pop(label), holdout, schema=schema)
            columns = {**parts.X_train, label: parts.y_train}
            records = Records.from_batches([columns], label, memory=query.memory, spill=query.spill)
        with spending.watching(records) as watched:
            model.fit(watched, None)
        out = spending.save(partial(model.save, sign=sign), force=query.force)
        card = None
        if parts is not None and holdout_epsilon is not None:
            spending.further = f"epsilon {holdout_epsilon}"
            of_fit = {name: getattr(model, name) for name in ("adjacency", "ledger", "random_state")}
            card = evaluate(model, parts.X_test, parts.y_test, epsilon=holdout_epsilon, **of_fit)
        _report(model, query, out, card)

    with inputs.Spending(claim, query.out) as spending:
        run(spending)


def _report(model: PrivateEstimator, query: Query, out: Path, card: Card | GroupCards | None) -> None:
    both = ""
    if card is not None:  # what the fit and the report on held-out lines cost together
        unit = card.certificate_.unit
        both = OF_A_PROMISE if unit.is_promise else IN_ONE_PART.format(who="line" if unit.who == "record" else unit.who)
    if query.as_json:
        held: dict[str, Any] | None = None
        if card is not None:
            held = {**inputs.card_values(card), "covered_by_guarantee": card.certificate_.holds, "note": both}
        inputs.write_json({"model": str(out), **inputs.model_values(model), "holdout": held})
    else:
        click.echo(str(model.certificate_))
        if card is not None:
            click.echo(f"\n{card}\n\n{card.certificate_}\n\n{both}")
    if not model.certificate_.holds:
        click.echo("note: no guarantee holds for this model; the certificate says why.", err=True)
    click.echo(f"wrote {out}", err=True)
