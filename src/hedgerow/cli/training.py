"""What ``hedgerow train`` runs: checks that look at no record, the fit, the file, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from hedgerow.analysis.figures import Card
from hedgerow.cli.columns import check_columns, check_records, load_schema
from hedgerow.cli.data_files import check_files, records_of
from hedgerow.cli.holdout import NOT_COVERED, ErrorScore, Score, ask_privately, both_of, divided, measure
from hedgerow.cli.ledgers import ledger_or_none
from hedgerow.cli.options import refuse_overwriting
from hedgerow.cli.output import card_values, check_stdout, model_values, write_json
from hedgerow.cli.settings import read_delta, read_init, read_parameters, read_variant
from hedgerow.cli.share_progress import ShareProgress
from hedgerow.cli.spending import Spending
from hedgerow.engines.records import Records
from hedgerow.estimator import PrivateEstimator
from hedgerow.privacy.exact import decimal_text, exact, exact_delta
from hedgerow.schema import Schema
from hedgerow.sources.table_file import Columns
from hedgerow.sources.tables import CSVFormat, read_table
from hedgerow.systems import default_system, system_class
from hedgerow.texts import listed

__all__ = ["run_training"]


def run_training(
    data: tuple[Path, ...],
    schema_path: Path,
    epsilon: float,
    delta: float | None,
    out: Path,
    force: bool,
    target: str | None,
    system: str | None,
    variant: str,
    adjacency: str,
    person: str | None,
    records_per_person: int | None,
    init: Path | None,
    pairs: Sequence[str],
    holdout: float | None,
    holdout_epsilon: float | None,
    memory: int,
    spill: Path | None,
    address: str | None,
    dataset: str | None,
    separator: str | None,
    as_json: bool,
) -> None:
    """Fit a model and save it; ``hedgerow train --help`` says what the arguments are."""
    if holdout_epsilon is not None and holdout is None:
        raise click.UsageError(
            "--holdout-epsilon asks about held-out lines, of which there are none; pass --holdout SHARE."
        )
    refuse_overwriting(out, force, *data, schema_path, *([] if init is None else [init]))
    whole = holdout is not None or variant == "published" or not data[0].is_file()
    if whole and len(data) > 1:
        raise click.UsageError("--holdout and published forms read one file into memory; pass one file.")
    schema = load_schema(schema_path, target, person)
    kind = system_class(system or default_system(schema))
    settings: dict[str, Any] = {
        **read_parameters(kind, pairs),
        **read_variant(kind, variant),
        **read_delta(kind, delta),
        **read_init(kind, init),
    }
    form = CSVFormat.of(schema, separator)
    _warn_of_inferred(schema, schema_path)
    ledger = ledger_or_none(address, dataset)
    settings |= {"adjacency": adjacency, "records_per_person": records_per_person}
    model = kind(epsilon=epsilon, schema=schema, ledger=ledger, **settings)

    check_stdout()

    def run(spending: Spending) -> None:
        testing = None
        if whole:
            columns = _read(data[0], schema, form)
            training, testing = (columns, None) if holdout is None else divided(columns, holdout, schema)
            if variant == "published":
                labels = training.pop(str(schema.target))
                spending.fit(model, training, labels)
            else:
                label = str(schema.target)
                records = Records.from_batches([training], label, memory=memory, spill=spill)
                _fit(spending, model, records)
        else:
            check_files(data, form, lambda table, path: check_columns(table, schema, path))
            _fit(spending, model, records_of(data, str(schema.target), form, memory, spill))
        spending.save(model, force=force)
        if testing is None:
            _report(model, out, None, as_json)
        elif holdout_epsilon is None:
            _report(model, out, measure(model, testing), as_json)
        else:
            card = spending.ask(f"epsilon {holdout_epsilon}", lambda: ask_privately(model, testing, holdout_epsilon))
            _report(model, out, card, as_json)

    with Spending(_claim(model), out) as spending:
        run(
            spending
        )  # a function of its own: freeing many records takes time, in which an interruption must say what it cost


def _fit(spending: Spending, model: PrivateEstimator, records: Records) -> None:
    """Fit a private form, and show on a terminal how far it is."""
    with ShareProgress() as progress:
        spending.fit(model, records.with_progress(progress), None)


def _read(path: Path, schema: Schema, form: CSVFormat) -> Columns:
    """Return all columns of one file, after the checks that look at no record."""
    columns = read_table(path, form, lambda table: check_columns(table, schema, path))
    check_records(len(columns[str(schema.target)]), path)
    return columns


def _claim(model: PrivateEstimator) -> str:
    """Return the budget of a fit in words."""
    delta = exact_delta(getattr(model, "delta", 0))
    return f"epsilon {decimal_text(exact(model.epsilon))}" + (f", delta {decimal_text(delta)}" if delta else "")


def _warn_of_inferred(schema: Schema, path: Path) -> None:
    if schema.inferred:
        click.echo(
            f"warning: no guarantee will hold: {path} was read off the data in {listed(schema.inferred)}. Replace or confirm "
            'each by public knowledge and delete its line origin = "inferred" (classes_origin for the classes).',
            err=True,
        )


def _report(model: PrivateEstimator, out: Path, score: Score | ErrorScore | Card | None, as_json: bool) -> None:
    """Write the result to stdout, and to stderr where the model went."""
    if as_json:
        test: dict[str, Any] | None = None
        if isinstance(score, Card):
            test = {**card_values(score), "covered_by_guarantee": score.certificate_.holds, "note": both_of(score)}
        elif score is not None:
            test = {**asdict(score), "covered_by_guarantee": False, "note": NOT_COVERED}
        write_json({"model": str(out), **model_values(model), "holdout": test})
    else:
        click.echo(str(model.certificate_))
        if isinstance(score, Card):
            click.echo(f"\n{score}\n\n{score.certificate_}\n\n{both_of(score)}")
        elif score is not None:
            click.echo(f"\n{score}\n{NOT_COVERED}")
    if not model.certificate_.holds:
        click.echo("note: no guarantee holds for this model; the certificate says why.", err=True)
    click.echo(f"wrote {out}", err=True)
