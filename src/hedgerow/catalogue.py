"""Every system: its name, the class that holds it, and what its private form guarantees. Nothing of it is imported here."""

from __future__ import annotations

from dataclasses import dataclass


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
DELTA = "epsilon-DP or (epsilon, delta)-DP, one record added or removed (or replaced)"


def _of_paper(name: str, class_name: str, module: str, paper: str, guarantee: str = PURE) -> SystemInfo:
    return SystemInfo(name, class_name, f"hedgerow.papers.{module}", paper, ("private", "published"), guarantee)


def _private(name: str, class_name: str, module: str, paper: str, guarantee: str = PURE) -> SystemInfo:
    return SystemInfo(name, class_name, f"hedgerow.systems.{module}", paper, ("private",), guarantee)


WANG = "Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025"
FRIEDMAN = "Friedman and Schuster, KDD 2010"
SYSTEMS = (
    _private("hedgerow", "HedgerowClassifier", "hedgerow", "ours: boosting with few noisy queries", DELTA),
    _private("forest", "ForestClassifier", "trees", "ours: a configurable private tree or forest"),
    _of_paper("edprf", "EDPRFClassifier", "edprf", WANG),
    _of_paper("pfdpdt", "PFDPDTClassifier", "edprf", f"{WANG}, algorithm 5"),
    _of_paper("tradition", "TraditionClassifier", "edprf", f"{WANG}, the baseline of its ablations"),
    _private("diffprf", "DiffPRFClassifier", "trees", "Patil and Singh, ICACCI 2014"),
    _private("diffprfs", "DiffPRFsClassifier", "trees", "Mu, Ding, Song and Lu, 2016"),
    _of_paper(
        "deng-diffprf", "DengDiffPRFClassifier", "edprf", "Deng, Chen, Zhang and Wang, Journal of CQUPT 32(5), 2020"
    ),
    _of_paper(
        "diffprf-linear",
        "DiffPRFLinearClassifier",
        "edprf",
        "Dong, Zhang, Xu, Wang and Liu, Journal of Database Management 33(2), 2022",
    ),
    _of_paper("tpdprf", "TpDPRFClassifier", "edprf", "Liu, Li, Wei, Liu, Liu and Wang, Applied Intelligence 53, 2023"),
    _private("sulq-id3", "SuLQID3Classifier", "trees", "Blum, Dwork, McSherry and Nissim, PODS 2005"),
    _private("pinq-id3", "PINQID3Classifier", "trees", f"McSherry, SIGMOD 2009; {FRIEDMAN}"),
    _private("diffp-id3", "DiffPID3Classifier", "trees", FRIEDMAN),
    _private("diffp-c45", "DiffPC45Classifier", "trees", FRIEDMAN),
    _private("diffgen", "DiffGenClassifier", "cells", "Mohammed, Chen, Fung and Yu, KDD 2011"),
    _private("dt-diff", "DTDiffClassifier", "cells", "Zhu, Xiong, Xiang and Zhou, TrustCom 2013, as reconstructed"),
    _of_paper(
        "dp-adaboost",
        "DPAdaBoostClassifier",
        "dpada",
        "Shen, thesis, Nanjing University of Aeronautics and Astronautics, 2017",
        DELTA,
    ),
    _of_paper(
        "cart-dps-adaboost",
        "CARTDPsAdaBoostClassifier",
        "cart",
        "Jia, Qiu and Ma, Journal of Cyber Security 6(4), 2021",
        DELTA,
    ),
    _of_paper("dpada", "DPAdaClassifier", "dpada", "Zhang, Dong, Xu and Wang, Journal on Communications, 2023", DELTA),
    _private(
        "smooth-boost",
        "SmoothBoostClassifier",
        "trees",
        "ours: bounded reweighting of Domingo and Watanabe 2000, Servedio 2003",
        DELTA,
    ),
    _private(
        "random-trees",
        "RandomTreesClassifier",
        "trees",
        "Fletcher and Islam, Expert Systems with Applications 78, 2017; diffprivlib 0.6.6",
    ),
)
REGRESSORS = (
    _private(
        "hedgerow-regressor",
        "HedgerowRegressor",
        "hedgerow",
        "ours: boosting of a number with clips from released histograms",
        DELTA,
    ),
)
