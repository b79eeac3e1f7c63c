"""The certificate check: a model may contain only what its plan releases and its certificate explains."""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from hedgerow import estimator as estimators
from hedgerow.additive.cell_round import CellRound
from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.plan import AdditivePlan, Rounds
from hedgerow.additive.round import OneRound, Term
from hedgerow.arrays import lazy
from hedgerow.audit.findings import Finding, system_name
from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError
from hedgerow.estimator.exported import format_of
from hedgerow.export.archive import DOCUMENT, SIGNATURE, read_archive
from hedgerow.export.signature import signature_of
from hedgerow.mechanisms import DiscreteGaussian, Noise
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.exact import decimal_text
from hedgerow.schema import Schema
from hedgerow.systems.cells import CellsModel, CellsPlan
from hedgerow.systems.registry import load
from hedgerow.trees import BoostingPlan, Forest, ForestModel, ForestPlan, NoisyCounts, SurveyedForestPlan, TwoPhasePlan

Arrays = Mapping[str, npt.NDArray[Any]]

EXPLAINED = {  # arrays of trees and cells that exist only if such a step was charged
    "counts": ("class counts",),
    "votes": ("class counts", "gradients"),
    "sums": ("gradients",),
    "edges": ("specializations", "fine bins"),
}

NEAR = 0.25  # in deviations of the planned noise: with less noise, more counts are nearer to zero than this
CHANCE = 1e-6  # that the planned noise leaves so many counts near zero, whatever the records are
TOLERANCE = 1e-3  # of a deviation, which files hold rounded
MOST_PLACES = 1 << 20  # at which the law of the noise is added up; it is smooth where there are more

UNTOLD = (
    "A file cannot show that a fit wrote it, nor the noise in its choices of features, tests and labels: invented "
    "numbers with noise of the right scale would pass."
)


def check_model(model: str | os.PathLike[str] | estimators.PrivateEstimator) -> list[Finding]:
    """Return everything about a model that its certificate does not explain; an empty list if there is nothing.

    The plan is built again from the class, the parameters and the schema. The certificate must be the one that this plan
    gets, step by step; the certificate must hold; the arrays must be those that the plan restores, integers where the plan
    releases integers, of no more trees, rounds, levels or cells than planned, and no more exact than the plan's noise leaves
    them; a fitted estimator must hold nothing that its file would not; and a file must hold the members and entries that
    ``save`` writes of the model that it loads as. Bytes outside its members, and the ways in which a zip can hold the same
    members, are not looked at: save the model again to drop them. ``hedgerow.audit.contents.UNTOLD`` says what no file can tell.

    A reason that the certificate itself gives for holding no guarantee is a finding too, of the attack ``"certificate"``: it
    claims no loss and refutes nothing, because the model says so openly.

    Parameters
    ----------
    model : path or PrivateEstimator
        A model file, or a fitted estimator.

    Raises
    ------
    FileFormatError
        If the file is no model file.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> from hedgerow.audit import check_model
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 1))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.EDPRFClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> check_model(model)
    []
    >>> model.root_counts_ = np.array([101, 99])
    >>> print(check_model(model)[0].words)
    the fitted model has the attribute root_counts_, which no step releases
    """
    words: list[str] = []
    if not isinstance(model, estimators.PrivateEstimator):
        certificate, words, _ = _check_file(model)
    else:
        certificate = model.certificate_
        if certificate.variant == "private":  # others are never saved, and their certificates explain nothing
            words = _check_fitted(model)
    # The certificate's own reasons, other than that its plan overspends, claim no loss.
    open_about_it = certificate.unprotected or certificate.covers_its_steps
    reasons = certificate.reasons if open_about_it else certificate.reasons[:-1]
    result = [("certificate", 0.0, f"no guarantee: its own certificate says so: {reason}") for reason in reasons]
    result += [("contents", math.inf, text) for text in dict.fromkeys(words)]
    return [
        Finding(
            subject=f"{system_name(certificate.system)}, {certificate.variant}",
            attack=attack,
            pair="the model and its certificate",
            adjacency=certificate.adjacency,
            epsilon=float(certificate.epsilon),
            delta=float(certificate.delta),
            loss=loss,
            confidence=1.0,
            power=math.inf,
            words=text,
        )
        for attack, loss, text in result
    ]


def _check_fitted(model: estimators.PrivateEstimator) -> list[str]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        _, words, saved = _check_file(path)
    given = vars(model.__class__(**model.get_params(deep=False)))
    declared = {*given, "_fitted", *(field.name for field in fields(estimators.Fitted))}
    words += [
        f"the fitted model has the attribute {name}, which no step releases"
        for name in (*vars(model), *vars(estimators.result_of(model)))
        if name not in declared
    ]
    if saved is not None:
        for name in ("model_", "classes_", "schema_", "certificate_"):
            if hasattr(model, name):  # a regressor has no classes
                words += surplus(getattr(model, name), getattr(saved, name), name)
    return words


def _check_file(path: str | os.PathLike[str]) -> tuple[Certificate, list[str], estimators.PrivateEstimator | None]:
    document, arrays = read_archive(path)
    try:
        certificate = Certificate.from_dict(document["certificate"])
    except (KeyError, TypeError) as error:
        raise FileFormatError(f"{path} holds no certificate, so there is nothing to check it against.") from error
    model = None
    try:
        model = load(path)
        words = [*_foreign(path, document, model), *_words(model, arrays)]
    except FileFormatError as error:
        words = [f"the model's arrays are not what its plan releases: {error}"]
    return certificate, words, model


def _foreign(
    path: str | os.PathLike[str], document: dict[str, Any], model: estimators.PrivateEstimator
) -> Iterator[str]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    yield from (
        f"the file has the member {name}, which is no part of a model"
        for name in names
        if name not in (DOCUMENT, SIGNATURE) and not name.endswith(".npy")
    )
    if (signature := signature_of(path)).refuted:
        yield f"the file is {signature}"
    again = io.BytesIO()
    model.save(again)
    again.seek(0)
    own, _ = read_archive(again)
    # Parameters that an older version did not have were read as their defaults.
    known = {**estimators.former_parameters(type(model)), **own["parameters"]}
    own["parameters"] = {name: known.get(name) for name in document["parameters"]}
    for name in sorted(document.keys() | own.keys()):
        if json.dumps(document.get(name)) != json.dumps(own.get(name)):  # 1, 1.0 and true are equal in Python
            yield f"the file's {DOCUMENT} has another entry {name} than save writes of this model"


def _words(model: estimators.PrivateEstimator, arrays: Arrays) -> Iterator[str]:
    certificate = model.certificate_
    if not certificate.unprotected and not certificate.covers_its_steps:
        yield "the certificate does not hold: the steps cost more than the claim"
    fitted = estimators.result_of(model)
    try:
        estimator = type(model)(**{**fitted.parameters, "schema": fitted.schema})
        plan = estimators.plan_of(estimator, fitted.schema, estimators.claim_of(estimator), fitted.coins)
    except ConfigurationError as error:
        yield f"no plan has these parameters: {error}"
        return
    assert not isinstance(plan, estimators.RawPlan), "published forms are not loaded"
    yield from _certificate(certificate, estimator, fitted.schema, plan)
    purposes = " / ".join(line.purpose for line in certificate.lines)
    back = plan.restore(arrays).to_arrays()
    for name in sorted(name for name in back.keys() & EXPLAINED.keys() if back[name].size):
        if not certificate.unprotected and not any(word in purposes for word in EXPLAINED[name]):
            yield f"the model holds {name}, but no step of its certificate releases them"
    if format_of(arrays) < format_of(back):
        yield f"the file is of format {format_of(arrays)}, whose arrays are not checked; save the model again, and check that"
        return
    for name in arrays:
        if name not in back:
            yield f"the model holds the array {name}, which its plan does not release"
        elif not np.array_equal(arrays[name], back[name]):
            yield f"the array {name} is not what the plan restores from it"
    yield from scale_findings(model.model_, plan)
    forest = getattr(model.model_, "forest", None)
    if isinstance(forest, Forest):
        yield from _trees(forest, plan, certificate)


def _certificate(
    stored: Certificate, estimator: estimators.PrivateEstimator, schema: Schema, plan: estimators.Plan
) -> Iterator[str]:
    claim = estimators.claim_of(estimator)
    try:
        again = estimators.certificate_of(estimator, schema, claim, plan, seeded=stored.seeded)
    except BudgetExceeded:
        yield f"the plan costs more than epsilon = {decimal_text(claim.epsilon)}"
        return
    for name in ("system", "variant", "epsilon", "delta", "adjacency"):
        if getattr(stored, name) != getattr(again, name):
            yield f"the certificate says {name} = {getattr(stored, name)}, but the model was fitted with {getattr(again, name)}"
    if estimator.random_state is not None and not stored.seeded:
        yield "the certificate says that the noise has no seed, but the model was fitted with random_state"
    if stored.event != again.event:
        yield "the certificate's steps are not those of the plan"
        for words, one, other in (
            ("leaves out what the plan does", again, stored),
            ("adds to the plan", stored, again),
        ):
            for line in one.lines:
                if line not in other.lines:
                    yield f"the certificate {words} on level {line.level}: {line.purpose}, {line.cost}"


def _trees(forest: Forest, plan: estimators.Plan, certificate: Certificate) -> Iterator[str]:
    deepest = max((line.level for line in certificate.lines), default=0)
    most = plan.most_trees if isinstance(plan, ForestPlan | TwoPhasePlan) else None
    if most is not None and len(forest.roots) > most:
        yield f"the model holds {len(forest.roots)} trees, but {most} were planned"
    if most is not None and deepest and forest.trees.depth >= deepest:
        yield f"a tree has {forest.trees.depth + 1} levels, but the certificate ends at level {deepest}"
    inner = forest.test >= 0
    if np.any(forest.label[inner] != -1) or np.any(forest.first_child[~inner] != 0):
        yield "nodes hold labels or places that mean nothing there"
    if forest.counts is not None:
        if np.any(forest.counts[inner] != 0):
            yield "nodes that are no leaves hold counts, which no step releases"
        if np.any(forest.label[~inner] != forest.counts[~inner].argmax(axis=1)):
            yield "labels of leaves are not those of their released counts"


MOST_DEEP = 30


def surplus(held: Any, declared: Any, path: str, depth: int = 0) -> Iterator[str]:
    """Yield in words each attribute or value of ``held`` that ``declared`` does not have; ``path`` names the object.

    Cached values of a class are compared with those that the declared object computes.
    """
    if held is declared or depth > MOST_DEEP:
        return
    if type(held) is not type(declared):
        yield f"{path} is of the type {type(held).__name__}, but what is released gives {type(declared).__name__}"
    elif isinstance(held, np.ndarray):
        if held.dtype != declared.dtype or not np.array_equal(held, declared, equal_nan=held.dtype.kind == "f"):
            yield f"{path} holds other values than what is released"
    elif isinstance(held, Mapping):
        yield from (f"{path}[{key!r}] is not released" for key in held if key not in declared)
        for key in held.keys() & declared.keys():
            yield from surplus(held[key], declared[key], f"{path}[{key!r}]", depth + 1)
    elif isinstance(held, list | tuple):
        if len(held) != len(declared):
            yield f"{path} has {len(held)} values, but what is released gives {len(declared)}"
        for i, (mine, theirs) in enumerate(zip(held, declared, strict=False)):
            yield from surplus(mine, theirs, f"{path}[{i}]", depth + 1)
    elif hasattr(held, "__dict__") and not isinstance(held, type) and not callable(held):
        for name in vars(held):
            if name in vars(declared) or isinstance(getattr(type(held), name, None), lazy):
                yield from surplus(getattr(held, name), getattr(declared, name), f"{path}.{name}", depth + 1)
            else:
                yield f"the fitted model has the attribute {path}.{name}, which no step releases"
    elif not callable(held) and held != declared and held == held:  # a NaN differs from itself
        yield f"{path} is {held!r}, but what is released gives {declared!r}"


def scale_findings(model: estimators.Model, plan: estimators.Plan) -> Iterator[str]:
    """Yield a sentence for each kind of released number that is more exact, or more frequent, than the plan's budget allows."""
    if isinstance(model, AdditiveModel) and isinstance(plan, AdditivePlan):
        yield from _rounds(model.own, plan)
        return
    for what, counts, noise in _counts(model, plan):
        if _too_exact(counts, noise):
            yield (
                f"too many of the {what} are near zero for noise of deviation {noise.deviation:.3g}, which the plan adds: they "
                "were released with less noise"
            )


def _counts(model: estimators.Model, plan: estimators.Plan) -> Iterator[tuple[str, npt.NDArray[np.int64], Noise]]:
    if isinstance(model, CellsModel) and isinstance(plan, CellsPlan):
        yield "counts of cells", model.counts.ravel(), plan.noise
    if isinstance(model, ForestModel) and model.forest.counts is not None:
        kinds = BoostingPlan | ForestPlan | SurveyedForestPlan | TwoPhasePlan
        schedules = plan.schedules if isinstance(plan, kinds) else []
        leaves = [leaf for one in schedules for level in one.levels for leaf in (level.leaf, level.stopped_leaf)]
        noises = [leaf.noise for leaf in leaves if isinstance(leaf, NoisyCounts)]
        if noises and not any(one.recipe.prune for one in schedules):  # pruning makes counts that add up
            counts = model.forest.counts[model.forest.test < 0]
            yield "counts of leaves", counts.ravel(), min(noises, key=lambda noise: noise.deviation)


def _too_exact(counts: npt.NDArray[np.int64], noise: Noise) -> bool:
    """Return whether more counts are near zero than noise leaves there, whatever the exact counts are.

    The law of the noise is symmetric and falls away from zero, so no exact count is near zero more often than that of zero.
    """
    assert not isinstance(noise, DiscreteGaussian), "owners add noise to sums of rounds alone"
    near = int(NEAR * noise.deviation)
    places = np.arange(-near, near + 1) if near < MOST_PLACES else np.linspace(-near, near, 1001).astype(np.int64)
    chance = float(noise.law(0, places).mean()) * (2 * near + 1)
    count = int((np.abs(counts) <= near).sum())
    return bool(binom.sf(count - 1, len(counts), min(chance, 1.0)) < CHANCE)


def _rounds(model: AdditiveModel, plan: AdditivePlan) -> Iterator[str]:
    stage, spent = plan.stage, 0
    numeric = np.array(model.encoder.schema.is_numeric)
    bins = int(np.max(model.encoder.n_codes[numeric] - 1, initial=0))
    if bins > plan.most_bins:
        yield f"a feature has {bins} bins, but the plan merges them to at most {plan.most_bins}"
    empty: list[npt.NDArray[np.float64]] = []
    for number, term in enumerate(model.terms, 1):
        if term.sums is None or not term.noise:  # of an earlier version, or of a start
            continue
        units = _units(term, stage)
        if units is None:
            yield f"round {number} has noise of deviation {term.noise}, less than the plan's whole budget buys"
            return
        spent += units
        if term.n_codes is None:  # else codes hold parts of the sums of their groups
            unread = 1 if numeric[term.feature[0]] else 2  # codes of missing and undeclared cells, which most data lack
            empty.append((term.sums[:, -unread:] / term.noise).ravel())
    if spent > stage.units:
        yield f"the noise of the rounds costs {spent} parts of the budget of all rounds, of which there are {stage.units}"
    if empty:
        sums = np.concatenate(empty)
        chance = 1 - np.exp(-np.sqrt(2) * NEAR) if not stage.budget.concentrated else 0.2
        if binom.sf(int((np.abs(sums) <= NEAR).sum()) - 1, len(sums), chance * (1 + TOLERANCE)) < CHANCE:
            yield "too many of the released sums are near zero for the noise that the model states"


def _units(term: Term, stage: Rounds) -> int | None:
    """Return the fewest parts of the budget that buy a term's noise, or None if all together do not."""
    kind, limit = OneRound if term.n_codes is None else CellRound, term.noise * (1 + TOLERANCE) + 1
    amounts = range(1, stage.units + 1)
    place = bisect_left(
        amounts, True, key=lambda units: stage.one(units, len(term.cuts), kind).noise.deviation <= limit
    )
    return amounts[place] if place < len(amounts) else None
