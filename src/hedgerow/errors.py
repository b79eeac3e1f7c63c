"""The exceptions and warnings of hedgerow, and their tree.

HedgerowError (Exception)
  ConfigurationError (also ValueError)      a public setting is wrong
    SchemaError                             the schema is wrong, or does not fit the data's columns
  FileFormatError (also ValueError)         a model or schema file cannot be read
  DatasetError (also OSError)               a data set could not be found, fetched or verified
  EngineError (also RuntimeError)           partitions did not answer as they must; what was charged stays charged
  LedgerDamaged                             a stored ledger was changed by other means than its own
  LedgerPickleError (also TypeError)        a ledger was about to be copied to another process
  LedgerUnavailable (also OSError)          a ledger's store cannot be read or written
  MissingExtraError (also ImportError)      an optional package is not installed
BudgetExceeded (BaseException)              the ledger refused; nothing was drawn
PrivacyLeakWarning (UserWarning)            a step reads records without protection
UnreadColumnWarning (UserWarning)           a column to be predicted holds nothing that the schema declares

No exception here is ever raised because of what a record holds.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

LONGEST_SHOWN = 200


class HedgerowError(Exception):
    """The parent of every error that hedgerow raises on purpose, but for a refused budget."""


class ConfigurationError(HedgerowError, ValueError):
    """A public setting is wrong; the message says what, why it matters and what to do."""


class SchemaError(ConfigurationError):
    """The schema is wrong, or it and the data have different columns."""


class FileFormatError(HedgerowError, ValueError):
    """A file is not a model or a schema that this version can read."""


class DatasetError(HedgerowError, OSError):
    """A data set could not be found, fetched or verified."""


class EngineError(HedgerowError, RuntimeError):
    """Partitions of records did not answer, or not as they must: the fit ends, and what was charged for it stays charged."""


class LedgerDamaged(HedgerowError):  # noqa: N818 - it names what happened, as BudgetExceeded does
    """A stored ledger was changed by other means than its own; the message names the first broken link."""


class LedgerPickleError(HedgerowError, TypeError):
    """A ledger cannot be pickled: two copies of a budget are two budgets."""


class LedgerUnavailable(HedgerowError, OSError):  # noqa: N818 - as above
    """A ledger's store cannot be read or written; the message says what became of the reservation."""


class MissingExtraError(HedgerowError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""


PACKAGES = {  # of an extra: messages name them, because the library itself is on no index
    "dask": '"dask[dataframe,distributed]"',
    "spark": "pyspark pandas",
    "federated": "flwr cryptography",
    "sign": "cryptography",
    "onnx": "onnx",
    "postgres": '"psycopg[binary]"',
    "plot": "matplotlib",
    "demo": "statsmodels pandas",
}


def install_words(what: str, extra: str) -> str:
    """Return the sentence that names an extra and its packages."""
    return f"{what}: install it with pip install {PACKAGES[extra]} (the extra {extra!r})."


def imported(module: str, what: str, extra: str) -> Any:
    """Return a module of an optional package, or raise MissingExtraError; ``what`` says what needs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(install_words(what, extra)) from error


class BudgetExceeded(BaseException):
    """The ledger refused a plan or a curator a query; nothing was drawn.

    It derives from BaseException so that code which turns every failed fit into a missing score
    (GridSearchCV with its default ``error_score``) cannot hide a refusal.
    """


class PrivacyLeakWarning(UserWarning):
    """A step reads the records without protection, so no guarantee holds."""


class UnreadColumnWarning(UserWarning):
    """A column of records to be predicted has no cell, or nearly none, that is as the schema declares it."""


def shown(value: object) -> str:
    """Return a public value as an error names it, in few letters; Python prints no integer of more than 4300 digits."""
    try:
        text = repr(value)
    except ValueError:
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def require(is_right: object, what: str, value: object, rule: str) -> None:
    """Raise SchemaError unless ``is_right``; the message states the public value and the rule that it breaks."""
    if not is_right:
        raise SchemaError(f"{what} is {shown(value)}, but it must be {rule}.")
