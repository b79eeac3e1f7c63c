"""The public names of hedgerow, and the module that each is in: type checkers read this file, and so does ``__init__.py``."""

from hedgerow import audit as audit, datasets as datasets, engines as engines, plots as plots
from hedgerow.analysis.classification_card import ReportCard as ReportCard
from hedgerow.analysis.evaluation import evaluate as evaluate
from hedgerow.analysis.group_cards import GroupCards as GroupCards
from hedgerow.analysis.held_out import HeldOut as HeldOut, hold_out as hold_out
from hedgerow.analysis.outlook import FitPlan as FitPlan, plan as plan
from hedgerow.analysis.regression_card import RegressionCard as RegressionCard
from hedgerow.analysis.release import ReleasedSchema as ReleasedSchema, private_schema as private_schema
from hedgerow.analysis.search import PrivateSearchCV as PrivateSearchCV
from hedgerow.curator import Curator as Curator
from hedgerow.engines import federated as federated
from hedgerow.engines.records import Records as Records
from hedgerow.errors import (
    BudgetExceeded as BudgetExceeded,
    ConfigurationError as ConfigurationError,
    DatasetError as DatasetError,
    EngineError as EngineError,
    FileFormatError as FileFormatError,
    HedgerowError as HedgerowError,
    LedgerDamaged as LedgerDamaged,
    LedgerPickleError as LedgerPickleError,
    LedgerUnavailable as LedgerUnavailable,
    MissingExtraError as MissingExtraError,
    PrivacyLeakWarning as PrivacyLeakWarning,
    SchemaError as SchemaError,
    UnreadColumnWarning as UnreadColumnWarning,
)
from hedgerow.estimator import Explanation as Explanation
from hedgerow.export.signature import Signature as Signature, signature_of as signature_of
from hedgerow.ledgers.ledger import Ledger as Ledger
from hedgerow.ledgers.store import LedgerStore as LedgerStore
from hedgerow.papers.cart import CARTDPsAdaBoostClassifier as CARTDPsAdaBoostClassifier
from hedgerow.papers.dpada import *
from hedgerow.papers.edprf import *
from hedgerow.plots.features import FeatureDisplay as FeatureDisplay
from hedgerow.plots.model import ExplanationDisplay as ExplanationDisplay, ImportancesDisplay as ImportancesDisplay
from hedgerow.plots.report import (
    CalibrationDisplay as CalibrationDisplay,
    ConfusionMatrixDisplay as ConfusionMatrixDisplay,
    GroupsDisplay as GroupsDisplay,
    PredictionErrorDisplay as PredictionErrorDisplay,
    ROCDisplay as ROCDisplay,
    ResidualDisplay as ResidualDisplay,
)
from hedgerow.plots.utility import AuditDisplay as AuditDisplay, PlanDisplay as PlanDisplay
from hedgerow.privacy.certificate import Certificate as Certificate
from hedgerow.schema import (
    Boolean as Boolean,
    Categorical as Categorical,
    Date as Date,
    Integer as Integer,
    Numeric as Numeric,
    Schema as Schema,
)
from hedgerow.systems import SystemInfo as SystemInfo, list_systems as list_systems, load as load
from hedgerow.systems.cells import *
from hedgerow.systems.hedgerow import HedgerowClassifier as HedgerowClassifier, HedgerowRegressor as HedgerowRegressor
from hedgerow.systems.trees import *

__version__: str
