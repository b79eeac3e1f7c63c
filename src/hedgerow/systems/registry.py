"""Every system by name: what it is, and the class that holds it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hedgerow.archive import file_content, unpacked
from hedgerow.document import read_document
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.estimator import FORMATS, PrivateEstimator, restored, result_of
from hedgerow.export.json_text import JSON_FORMAT, JsonArrays, plain_answers
from hedgerow.limits import Allowance
from hedgerow.schema import Schema

__all__ = ["SystemInfo", "default_system", "list_systems", "load", "system_class"]


@dataclass(frozen=True)
class SystemInfo:
    """One system: the name on the command line, its class, its paper, its variants, and what the private form guarantees.

    Parameters
    ----------
    name : str
        The name on the command line.
    class_name : str
        The class, which ``hedgerow`` holds under this name.
    module : str
        The module that the class is in.
    paper : str
        Where the system was published; empty for our own.
    variants : tuple of str
        The forms that it has.
    guarantee : str
        What its private form guarantees.

    Examples
    --------
    >>> import hedgerow as hr
    >>> [info] = [info for info in hr.list_systems() if info.name == "edprf"]
    >>> info.class_name, info.variants
    ('EDPRFClassifier', ('private', 'published'))
    """

    name: str
    class_name: str
    module: str
    paper: str
    variants: tuple[str, ...]
    guarantee: str


PURE = "epsilon-DP, one record added or removed (or replaced)"
PURE_OR_DELTA = "epsilon-DP or (epsilon, delta)-DP, one record added or removed (or replaced)"


def _of_paper(name: str, class_name: str, module: str, paper: str, guarantee: str = PURE) -> SystemInfo:
    return SystemInfo(name, class_name, f"hedgerow.systems.{module}", paper, ("private", "published"), guarantee)


_SYSTEMS = (
    SystemInfo(
        "hedgerow",
        "HedgerowClassifier",
        "hedgerow.systems.hedgerow",
        "ours: boosting that asks few, well-chosen questions",
        ("private",),
        PURE_OR_DELTA,
    ),
    SystemInfo(
        "forest",
        "ForestClassifier",
        "hedgerow.systems.forest",
        "ours: private trees put together from parts",
        ("private",),
        PURE,
    ),
    _of_paper("edprf", "EDPRFClassifier", "edprf", "Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025"),
    _of_paper(
        "pfdpdt",
        "PFDPDTClassifier",
        "edprf",
        "Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025, algorithm 5",
    ),
    _of_paper(
        "tradition",
        "TraditionClassifier",
        "tradition",
        "Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025, the baseline of its ablations",
    ),
    _of_paper("diffprf", "DiffPRFClassifier", "diffprf", "Patil and Singh, ICACCI 2014"),
    _of_paper("diffprfs", "DiffPRFsClassifier", "diffprfs", "Mu, Ding, Song and Lu, 2016"),
    _of_paper(
        "deng-diffprf",
        "DengDiffPRFClassifier",
        "deng_diffprf",
        "Deng, Chen, Zhang and Wang, Journal of CQUPT 32(5), 2020",
    ),
    _of_paper(
        "diffprf-linear",
        "DiffPRFLinearClassifier",
        "diffprf_linear",
        "Dong, Zhang, Xu, Wang and Liu, Journal of Database Management 33(2), 2022",
    ),
    _of_paper("tpdprf", "TpDPRFClassifier", "tpdprf", "Liu, Li, Wei, Liu, Liu and Wang, Applied Intelligence 53, 2023"),
    _of_paper("sulq-id3", "SuLQID3Classifier", "sulq_id3", "Blum, Dwork, McSherry and Nissim, PODS 2005"),
    _of_paper("pinq-id3", "PINQID3Classifier", "pinq_id3", "McSherry, SIGMOD 2009; Friedman and Schuster, KDD 2010"),
    _of_paper("diffp-id3", "DiffPID3Classifier", "diffp_id3", "Friedman and Schuster, KDD 2010"),
    _of_paper("diffp-c45", "DiffPC45Classifier", "diffp_c45", "Friedman and Schuster, KDD 2010"),
    _of_paper("diffgen", "DiffGenClassifier", "diffgen", "Mohammed, Chen, Fung and Yu, KDD 2011"),
    _of_paper("dt-diff", "DTDiffClassifier", "dt_diff", "Zhu, Xiong, Xiang and Zhou, TrustCom 2013, as reconstructed"),
    _of_paper(
        "dp-adaboost",
        "DPAdaBoostClassifier",
        "dp_adaboost",
        "Shen, thesis, Nanjing University of Aeronautics and Astronautics, 2017",
        PURE_OR_DELTA,
    ),
    _of_paper(
        "cart-dps-adaboost",
        "CARTDPsAdaBoostClassifier",
        "cart_dps_adaboost",
        "Jia, Qiu and Ma, Journal of Cyber Security 6(4), 2021",
        PURE_OR_DELTA,
    ),
    _of_paper(
        "dpada",
        "DPAdaClassifier",
        "dpada",
        "Zhang, Dong, Xu and Wang, Journal on Communications, 2023",
        PURE_OR_DELTA,
    ),
    SystemInfo(
        "smooth-boost",
        "SmoothBoostClassifier",
        "hedgerow.systems.smooth_boost",
        "ours: bounded reweighting of Domingo and Watanabe 2000, Servedio 2003",
        ("private",),
        PURE_OR_DELTA,
    ),
    _of_paper(
        "random-trees",
        "RandomTreesClassifier",
        "random_trees",
        "Fletcher and Islam, Expert Systems with Applications 78, 2017; diffprivlib 0.6.6",
    ),
)


_REGRESSORS = (
    SystemInfo(
        "hedgerow-regressor",
        "HedgerowRegressor",
        "hedgerow.systems.regressor",
        "ours: boosting of a number with clips from released histograms",
        ("private",),
        PURE_OR_DELTA,
    ),
)


def list_systems(*, regressors: bool = False) -> tuple[SystemInfo, ...]:
    """Return every classifier that this version holds, or every regressor.

    Parameters
    ----------
    regressors : bool
        Whether to list regressors.

    Returns
    -------
    tuple of SystemInfo
        In the order of the tables of the documentation, ours first.

    Examples
    --------
    >>> import hedgerow as hr
    >>> [info.name for info in hr.list_systems()][:3]
    ['hedgerow', 'forest', 'edprf']
    """
    return _REGRESSORS if regressors else _SYSTEMS


def default_system(schema: Schema) -> str:
    """Return the name of the system that is fitted where none is named, by what the schema's labels are."""
    return "hedgerow" if schema.outcome is None else "hedgerow-regressor"


def system_class(name: str) -> type[PrivateEstimator]:
    """Return the class of a system by its name, or raise ConfigurationError with the names that exist."""
    systems = _SYSTEMS + _REGRESSORS
    for info in systems:
        if name in (info.name, info.class_name):
            found: type[PrivateEstimator] = getattr(import_module(info.module), info.class_name)
            return found
    raise ConfigurationError(f"there is no system {name!r}; choose one of {', '.join(info.name for info in systems)}.")


def load(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> PrivateEstimator:
    """Return the model that ``save`` wrote to a file, or the text of ``to_json``; nothing in the file is executed.

    A file from a stranger takes bounded memory and time. It may unpack to 128 MiB, or to 64 times its own size where that is
    more; the sizes of its document (half of that), of its schema and of what is made of it follow. Arrays that the class
    does not ask for are never unpacked. The limits that do not depend on ``max_bytes`` are 64 members, 80 nested brackets,
    4000 digits of a number, 50 000 different events, 20 deep, and budgets from 1e-100 to 1e18; ``hedgerow.limits`` says why.
    What is accepted answers: the trees end, the numbers are finite, the certificate can be printed.

    Parameters
    ----------
    path : path
        The file.
    max_bytes : int or None
        How much the file may unpack to. Loading takes several times as much memory. None: as above.

    Raises
    ------
    FileFormatError
        If the file is damaged, is no model, asks for more than the limits, or was written by a newer version.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import os, tempfile
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.hedgerow")
    >>> hr.EDPRFClassifier(epsilon=1.0, schema=schema).fit([[0.2], [0.8]], ["no", "yes"]).save(path)
    >>> hr.load(path).certificate_.holds
    True
    """
    content = file_content(path)
    if content.lstrip()[:1] == b"{":
        return _load_json(path, content, Allowance.of_file(len(content), max_bytes))
    document, arrays = unpacked(path, content, max_bytes)
    return restored(_kind(path, document), document, arrays, arrays.allowed)


def _load_json(path: str | os.PathLike[str], content: bytes, allowed: Allowance) -> PrivateEstimator:
    """Return the model of a JSON text, whose parts must say the same."""
    if len(content) > allowed.document:
        raise FileFormatError(
            f"{path} has {len(content)} bytes, and {allowed.document} are allowed; pass more as max_bytes to hedgerow.load."
        )
    try:
        document = read_document(content, allowed.values)
    except FileFormatError as error:
        raise FileFormatError(f"{path} is not a model of hedgerow as JSON, or it is damaged: {error}.") from error
    if type(document.get("hedgerow")) is not int or document["hedgerow"] != JSON_FORMAT:
        raise FileFormatError(f"{path} is no model of hedgerow as JSON, or one that a newer version wrote.")
    model = restored(_kind(path, document), document, JsonArrays(document.get("arrays")), allowed)
    try:
        same = plain_answers(result_of(model).model.scoring()) == document.get("answers")
    except ConfigurationError as error:  # so large that it was never written
        raise FileFormatError(f"{path} is no model that to_json writes: {error}") from error
    if not same:
        raise FileFormatError(f"{path} says under 'answers' something else than its arrays do; write it again.")
    return model


def _kind(path: str | os.PathLike[str], document: Mapping[str, Any]) -> type[PrivateEstimator]:
    """Return the class of a model file, or raise FileFormatError where this version does not know it."""
    if type(document.get("format")) is not int or document["format"] not in FORMATS:
        raise FileFormatError(
            f"{path} has format {document.get('format')!r:.40}, but this version reads formats {FORMATS[0]} to {FORMATS[-1]}."
        )
    try:
        return system_class(str(document.get("class")))
    except ConfigurationError as error:
        raise FileFormatError(f"{path} holds a model of a class that this version does not know.") from error
