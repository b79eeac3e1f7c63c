"""The numbers of a few dozen plans, as they were worked out by the code of 0.1.0: a bound may get tighter, never looser."""

from fractions import Fraction

import pytest

from hedgerow.privacy.accounting import (
    BoundedRange,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    SelectAndMeasure,
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
    "joint rounds": Sequence((SelectAndMeasure((ranged("1/40"), gaussian("1/2000", 60))),) * 40),
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
# By name: epsilon and squared mu of pure and of Gaussian steps, draws, whether protected, rho and squared mu of all steps; delta
# at epsilon 1/10, 1 and 8, and at 1 where one record is replaced.
FROZEN = """
nothing | 0 0 0 yes 0 0 | 0 0 0 0
no parts | 0 0 0 yes 0 0 | 0 0 0 0
pure, nothing | 0 0 0 yes 0 0 | 0 0 0 0
pure, tiny | 1/2000 0 0 yes 1.25e-07 3.926990817e-07 | 0 0 0 0
pure, small | 1/10 0 0 yes 0.004995837500784 0.01570234855715 | 0 0 0 0
pure, one | 1 0 0 yes 0.4621171577221 1.51791119226 | 0.4352397532 0 0 0.6577716592
pure, large | 40 0 0 yes 40.00000004 320 | 1 1 1 1
ranged, tiny | 1/1500 0 0 yes 5.555555555556e-08 1.745329252e-07 | 0 0 0 0
ranged, small | 1/10 0 0 yes 0.00124982642871 0.003926639734767 | 0 0 0 0
ranged, one | 1 0 0 yes 0.1233015616055 0.3892419668646 | 0.20840769923 0 0 0.22014849421
ranged, three | 3 0 0 yes 1.00750562087 3.284505481047 | 0.61673051579 0.44159192835 0 0.88779593616
ranged, large | 80 0 0 yes 74.61797343994 320 | 1 1 1 1
gaussian, small | 0 1/1000 3 yes 0.0005 0.001 | 7.0780159027e-06 2.4188215418e-18 1.9398271967e-15 2.4188215418e-18
gaussian, half | 0 1/2 4000 yes 0.25 0.5 | 0.24105353289 0.039632593005 2.5864362622e-12 0.28620821192
gaussian, exact draws |
    0 1/30 0 yes 0.01666666666667 0.03333333333333 | 0.035137553371 1.1143557383e-09 4.9406564584e-324 0.00055423765
draws alone | 0 0 1000000000 yes 0 0 | 4.5648617657e-10 8.0627384727e-10 6.4660906556e-07 8.0627384727e-10
pure and ranged | 2/3 0 0 yes 0.06891431257629 0.2174340841882 | 0.1458240196 0 0 0.10385598492
pure and gaussian |
    1/2 1/100 7 yes 0.1274593313243 0.3992419668646 | 0.21154684974 6.8565824616e-09 4.5262634589e-15 0.079655674554
ranged and gaussian |
    1/2 1/100 7 yes 0.0361420922923 0.1079561671937 | 0.091018299528 6.8565824616e-09 4.5262634589e-15 0.026794430805
many pure | 5 0 0 yes 0.2497918750392 0.7851174278576 | 0.3098149981 0.088084193271 0 0.42645235605
many ranged | 5 0 0 yes 0.06249132143548 0.1963319867384 | 0.13656716682 0.0012924571922 0 0.088195089863
many gaussian | 0 1/100 5000 yes 0.005 0.01 | 0.0087517681458 4.0313692365e-15 3.2330453278e-12 1.754633735e-08
rounds | 1 1/75 2400 yes 0.009791639543432 0.02315075552031 | 0.024516386345 9.7678598004e-14 1.5518617573e-12 6.6613911993e-05
joint rounds |
    1 1/50 2400 yes 0.01312497287677 0.02659375 | 0.02824960771 1.8057821678e-11 1.5518617573e-12 0.00016055141399
rounds after a survey |
    10/7 4/1575 256 yes 0.008497616074129 0.02524657207224 | 0.026807397226 1.911240799e-15 1.6553192078e-13 2.5323724644e-05
paths | 2/3 1/9 14 yes 0.1106023599188 0.2849552390509 | 0.1727206508 0.010141617546 9.0525269179e-15 0.15130132847
paths within paths |
    5/3 1/4 30 yes 0.2483015616055 0.6741972059156 | 0.28510878886 0.069155759571 1.9398271967e-14 0.37645674584
a choice |
    2/3 3/100 2400 yes 0.01874986980265 0.04178070911703 | 0.043107486402 3.1769423885e-08 1.5518617573e-12 0.0015668111881
a survey and a choice |
    2/3 1/32 2700 yes 0.01937486980265 0.04303070911703 | 0.044232842602 4.6865097461e-08 1.745844477e-12 0.0017718696507
a choice of one | 2/3 1/9 14 yes 0.1106023599188 0.2849552390509 | 0.1727206508 0.010141617546 9.0525269179e-15 0.15130132847
a forest | 29/56 0 0 yes 0.0388939782026 0.122486156847 | 0.099494004382 0 0 0.032276452593
two forests | 29/28 0 0 yes 0.0777879564052 0.2449723136941 | 0.15724685948 0.0034782549043 0 0.12339225803
a forest with normal noise |
    2/3 1/9 140 yes 0.1106023599188 0.2849552390509 | 0.1727206508 0.010141617546 9.0525269179e-14 0.15130132847
all of a sample | 2/3 1/9 14 yes 0.1106023599188 0.2849552390509 | 0.1727206508 0.010141617546 9.0525269179e-15 0.15130132847
a sample, pure | 0.49402870804463 0 0 yes 0.1196093229521 0.3800792977511 | 0.20549323606 0 0 0
a sample, ranged | 1.4337808304843 0 0 yes 0.8817457602953 3.018440637302 | 0.59556056226 0.41322159347 0 0.86817058473
a sample of a forest | 0.20387297100331 0 0 yes 0.02071040953731 0.06519206764456 | 0.062386693687 0 0 0
many samples | 2.515470762765 0 0 yes 0.1053981417788 0.3312287267254 | 0.18928277954 0.010646728078 0 0.182622779
a sample of a sample | 0.35737401950948 0 0 yes 0.06318702165063 0.1997070072859 | 0.13808004903 0 0 0
a sample, large | 600 0 0 yes 600.0000006 4800 | 1 1 1 1
a sample, normal noise | 0.38788957295915 0 0 no 0.07429990168856 0.235079454126 | inf inf inf inf
samples and normal noise |
    0.12199128333938 1/60 12 yes 0.01576505573546 0.04003062734153 | 0.0415098822 1.46652794e-13 7.759308787e-15 0.000183925417
unprotected | 3/2 0 0 no 0.4932592500144 1.615867359454 | inf inf inf inf
"""
FROZEN_COSTS = {row.split(" | ")[0]: row.split(" | ")[1:] for row in FROZEN.replace("|\n   ", "|").strip().splitlines()}


@pytest.mark.parametrize("name", EVENTS)
def test_a_plan_costs_what_it_cost(name):
    found = cost(EVENTS[name])
    epsilon, mu_squared, draws, protected, rho, total = FROZEN_COSTS[name][0].split()
    assert found.protected == (protected == "yes")
    measured = [found.delta(Fraction(at)) for at in ("1/10", "1", "8")]
    measured.append(found.under("replace-one").delta(Fraction(1)))
    for now, before in zip(measured, map(float, FROZEN_COSTS[name][1].split()), strict=True):
        # A search by floats, which another scipy may end elsewhere.
        assert float(now) == pytest.approx(before, rel=1e-9, abs=0)
    if found.protected:  # amounts of the other steps mean nothing
        assert (found.mu_squared, found.draws) == (Fraction(mu_squared), int(draws))
        assert found.epsilon == (
            pytest.approx(Fraction(epsilon), rel=1e-12, abs=0) if "sample" in name else Fraction(epsilon)
        )
        assert float(found.rho) == pytest.approx(float(rho), rel=1e-12, abs=0)
        assert float(found.total_mu_squared) == pytest.approx(float(total), rel=1e-12, abs=0)


def test_every_number_that_was_kept_is_of_a_plan():
    assert FROZEN_COSTS.keys() == EVENTS.keys()
