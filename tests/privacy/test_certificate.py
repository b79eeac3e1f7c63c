"""A certificate says yes only where the guarantee holds, and every reason where it does not."""

import json
import math
import warnings
from dataclasses import replace
from fractions import Fraction

import pytest

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, FileFormatError
from hedgerow.files import LARGEST_INTEGER, LONGEST_WORDS
from hedgerow.privacy.accounting import (
    BoundedRange,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Thresholded,
    Unprotected,
)
from hedgerow.privacy.certificate import Certificate, CertificateLine, certify, warn_of_claim
from hedgerow.privacy.claim import Claim, Start

SPLIT = Pure(Fraction(2, 5), "permute-and-flip, Gini score, range 2048", "test of a node", 1)
LEAF = Pure(Fraction(3, 5), "permute-and-flip, class counts, range 1", "leaf label", 2)
FOREST = PerRecordAssignment(Parallel((Sequence((SPLIT, LEAF)), Sequence((LEAF,))), "a record pays for one path"), 35)


def certificate(event=FOREST, epsilon=1, delta=0, adjacency="add-remove", seeded=False):
    return Certificate("EDPRFClassifier", "private", Fraction(epsilon), Fraction(delta), adjacency, event, seeded)


def test_a_plan_within_its_claim_holds():
    assert certificate().holds
    assert certificate().reasons == ()
    assert certificate().spent == 1


def test_a_claim_below_the_cost_does_not_hold():
    low = certificate(epsilon=Fraction(999_999_999, 10**9))
    assert not low.holds
    assert low.reasons == ("the steps cost more than the claim",)


def test_one_record_replaced_costs_twice():
    assert not certificate(adjacency="replace-one").holds
    twice = certificate(epsilon=2, adjacency="replace-one")
    assert twice.holds
    assert twice.spent == 2


def test_a_seed_is_a_reason():
    seeded = certificate(seeded=True)
    assert not seeded.holds
    assert len(seeded.reasons) == 1
    assert "random_state" in seeded.reasons[0]


def test_every_unprotected_step_is_a_reason():
    event = Sequence((FOREST, Unprotected("the schema was inferred"), Unprotected("bins are read off the records")))
    open_ = certificate(event, seeded=True)
    assert not open_.holds
    assert open_.spent is None
    assert open_.reasons[:2] == ("the schema was inferred", "bins are read off the records")
    assert len(open_.reasons) == 3


def test_a_gaussian_needs_its_delta():
    noise = Gaussian(Fraction(7, 100), 1000, "sums", 1)  # mu**2 = .0718 is (1, 1e-5)-DP
    assert certificate(noise, delta=Fraction(1, 10**5)).holds
    assert not certificate(noise, delta=Fraction(1, 10**6)).holds
    assert not certificate(noise).holds
    assert not certificate(Gaussian(Fraction(8, 100), 1000, "sums"), delta=Fraction(1, 10**5)).holds
    # So many draws of an approximate sampler that their booked error alone exceeds delta.
    assert not certificate(Gaussian(Fraction(7, 1000), 10**14, "sums"), delta=Fraction(1, 10**5)).holds


def test_a_gaussian_of_one_record_replaced_has_twice_the_mu():
    noise = Gaussian(Fraction(7, 100), 1000, "sums", 1)
    assert not certificate(noise, delta=Fraction(1, 10**5), adjacency="replace-one").holds
    quarter = Gaussian(Fraction(7, 400), 1000, "sums", 1)
    assert certificate(quarter, delta=Fraction(1, 10**5), adjacency="replace-one").holds


def test_lines_name_each_kind_of_step_once_by_level():
    event = Sequence((LEAF, FOREST, Unprotected("x"), Gaussian(Fraction(1, 3), 5, "sums", 3)))
    assert certificate(event).lines == (
        CertificateLine(1, "test of a node", SPLIT.mechanism, "epsilon 0.4"),
        CertificateLine(2, "leaf label", LEAF.mechanism, "epsilon 0.6"),
        CertificateLine(3, "sums", "rounded normal noise", "mu^2 0.3333..."),
    )
    third = Thresholded(Fraction(1, 3), "threshold", "values", delta=Fraction(1, 3 * 10**6))
    assert certificate(third).lines == (
        CertificateLine(0, "values", "threshold", "epsilon 0.3333..., delta 3.333e-7..."),
    )


def test_the_page_says_how_often_each_line_is_paid():
    bins = Pure(Fraction(1, 10), "two-sided geometric noise, sensitivity 1", "bins")
    chosen = Pure(Fraction(1, 10), "permute-and-flip, range 2", "candidate")
    cells = Pure(Fraction(1, 10), "two-sided geometric noise, sensitivity 1", "cells")
    page = certificate(Sequence((Sequence((bins,) * 4), *(Sequence((chosen, cells)),) * 3))).details()
    assert "  4 times on the same records, each time at the cost below: bins\n" in page
    assert "  3 times on the same records, each time at the cost below: candidate; cells\n" in page
    assert (
        "  2 times on the same records, each time at the cost below: bins\n"
        in certificate(Sequence((bins, bins))).details()
    )
    assert "times" not in certificate(Sequence((bins, chosen))).details()


def test_the_page_says_what_a_privacy_officer_needs():
    page = certificate().details()
    words = " ".join(page.split())
    for fact in (
        "EDPRFClassifier (private)",
        "epsilon = 1, delta = 0, for one record added or removed",
        "holds yes",
        "spent epsilon 1 on the costliest path; 0 unspent",
        "35 trees; every record is in one of them",
        "a record pays for one path",
        "level 1 test of a node epsilon 0.4 permute-and-flip, Gini score, range 2048",
        "level 2 leaf label epsilon 0.6 permute-and-flip, class counts, range 1",
        "the schema (ranges, categories, classes) being public knowledge",
        "ChaCha20 under a fresh 256-bit key from the operating system",
        "the types of X, its columns and y being public: where a reader inferred one, a single cell can change it",
        "outside the guarantee: running time, memory use",
    ):
        assert fact in words, page
    assert "replaced" not in page
    assert max(map(len, page.splitlines())) <= 120


@pytest.mark.parametrize(
    ("epsilon", "factor"), [("1", "2.72"), ("1e-9", "1.01"), ("0.1", "1.11"), ("10", "22100"), ("700", "1.02e304")]
)
def test_the_factor_that_the_page_states_is_no_less_than_it_is(epsilon, factor):
    page = certificate(Pure(Fraction(epsilon), "m", "p"), epsilon=Fraction(epsilon)).details()
    assert f"by a factor of at most {factor}\n" in page


def test_a_delta_below_1_never_reads_as_1():
    delta = Fraction(999_999, 10**6)
    page = certificate(Gaussian(Fraction(80), 1, "sums"), delta=delta).details()
    assert "delta = 0.999999," in page
    assert "(but for a probability of 0.999999)" in page
    assert "spent      delta 0.999" in page


def test_the_page_of_one_record_replaced():
    page = certificate(epsilon=2, adjacency="replace-one").details()
    assert "for one record replaced by another" in page
    assert "the number of records being public" in page


def test_the_page_without_a_guarantee():
    page = certificate(Sequence((FOREST, Unprotected("bins are read off the records"))), seeded=True).details()
    assert "holds      NO" in page
    assert "- bins are read off the records" in page
    assert "- the noise came from random_state" in page
    assert "no finite amount" in page
    assert "holds      yes" not in page
    assert "rests on" not in page


def test_the_page_shows_what_rounding_lost():
    spent = Pure(Fraction(1) - Fraction(1, 2**40), "m", "p")
    assert "9e-13... unspent (lost to rounding down)" in certificate(spent).details()
    assert "0.5 unspent" in certificate(Pure(Fraction(1, 2), "m", "p")).details()


@pytest.mark.parametrize(
    "event", [FOREST, Gaussian(Fraction(1, 7), 3, "sums"), Unprotected("why"), Sequence((FOREST, Unprotected("why")))]
)
@pytest.mark.parametrize("seeded", [False, True])
def test_a_certificate_survives_json(event, seeded):
    before = certificate(event, Fraction(1, 3), Fraction(1, 10**6), "replace-one", seeded)
    after = Certificate.from_dict(json.loads(json.dumps(before.to_dict())))
    assert after == before
    assert after.details() == before.details()
    assert after.reasons == before.reasons


GOOD = certificate().to_dict()


@pytest.mark.parametrize("key", GOOD)
def test_a_certificate_with_a_field_missing_is_refused(key):
    with pytest.raises(FileFormatError):
        Certificate.from_dict({name: value for name, value in GOOD.items() if name != key})


@pytest.mark.parametrize(
    "damage",
    [
        {"epsilon": "much"},
        {"epsilon": None},
        {"epsilon": "1/0"},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"delta": "x"},
        {"delta": math.inf},
        {"seeded": None},
        {"seeded": ""},
        {"adjacency": "bounded"},
        {"adjacency": None},
        {"event": {}},
        {"event": None},
    ],
)
def test_a_damaged_certificate_is_refused(damage):
    with pytest.raises(FileFormatError):
        Certificate.from_dict(GOOD | damage)


@pytest.mark.parametrize("data", [None, [], "x", 3])
def test_what_is_no_certificate_is_refused(data):
    with pytest.raises(FileFormatError):
        Certificate.from_dict(data)


def test_with_a_delta_the_certificate_says_how_the_steps_add_up():
    event = Sequence((BoundedRange(Fraction(1, 20), "m", "p"), Gaussian(Fraction(1, 1000), 10, "p")) * 20)
    made = Certificate("S", "private", Fraction(1), Fraction(1, 10**6), "add-remove", event)
    assert made.holds
    assert "spent      delta " in str(made)
    assert "zero-concentrated DP" in made.details()
    assert made.spent == 1  # the sum of the pure steps alone, which is not what is claimed


@pytest.mark.parametrize(
    "part", [("epsilon", -1), ("delta", -1), ("delta", 1), ("seeded", 1), ("records_per_person", 0)]
)
def test_what_no_certificate_can_claim(part):
    fields = {"epsilon": Fraction(0), "delta": Fraction(0), "adjacency": "add-remove", "event": Sequence(())}
    assert Certificate("S", "private", **fields).holds
    with pytest.raises(ValueError, match="from 0 up, and a delta from 0 to below 1"):
        Certificate("S", "private", **{**fields, part[0]: part[1]})


def paged(event, epsilon, delta=0):
    return " ".join(certificate(event, Fraction(epsilon), Fraction(delta)).details().split())


def test_the_page_says_what_a_claim_is_worth():
    for epsilon, weak, endless in (
        ("9.99", False, False),
        ("10", True, False),
        ("700", True, False),
        ("701", True, True),
    ):
        page = paged(Pure(Fraction(epsilon), "m", "p"), epsilon)
        assert ("hardly any protection" in page) == weak
        assert ("a factor of more than 1e300" in page) == endless
    assert "by a factor of at most 1 " in paged(Sequence(()), 0)
    for delta, weak in (("1/1000", True), (Fraction(1, 1000) - Fraction(1, 10**12), False)):
        assert ("may give whole records away" in paged(FOREST, 1, delta)) == weak
    assert "whoever sees the schema can" in str(
        certify("private_schema", FOREST, None, variant="p", claim=ONE, seeded=False)
    )


def test_the_page_says_what_is_left_and_why():
    assert "unspent" not in paged(Gaussian(Fraction(1, 100), 1, "p"), 1, "1/100000")
    assert "0 unspent; no noise of a plan with delta" in paged(FOREST, 1, "1/100000")
    assert "no noise" not in paged(FOREST, 1)
    assert "spent epsilon 0.666666... on the costliest path; 0.33... unspent" in paged(
        Pure(Fraction(2, 3), "m", "p"), 1
    )
    for lost, said in (("1e-7", True), ("1e-5", False), (1e-6, False), ("0", False)):
        assert ("(lost to rounding down)" in paged(FOREST, 1 + Fraction(lost))) == said
    shown = Thresholded(Fraction(1), "threshold", "values", delta=Fraction(1, 10**7))
    page = paged(shown, 1, "1/1000000")
    assert "spent epsilon 1 on the costliest path, delta 1e-7 by thresholds" in page
    assert "values epsilon 1, delta 1e-7 threshold" in page
    assert "zero-concentrated" in paged(Sequence((shown, Gaussian(Fraction(1, 10**4), 1, "p"))), 2, "1/1000")


def test_the_page_says_which_records_pay_for_what():
    assert "2 trees; every record is in one of them" in paged(PerRecordAssignment(LEAF, 2), 1)
    assert "trees" not in paged(PerRecordAssignment(LEAF, 1), 1)
    assert "2 trees" in paged(Parallel((SPLIT, PerRecordAssignment(LEAF, 2)), "one of both"), 1)
    sample = paged(Subsampled(FOREST, Fraction(1, 4)), 1)
    assert "in a tree's sample with probability 0.25" in sample
    assert "35 trees" in sample
    choice = certificate(OneOf((PerRecordAssignment(LEAF, 2), SPLIT), "the best is fitted"))
    assert "the best is fitted; each of the 2 alternatives costs at most" in choice.details()
    assert "2 trees" in choice.details()
    assert [line.purpose for line in choice.lines] == ["leaf label"]


def test_a_file_holds_as_much_of_a_certificate_as_its_limits_and_no_more():
    words = "w" * LONGEST_WORDS
    most = {"system": words, "variant": words, "person": words, "records_per_person": LARGEST_INTEGER - 1}
    for name, value in most.items():
        found = Certificate.from_dict({**GOOD, name: value})
        assert getattr(found, name) == value
        with pytest.raises(FileFormatError):
            Certificate.from_dict({**GOOD, name: value + ("w" if name != "records_per_person" else 1)})
    found = Certificate.from_dict({**GOOD, "releases": [words] * 1001, "assumptions": ["one", words]})
    assert (len(found.releases), found.assumptions) == (1000, ("one", words))
    for wrong in ([words + "w"], [3], 3):
        with pytest.raises(FileFormatError):
            Certificate.from_dict({**GOOD, "releases": wrong})
    assert Certificate.from_dict(found.to_dict()) == found


def test_a_digest_is_of_all_that_a_certificate_says():
    made = [certificate(**part) for part in ({}, {"seeded": True}, {"delta": "0.1"}, {"epsilon": 2}, {"event": LEAF})]
    assert len({one.digest for one in made}) == 5
    assert certificate().digest == certificate().digest
    assert len(certificate().digest) == 64


def test_a_digest_stays_what_it_was():
    """Schemas and certificates of other fits name it, also those that earlier versions wrote."""
    assert certificate(LEAF).digest == "7b8c7a9c51e2c21e46fe738cb5b5ba0349276882d1d2db5fed876a9e27a9a0aa"


def test_the_page_says_what_it_rests_on():
    own = " ".join(replace(certificate(), releases=("0123456789abcdef" * 4, "f" * 64)).details().split())
    for fact in (
        "the schema (ranges, categories, classes) being public knowledge",
        "but for the entries that certificate 0123456789abcdef released: its cost stands there",
        "but for the entries that certificate ffffffffffffffff released: its cost stands there",
        "X and y as given to fit",
    ):
        assert fact in own
    other = " ".join(replace(certificate(), assumptions=("the model being public",)).details().split())
    assert "rests on - the model being public - random bits" in other
    for fact in ("the schema (", "but for the entries", "X and y as given"):
        assert fact not in other


START = Start("a HedgerowClassifier of certificate 0123456789abcdef", Claim(Fraction(1)))


def test_the_summary_says_all_that_it_rests_on_for_one_person():
    """A privacy officer decides by this line, so no end of it is cut off."""
    one = replace(certificate(), person="number of the patient", records_per_person=2, starts=(START,))
    text = " ".join(str(one).split())
    assert "the model that it starts from; random bits" in text
    assert "column 'number of the patient' telling persons apart more" in text
    assert max(map(len, str(one).splitlines())) <= 160
    evaluated = " ".join(str(replace(one, starts=(), assumptions=("the model being public: why", "X: b"))).split())
    assert "rests on the model being public; X; random bits of the operating system; column 'number of" in evaluated
    assert "..." not in evaluated.partition("rests on")[2]
    assert "more certificate.details(), or hedgerow inspect MODEL --details: every step" in text
    assert "more certificate.details(): every step" in evaluated  # a model's file has the certificate of its fit only
    assert "promise epsilon = 1, delta = 0, for one person" in " ".join(one.details().split())


# certificates of plans that are about to run

ONE = Claim(Fraction(1))
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1)}, classes=[0, 1])


def test_a_plan_above_its_claim_never_runs():
    with pytest.raises(BudgetExceeded, match="othing was drawn"):
        certify("S", Pure(Fraction(2), "m", "p"), SCHEMA, variant="private", claim=ONE, seeded=False)
    made = certify("S", Pure(Fraction(1), "m", "p"), SCHEMA, variant="private", claim=ONE, seeded=False)
    assert made.holds
    assert made == Certificate("S", "private", Fraction(1), Fraction(0), "add-remove", made.event)
    half = Claim(Fraction(1), Fraction(0), "replace-one", 3)
    made = certify("S", Pure(half.pure, "m", "p"), SCHEMA, variant="private", claim=half, seeded=True, person="id")
    assert (made.claim, made.person, made.seeded, made.covers_its_steps) == (half, "id", True, True)
    with pytest.raises(BudgetExceeded):
        certify("S", Pure(half.pure * 2, "m", "p"), SCHEMA, variant="private", claim=half, seeded=False)


def test_a_schema_that_was_read_off_the_records_is_a_reason():
    with pytest.warns(hr.PrivacyLeakWarning):
        inferred = hr.Schema.infer({"a": [0.0, 1.0]}, [0, 1])
    made = certify("S", Pure(Fraction(1), "m", "p"), inferred, variant="private", claim=ONE, seeded=False)
    assert not made.holds
    assert "read off the data" in made.unprotected[0]
    assert made.spent is None


def test_a_warning_of_delta_points_at_the_call():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_of_claim(1, Fraction(999, 10**6))
        warn_of_claim(1, Fraction(1, 1000))
    assert [one.filename for one in told] == [__file__]


def test_one_entry_that_was_read_off_the_records_voids_the_certificate():
    """However many others are given, and wherever it stands: a feature, or the classes alone."""
    given = {"a": hr.Numeric(0, 1), "b": hr.Categorical(["x", "y"])}
    with pytest.warns(hr.PrivacyLeakWarning):
        read = hr.Schema.infer({"a": [0.0, 1.0], "b": ["x", "y"]}, ["no", "yes"])
    whole = hr.Schema(given, classes=["no", "yes"])
    step = Pure(Fraction(1), "m", "p")
    assert certify("S", step, whole, variant="private", claim=ONE, seeded=False).holds
    for name in given:
        part = read.replace({other: entry for other, entry in given.items() if other != name}, classes=["no", "yes"])
        certificate = certify("S", step, part, variant="private", claim=ONE, seeded=False)
        assert not certificate.holds
        assert certificate.unprotected == (f"the schema was read off the data ({name})",)
    certificate = certify("S", step, read.replace(given), variant="private", claim=ONE, seeded=False)
    assert not certificate.holds
    assert len(certificate.unprotected) == 1
