"""DiffGen: Mohammed, Chen, Fung and Yu, KDD 2011."""

from __future__ import annotations

from hedgerow.cells import SeparateCuts
from hedgerow.systems.cells import CellsClassifier

__all__ = ["DiffGenClassifier"]


class DiffGenClassifier(CellsClassifier):
    """Differentially private generalization with noisy class counts (DiffGen).

    Mohammed, Chen, Fung and Yu, "Differentially private data release for data mining", KDD 2011.

    Releases  a table: every combination of groups of values (a cell), with noisy class counts, including empty cells. Any
              learner can be trained on it (``released_cells``). ``predict`` uses a rule of our own.
    Costs     ``epsilon``, pure: half of it to select cut points and specializations, the rest for the counts
              (docs/proofs/cells.md).
    Departs   (private) from the published steps where they read raw data. Classes and bins come from the schema, and
              intervals without records can be cut. It selects by permute-and-flip on scores at their one-sided range.
    Published the paper's steps with the choices of its public implementation. The certificate says that no guarantee holds.

    Parameters
    ----------
    epsilon : float, default 1.0
        The total privacy budget, read as its shortest decimal.
    schema : Schema or None
        What is public about the data, including taxonomies of categorical features. None infers it from the records, which
        voids the guarantee.
    variant : {"private", "published"}
        "private": the form whose guarantee is proved. "published": the form that the paper prints.
    specializations : int or None
        Maximum number of groups that are divided. None: 10 if the add/remove budget is at least 0.5, otherwise 4 [our choice];
        published: 10.
    criterion : {"gini", "max", "information-gain"} or None
        The score that ranks specializations. Private: the purity of the branches (our choice, the default), or the paper's Max,
        the number of records that majority labels classify correctly. Published: the paper's information gain (the default), or
        Max.
    max_cells : int or None
        Maximum number of cells: a specialization that would exceed it is not a candidate. None: 4096 if the add/remove budget is
        at least 0.5, otherwise 64 [our choice]; published: 2**20.
    max_bins : int or None
        Private form: one more than the number of places where a numeric feature may be cut. None: 16 [our choice].
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are. Under "replace-one" the plan runs at half the budget.
    records_per_person : int
        The guarantee protects a person, of whom at most this many records are read; see ``fit``.
    random_state : None, int or numpy generator
        None draws from the operating system's entropy, which a guarantee requires. Other values are for tests.
    ledger : Ledger or None
        The ledger that is charged for the fit's plan before anything is drawn.

    Attributes
    ----------
    classes_, schema_, certificate_, n_features_in_
        See ``PrivateClassifier``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["high", "low"])
    >>> model = hr.DiffGenClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> model.certificate_.holds
    True

    Any other learner can be trained on what was released, at no further cost:

    >>> columns, labels, weight = model.released_cells(clip=True)
    >>> table = np.nan_to_num(np.column_stack(list(columns.values())))
    >>> other = LogisticRegression().fit(table, labels, sample_weight=weight)
    >>> answers = other.predict(np.nan_to_num(np.column_stack(list(model.generalize(X).values()))))
    """

    _cuts = SeparateCuts()
    _published_criterion = "information-gain"
