"""Systems by name, and loading models of any system from files."""

from __future__ import annotations

import warnings
from importlib import import_module

from hedgerow.catalogue import REGRESSORS, SYSTEMS, SystemInfo
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.estimator import FORMATS, PrivateEstimator, follows_schema, restored
from hedgerow.export.archive import read_archive
from hedgerow.files import Place, place_name
from hedgerow.schema import Schema


def list_systems(*, regressors: bool = False) -> tuple[SystemInfo, ...]:
    """Return every classifier of this version, or every regressor.

    Parameters
    ----------
    regressors : bool
        Whether to list regressors.

    Returns
    -------
    tuple of SystemInfo
        In the order of the tables of the documentation, this library's own systems first.

    Examples
    --------
    >>> import hedgerow as hr
    >>> [info.name for info in hr.list_systems()][:3]
    ['hedgerow', 'forest', 'edprf']
    """
    return REGRESSORS if regressors else SYSTEMS


def default_system(schema: Schema) -> str:
    return "hedgerow" if schema.outcome is None else "hedgerow-regressor"


def system_class(name: str) -> type[PrivateEstimator]:
    systems = SYSTEMS + REGRESSORS
    for info in systems:
        if name in (info.name, info.class_name):
            kind: type[PrivateEstimator] = getattr(import_module(info.module), info.class_name)
            return kind
    raise ConfigurationError(f"there is no system {name!r}; choose one of {', '.join(info.name for info in systems)}.")


def load(path: Place, *, max_bytes: int | None = None) -> PrivateEstimator:
    """Return the model of a file that ``save`` wrote; nothing in the file is executed.

    A file from an unknown source takes bounded memory and time. It may unpack to 128 MiB, or to 64 times its own size if that
    is more. The limits of its document (half of that), of its schema and of the objects built from it follow. Arrays that the
    class does not use are never unpacked. The limits that do not depend on ``max_bytes`` are 64 members, 80 nested brackets,
    4000 digits of a number, 50 000 different events, 20 deep, and budgets from 1e-100 to 1e18; ``hedgerow.files`` gives the
    reasons. A model that is loaded can be used: its trees end, its numbers are finite, and its certificate can be printed.

    Parameters
    ----------
    path : path or binary file object
        The file, or an object with ``read``, such as ``io.BytesIO`` or ``open(path, "rb")``. It is read from where it stands to
        its end, need not be seekable, and stays open.
    max_bytes : int or None
        Maximum size to which the file may unpack. Loading takes several times as much memory. None: as above. A larger file is
        not read, nor is one of more than 1 GiB without ``max_bytes``. A file object is read no further than that, and without
        ``max_bytes`` no further than 128 MiB.

    Raises
    ------
    FileFormatError
        If the file is damaged, is no model, exceeds the limits, or was written by a newer version.
    ConfigurationError
        If ``path`` is neither a path nor a binary file object, such as a file that is open for text.
    OSError
        If the file cannot be opened.

    Warns
    -----
    UserWarning
        If version 0.3 or earlier wrote the file, and its schema's classes are not sorted: columns are now in another order.

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
    document, arrays = read_archive(path, max_bytes)
    if type(document.get("format")) is not int or document["format"] not in FORMATS:
        raise FileFormatError(
            f"{place_name(path)} has format {document.get('format')!r:.40}, but this version reads formats {FORMATS[0]} to "
            f"{FORMATS[-1]}."
        )
    try:
        kind = system_class(str(document.get("class")))
    except ConfigurationError as error:
        raise FileFormatError(
            f"{place_name(path)} holds a model of a class that this version does not know."
        ) from error
    model = restored(kind, document, arrays, arrays.allowed)
    if follows_schema(document, model.schema_):
        was, now = (", ".join(map(str, classes)) for classes in (model.schema_.classes, model.classes_.tolist()))
        warnings.warn(
            "the file was written by hedgerow 0.3 or earlier. There, classes_ and the columns of predict_proba were in the order "
            f"of the schema ({was}); now they are sorted ({now}), as scikit-learn expects. decision_function, explain, feature "
            "curves and monotonic_cst follow: for two classes they mean the second of the sorted ones. Check code that reads "
            "columns by number, then save the model again.",
            UserWarning,
            stacklevel=2,
        )
    return model
