"""The numbers of a few dozen plans, as they were worked out by the code of 0.1.0: a bound may get tighter, never looser."""

import math
from fractions import Fraction

import pytest

from hedgerow.privacy.accounting import (
    BoundedRange,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Unprotected,
    cost,
)


def pure(epsilon):
    return Pure(Fraction(epsilon), "mechanism", "purpose")


def ranged(epsilon):
    return BoundedRange(Fraction(epsilon), "mechanism", "purpose")


def gaussian(mu_squared, draws=1):
    return Gaussian(Fraction(mu_squared), draws, "purpose")


def row(*parts):
    return Sequence(parts)


def rounds(count, *parts):
    return Sequence((Sequence(parts),) * count)


PATHS = Parallel((row(pure("1/3"), gaussian("1/9", 5)), row(ranged("1/2"), gaussian("1/50", 9)), ranged("2/3")))
CHOICE = OneOf((rounds(12, ranged("1/20"), gaussian("1/400", 60)), rounds(40, ranged("1/60"), gaussian("1/2000", 60))))
FOREST = PerRecordAssignment(row(ranged("1/4"), Parallel((pure("1/4"), row(pure("1/8"), pure("1/7"))))), 35)
EVENTS = {
    "nothing": row(),
    "no parts": Parallel(()),
    "pure, nothing": pure(0),
    "pure, tiny": pure("1/2000"),
    "pure, small": pure("1/10"),
    "pure, one": pure(1),
    "pure, large": pure(40),
    "ranged, tiny": ranged("1/1500"),
    "ranged, small": ranged("1/10"),
    "ranged, one": ranged(1),
    "ranged, three": ranged(3),
    "ranged, large": ranged(80),
    "gaussian, small": gaussian("1/1000", 3),
    "gaussian, half": gaussian("1/2", 4000),
    "gaussian, exact draws": gaussian("1/30", 0),
    "draws alone": gaussian(0, 10**9),
    "pure and ranged": row(pure("1/3"), ranged("1/3")),
    "pure and gaussian": row(pure("1/2"), gaussian("1/100", 7)),
    "ranged and gaussian": row(ranged("1/2"), gaussian("1/100", 7)),
    "many pure": Sequence((pure("1/10"),) * 50),
    "many ranged": Sequence((ranged("1/10"),) * 50),
    "many gaussian": Sequence((gaussian("1/5000", 100),) * 50),
    "rounds": rounds(40, ranged("1/40"), gaussian("1/3000", 60)),
    "rounds after a survey": row(
        gaussian("1/700", 1), gaussian("1/900", 255), rounds(30, ranged("1/30"), pure("1/70"))
    ),
    "paths": PATHS,
    "paths within paths": Parallel((row(PATHS, pure("1/9")), row(ranged(1), Parallel((PATHS, gaussian("1/4", 2)))))),
    "a choice": CHOICE,
    "a survey and a choice": row(gaussian("1/800", 300), CHOICE),
    "a choice of one": OneOf((PATHS,)),
    "a forest": FOREST,
    "two forests": row(FOREST, FOREST),
    "a forest with normal noise": PerRecordAssignment(PATHS, 10),
    "all of a sample": Subsampled(PATHS, Fraction(1)),
    "a sample, pure": Subsampled(pure(2), Fraction(1, 10)),
    "a sample, ranged": Subsampled(ranged(2), Fraction(1, 2)),
    "a sample of a forest": Subsampled(FOREST, Fraction(1, 3)),
    "many samples": Sequence((Subsampled(row(pure("1/10"), ranged("1/5")), Fraction(1, 4)),) * 30),
    "a sample of a sample": Subsampled(Subsampled(pure(1), Fraction(1, 2)), Fraction(1, 2)),
    "a sample, large": Subsampled(pure(600), Fraction(1, 2)),
    "a sample, normal noise": Subsampled(PATHS, Fraction(1, 2)),
    "samples and normal noise": row(Subsampled(ranged("1/2"), Fraction(1, 5)), gaussian("1/60", 12)),
    "unprotected": row(pure(1), Parallel((Unprotected("why"), ranged("1/2")))),
}
NONE = math.inf
# epsilon and squared mu of pure and of Gaussian steps, draws, whether protected, rho and squared mu of all steps; delta at
# epsilon 1/10, 1 and 8, and at 1 where one record is replaced
FROZEN = {
    "nothing": ("0", "0", 0, True, 0.0, 0.0, (0.0, 0.0, 0.0, 0.0)),
    "no parts": ("0", "0", 0, True, 0.0, 0.0, (0.0, 0.0, 0.0, 0.0)),
    "pure, nothing": ("0", "0", 0, True, 0.0, 0.0, (0.0, 0.0, 0.0, 0.0)),
    "pure, tiny": ("1/2000", "0", 0, True, 1.25e-07, 3.926990817e-07, (0.0, 0.0, 0.0, 0.0)),
    "pure, small": ("1/10", "0", 0, True, 0.004995837500783836, 0.015702348557151205, (0.0, 0.0, 0.0, 0.0)),
    "pure, one": (
        "1",
        "0",
        0,
        True,
        0.4621171577221269,
        1.5179111922598703,
        (0.4352397532022336, 0.0, 0.0, 0.6577716592015644),
    ),
    "pure, large": (
        "40",
        "0",
        0,
        True,
        40.00000004,
        320.0,
        (1.0000000000001, 1.0000000000001, 1.0000000000001, 1.000000000000322),
    ),
    "ranged, tiny": ("1/1500", "0", 0, True, 5.5555555555555555e-08, 1.745329252e-07, (0.0, 0.0, 0.0, 0.0)),
    "ranged, small": ("1/10", "0", 0, True, 0.0012498264287096744, 0.003926639734767351, (0.0, 0.0, 0.0, 0.0)),
    "ranged, one": (
        "1",
        "0",
        0,
        True,
        0.12330156160554616,
        0.3892419668646377,
        (0.2084076992272597, 0.0, 0.0, 0.22014849420692725),
    ),
    "ranged, three": (
        "3",
        "0",
        0,
        True,
        1.0075056208704622,
        3.284505481046525,
        (0.6167305157919409, 0.4415919283453119, 0.0, 0.8877959361607202),
    ),
    "ranged, large": (
        "80",
        "0",
        0,
        True,
        74.61797343994411,
        320.0,
        (1.0000000000001, 1.0000000000001, 1.0000000000001, 1.000000000000322),
    ),
    "gaussian, small": (
        "0",
        "1/1000",
        3,
        True,
        0.0005,
        0.001,
        (7.078015902722956e-06, 2.418821541797444e-18, 1.9398271966868796e-15, 2.418821541797444e-18),
    ),
    "gaussian, half": (
        "0",
        "1/2",
        4000,
        True,
        0.25,
        0.5,
        (0.2410535328944215, 0.03963259300479043, 2.586436262249173e-12, 0.28620821192222745),
    ),
    "gaussian, exact draws": (
        "0",
        "1/30",
        0,
        True,
        0.016666666666666666,
        0.03333333333333333,
        (0.03513755337114228, 1.1143557382637703e-09, 5e-324, 0.0005542376500021786),
    ),
    "draws alone": (
        "0",
        "0",
        1000000000,
        True,
        0.0,
        0.0,
        (4.5648617656622985e-10, 8.062738472658146e-10, 6.466090655622933e-07, 8.062738472658146e-10),
    ),
    "pure and ranged": (
        "2/3",
        "0",
        0,
        True,
        0.06891431257628693,
        0.2174340841881689,
        (0.14582401959905014, 0.0, 0.0, 0.10385598491666255),
    ),
    "pure and gaussian": (
        "1/2",
        "1/100",
        7,
        True,
        0.12745933132431392,
        0.3992419668646377,
        (0.2115468497382671, 6.856582461575475e-09, 4.526263458936053e-15, 0.07965567455416597),
    ),
    "ranged and gaussian": (
        "1/2",
        "1/100",
        7,
        True,
        0.03614209229229798,
        0.10795616719372753,
        (0.09101829952792605, 6.856582461575475e-09, 4.526263458936053e-15, 0.02679443080536892),
    ),
    "many pure": (
        "5",
        "0",
        0,
        True,
        0.24979187503919179,
        0.7851174278575602,
        (0.3098149981048697, 0.08808419327118754, 0.0, 0.42645235605117193),
    ),
    "many ranged": (
        "5",
        "0",
        0,
        True,
        0.06249132143548372,
        0.19633198673836755,
        (0.1365671668219455, 0.001292457192244884, 0.0, 0.0881950898632612),
    ),
    "many gaussian": (
        "0",
        "1/100",
        5000,
        True,
        0.005,
        0.01,
        (0.008751768145847725, 4.031369236452157e-15, 3.2330453278114665e-12, 1.7546337350477192e-08),
    ),
    "rounds": (
        "1",
        "1/75",
        2400,
        True,
        0.00979163954343236,
        0.023150755520310356,
        (0.024516386345095478, 9.7678598004378e-14, 1.551861757349504e-12, 6.661391199300734e-05),
    ),
    "rounds after a survey": (
        "10/7",
        "4/1575",
        256,
        True,
        0.00849761607412916,
        0.02524657207223654,
        (0.026807397226144277, 1.9112407989917566e-15, 1.6553192078394708e-13, 2.532372464381759e-05),
    ),
    "paths": (
        "2/3",
        "1/9",
        14,
        True,
        0.11060235991881215,
        0.2849552390509232,
        (0.17272065080044266, 0.010141617545876563, 9.052526917872105e-15, 0.15130132847057745),
    ),
    "paths within paths": (
        "5/3",
        "1/4",
        30,
        True,
        0.24830156160554617,
        0.6741972059155609,
        (0.2851087888551097, 0.0691557595705089, 1.9398271966868798e-14, 0.376456745842798),
    ),
    "a choice": (
        "2/3",
        "3/100",
        2400,
        True,
        0.01874986980264993,
        0.04178070911703448,
        (0.04310748640160816, 3.176942388520579e-08, 1.551861757349504e-12, 0.0015668111880818658),
    ),
    "a survey and a choice": (
        "2/3",
        "1/32",
        2700,
        True,
        0.01937486980264993,
        0.04303070911703448,
        (0.044232842602368365, 4.68650974612554e-08, 1.745844477018192e-12, 0.001771869650744441),
    ),
    "a choice of one": (
        "2/3",
        "1/9",
        14,
        True,
        0.11060235991881215,
        0.2849552390509232,
        (0.17272065080044266, 0.010141617545876563, 9.052526917872105e-15, 0.15130132847057745),
    ),
    "a forest": (
        "29/56",
        "0",
        0,
        True,
        0.038893978202601154,
        0.12248615684704259,
        (0.09949400438232921, 0.0, 0.0, 0.03227645259339901),
    ),
    "two forests": (
        "29/28",
        "0",
        0,
        True,
        0.07778795640520231,
        0.24497231369408518,
        (0.15724685947939307, 0.0034782549042698375, 0.0, 0.12339225802844969),
    ),
    "a forest with normal noise": (
        "2/3",
        "1/9",
        140,
        True,
        0.11060235991881215,
        0.2849552390509232,
        (0.17272065080044272, 0.010141617545876664, 9.052526917872106e-14, 0.15130132847057756),
    ),
    "all of a sample": (
        "2/3",
        "1/9",
        14,
        True,
        0.11060235991881215,
        0.2849552390509232,
        (0.17272065080044266, 0.010141617545876563, 9.052526917872105e-15, 0.15130132847057745),
    ),
    "a sample, pure": (
        "9785246691917961689371602605/19807040628566084398385987584",
        "0",
        0,
        True,
        0.11960932295211574,
        0.3800792977511463,
        (0.20549323606026912, 0.0, 0.0, 0.0),
    ),
    "a sample, ranged": (
        "3549869395232796509338891097/2475880078570760549798248448",
        "0",
        0,
        True,
        0.8817457602953178,
        3.0184406373023456,
        (0.5955605622633029, 0.4132215934709944, 0.0, 0.8681705847330901),
    ),
    "a sample of a forest": (
        "4038120219729108799758257009/19807040628566084398385987584",
        "0",
        0,
        True,
        0.020710409537308853,
        0.0651920676445587,
        (0.062386693687330796, 0.0, 0.0, 0.0),
    ),
    "many samples": (
        "49824031598056542744022026975/19807040628566084398385987584",
        "0",
        0,
        True,
        0.10539814177883171,
        0.3312287267254077,
        (0.18928277954314016, 0.010646728078018008, 0.0, 0.18262277900197207),
    ),
    "a sample of a sample": (
        "110601901937785071904635741/309485009821345068724781056",
        "0",
        0,
        True,
        0.06318702165062748,
        0.1997070072859008,
        (0.1380800490250101, 0.0, 0.0, 0.0),
    ),
    "a sample, large": (
        "600",
        "0",
        0,
        True,
        600.0000006,
        4800.0,
        (1.0000000000012002, 1.000000000001202, 1.000000000001216, 1.000000000004802),
    ),
    "a sample, normal noise": (
        "7682944530998956754140942507/19807040628566084398385987584",
        "0",
        0,
        False,
        0.07429990168855642,
        0.23507945412601272,
        (NONE, NONE, NONE, NONE),
    ),
    "samples and normal noise": (
        "4832572610868111674306161709/39614081257132168796771975168",
        "1/60",
        12,
        True,
        0.0157650557354608,
        0.04003062734152818,
        (0.04150988219806318, 1.4665279397766113e-13, 7.759308786747518e-15, 0.000183925417094374),
    ),
    "unprotected": ("3/2", "0", 0, False, 0.4932592500144249, 1.6158673594535977, (NONE, NONE, NONE, NONE)),
}


@pytest.mark.parametrize("name", EVENTS)
def test_a_plan_costs_what_it_cost(name):
    found = cost(EVENTS[name])
    epsilon, mu_squared, draws, protected, rho, total, deltas = FROZEN[name]
    assert found.protected == protected
    measured = [found.delta(Fraction(at)) for at in ("1/10", "1", "8")]
    measured.append(found.under("replace-one").delta(Fraction(1)))
    for now, before in zip(measured, deltas, strict=True):
        assert now == pytest.approx(
            before, rel=1e-9, abs=0
        )  # a search by floats, which another scipy may end elsewhere
    if protected:  # amounts of the other steps mean nothing
        assert (found.mu_squared, found.draws) == (Fraction(mu_squared), draws)
        assert found.epsilon == (
            pytest.approx(Fraction(epsilon), rel=1e-12, abs=0) if "sample" in name else Fraction(epsilon)
        )
        assert float(found.rho) == pytest.approx(rho, rel=1e-12, abs=0)
        assert float(found.total_mu_squared) == pytest.approx(total, rel=1e-12, abs=0)


def test_every_number_that_was_kept_is_of_a_plan():
    assert FROZEN.keys() == EVENTS.keys()
