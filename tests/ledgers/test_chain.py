"""A chain that somebody wrote anew, with all hashes right, is found where its sums do not follow from its certificates."""

import copy
from dataclasses import replace
from fractions import Fraction

import pytest
from ledger_helpers import fit

import hedgerow as hr
from hedgerow.errors import LedgerDamaged
from hedgerow.ledgers import chain
from hedgerow.ledgers.ceiling import Amount
from hedgerow.ledgers.chain import BEGINNING, ChainLink, StoredChain, compare, entries_of, verify

STORE = "s" * 32


def linked(said):
    links, previous = [], BEGINNING
    for number, values in enumerate(said):
        links.append(ChainLink.after(STORE, "a", number, previous, values))
        previous = links[-1].hash
    return links


def checked(said):
    links = linked(said)
    return verify(StoredChain(STORE, "a", None, (len(links) - 1, links[-1].hash), links))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What a store's ledger says: created, 1/2 and its end, a raise, 1/4, closed."""
    made = hr.LedgerStore(tmp_path_factory.mktemp("store") / "b.db")
    ledger = made.create("a", epsilon=1)
    with ledger.reserve(fit("0.5")):
        pass
    made.raise_ceiling("a", epsilon=2, reason="more")
    ledger.reserve(fit("0.25"))
    made.close_ledger("a", reason="done")
    return ledger.history


@pytest.fixture
def said(written):
    return list(copy.deepcopy(written))


def test_a_ledger_that_was_written_is_sound(said):
    assert [values["kind"] for values in said] == ["created", "reserved", "finished", "raised", "reserved", "closed"]
    assert checked(said) == said
    assert linked(said)[0].previous == "0" * 64  # stores hold it


def change(*path, to):
    def forge(said):
        *way, last = path
        for step in way:
            said = said[step]
        said[last] = to

    return forge


def charge_less(said):
    said[1]["charge"]["epsilon"] = said[1]["after"]["spent"]["epsilon"] = said[2]["after"]["spent"]["epsilon"] = "1/4"


def sum_above_the_ceiling(said):
    del said[3:]
    said[1]["charge"]["epsilon"] = said[1]["after"]["spent"]["epsilon"] = said[2]["after"]["spent"]["epsilon"] = "3/2"


def book_behind_the_end(said):
    said.append(copy.deepcopy(said[4]) | {"reservation": "other"})
    said[6]["after"]["spent"] |= {"epsilon": "1", "fits": 3}
    said[6]["after"]["closed"] = True


def raise_to_less(said):
    del said[4:]
    said[3]["after"]["ceiling"]["epsilon"] = "3/4"


FORGED = {
    "spent less": (4, change(4, "after", "spent", "epsilon", to="1/2")),
    "spent nothing": (1, change(1, "after", "spent", to=Amount().to_dict())),
    "a fit that is not counted": (4, change(4, "after", "spent", "fits", to=1)),
    "charged less than its certificate": (1, charge_less),
    "above the ceiling": (1, sum_above_the_ceiling),
    "another ceiling": (1, change(1, "after", "ceiling", "epsilon", to="5")),
    "a raise to less": (3, raise_to_less),
    "open again": (5, change(5, "after", "closed", to=False)),
    "booked behind the end": (6, book_behind_the_end),
    "another label": (1, change(1, "label", to="Other")),
    "another unit": (1, change(1, "records_per_person", to=2)),
    "a reservation twice": (4, lambda said: said[4].update(reservation=said[1]["reservation"])),
    "an end of nothing": (2, change(2, "reservation", to="none")),
    "another parent": (4, change(4, "parent", to="whole")),
    "no beginning": (0, change(0, "kind", to="raised")),
    "two beginnings": (2, change(2, "kind", to="created")),
    "spent before it was created": (0, change(0, "after", "spent", "epsilon", to="1/8")),
    "closed before it was created": (0, change(0, "after", "closed", to=True)),
    "an unknown kind": (2, change(2, "kind", to="given back")),
    "no charge": (1, lambda said: said[1].pop("charge")),
    "a charge that is none": (1, change(1, "charge", to=3)),
    "no certificate": (1, change(1, "certificate", to={})),
    "an adjacency that is none": (0, change(0, "after", "ceiling", "adjacency", to="bounded")),
    "a sum that is none": (1, change(1, "after", "spent", "epsilon", to="x")),
}


@pytest.mark.parametrize(("first", "forge"), FORGED.values(), ids=FORGED.keys())
def test_a_forged_chain_is_found_at_its_first_wrong_link(said, first, forge):
    forge(said)
    with pytest.raises(LedgerDamaged, match=rf"at link {first}: its sums do not follow"):
        checked(said)


def test_a_charge_above_its_certificate_is_sound(said):
    """An accountant of before may have known less."""
    del said[3:]
    for values, sums in ((said[1], ("charge", "after")), (said[2], ("after",))):
        for name in sums:
            (values[name]["spent"] if name == "after" else values[name])["epsilon"] = "3/4"
    assert checked(said) == said


@pytest.mark.parametrize(
    "break_it",
    [
        lambda links: links[2:3] + links[1:2],
        lambda links: [links[0], links[2]],
        lambda links: [ChainLink("a", 0, BEGINNING, "0" * 64, links[0].body)],
        lambda links: [ChainLink.after(STORE, "b", 0, BEGINNING, {"kind": "created"})],
        lambda links: [ChainLink.after("t" * 32, "a", 0, BEGINNING, {"kind": "created"})],
        lambda links: [ChainLink.after(STORE, "a", 0, "1" * 64, {"kind": "created"})],
        lambda links: [ChainLink.after(STORE, "a", 1, BEGINNING, {"kind": "created"})],
    ],
)
def test_a_link_is_bound_to_its_store_its_ledger_its_place_and_the_link_before(said, break_it):
    links = break_it(linked(said))
    wrong = [replace(link, ledger="a") for link in links]
    with pytest.raises(LedgerDamaged, match="its hash is not that"):
        verify(StoredChain(STORE, "a", None, (len(links) - 1, links[-1].hash), wrong))


@pytest.mark.parametrize(("head", "first"), [((4, None), 4), ((6, None), 6), ((5, "0" * 64), 5)])
def test_a_chain_ends_where_its_ledger_says(said, head, first):
    links = linked(said)
    with pytest.raises(LedgerDamaged, match=rf"damaged at link {first}: the chain ends at link 5"):
        verify(StoredChain(STORE, "a", None, (head[0], head[1] or links[-1].hash), links))


def test_the_first_end_of_a_fit_counts(said):
    again = [*said[:3], said[2] | {"kind": "failed"}, *said[4:]]
    assert [entry.state for entry in entries_of(again)] == ["finished", "unfinished"]
    first, second = entries_of(said)
    assert (first.label, first.epsilon, first.certificate, first.through) == (
        "Forest",
        Fraction(1, 2),
        fit("0.5"),
        None,
    )
    assert (second.epsilon, second.delta, second.rho, second.draws) == (Fraction(1, 4), 0, 0, 0)
    assert (first.who, first.process, first.time.isoformat()) == (said[1]["who"], said[1]["process"], said[1]["time"])


# a ledger and its share


def booked(name, through=None, plan="plan"):
    return {"kind": "reserved", "reservation": name, "certificate": plan, "through": through}


CREATED = {"kind": "created"}
PARENTS = {"whole": None, "part": "whole", "low": "part", "other": "whole"}


def test_a_share_and_its_parent_have_booked_the_same():
    whole = [CREATED, booked("1", "part"), booked("2"), booked("3", "low"), booked("4", "other"), {"kind": "closed"}]
    part = [CREATED, booked("1"), booked("3", "low")]
    compare(("whole", whole), ("part", part), PARENTS)
    compare(("whole", whole), ("other", [CREATED, booked("4")]), PARENTS)


@pytest.mark.parametrize(
    ("whole", "part", "found"),
    [
        ([CREATED], [CREATED, booked("1")], "'part' is damaged at link 1: ledger 'whole'"),
        ([CREATED, booked("1")], [CREATED, booked("1")], "'part' is damaged at link 1: ledger 'whole'"),
        ([CREATED, booked("1", "other")], [CREATED, booked("1")], "'part' is damaged at link 1: ledger 'whole'"),
        ([CREATED, booked("1", "part")], [CREATED], "'whole' is damaged at link 1: ledger 'part'"),
        ([CREATED, booked("1", "low")], [CREATED], "'whole' is damaged at link 1: ledger 'part'"),
        ([CREATED, booked("1", "part", "more")], [CREATED, booked("1")], "'part' is damaged at link 1: ledger 'whole'"),
    ],
)
def test_what_one_of_them_has_alone_is_found(whole, part, found):
    with pytest.raises(LedgerDamaged, match=found):
        compare(("whole", whole), ("part", part), PARENTS)


def test_ledgers_that_are_shares_of_each_other_end_no_search():
    compare(("whole", [booked("1", "x")]), ("part", []), {"x": "y", "y": "x", "whole": None, "part": "whole"})


def test_what_is_written_is_the_same_text_everywhere():
    link = ChainLink.after(STORE, "a", 0, BEGINNING, {"b": [1, "é"], "a": None})
    assert link.body == '{"a":null,"b":[1,"\\u00e9"]}'
    with pytest.raises(ValueError, match="JSON"):
        ChainLink.after(STORE, "a", 0, BEGINNING, {"b": float("nan")})
    assert chain.ENDS == ("finished", "failed")
