"""The card answers whether a model may leave, and says who signed it; ``inspect`` and ``audit`` check signatures too."""

import html
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import federated
from hedgerow.cli.decision import Decision

serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")


@pytest.fixture
def key(folder):
    made = ed25519.Ed25519PrivateKey.generate()
    private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    public = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    Path("key.pem").write_bytes(made.private_bytes(*private))
    Path("key.pub").write_bytes(made.public_key().public_bytes(*public))
    other = ed25519.Ed25519PrivateKey.generate()
    Path("other.pub").write_bytes(other.public_key().public_bytes(*public))


def answers(run, *options):
    """Return the first table of a model's card as a mapping."""
    result = run("card", "m.hedgerow", "--out", "card.html", "--force", *options)
    assert result.exit_code == 0, result.output
    page = Path("card.html").read_text("utf-8")
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td></tr>", page.partition("</table>")[0])
    return dict(rows)


def alter(*_):
    with zipfile.ZipFile("m.hedgerow") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["model.json"] = members["model.json"].replace(b'"n_estimators": 2', b'"n_estimators": 3')
    with zipfile.ZipFile("m.hedgerow", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("options", "change", "words"),
    [
        ((), None, None),
        (("--param", "random_state=0"), None, "NO: .*seed"),
        ((), alter, "NO: .*"),
    ],
)
def test_the_card_alone_answers_whether_a_model_may_leave(train, run, options, change, words):
    settings = ("--system", "edprf", "--param", "n_estimators=2", *options, "--force")
    assert train(*settings).exit_code == 0
    if change is not None:
        change()
    found = answers(run, "--purpose", "wards <A>", "--author", "M. Example")
    may = found["May this model leave?"]
    assert may.startswith("Nothing in the file speaks against it") if words is None else re.search(words, may), may
    promised = found["What was promised, and for whom"]
    assert ("NOT KEPT" in promised) == ("random_state=0" in options)
    assert ("NOT TO BE RELIED ON" in promised) == (change is not None)
    assert ("What that means" in found) == (words is None)
    assert ("No guarantee holds" in Path("card.html").read_text("utf-8")) == (words is not None)
    assert "for one record added or removed" in found["What was promised, and for whom"]
    assert found["Purpose"] == "wards &lt;A&gt;"
    assert found["Who answers for this page"] == "M. Example"
    assert found["Accuracy"].startswith("NOT known")
    assert found["Signature of the model file"] == "not signed"
    assert "the owner gave no reason" in found["It rests on these being public"]
    entry = json.loads(run("card", "m.hedgerow", "--json", "--purpose", "wards").stdout)
    assert entry["purpose"] == "wards"
    assert bool(entry["refusals"]) == (words is not None) != entry["holds"]
    assert (entry["epsilon"], entry["delta"]) == ("1", "0")
    assert entry["unit"]["adjacency"] == "add-remove"
    assert {"product", "trust_model", "accounting", "implementation", "model_sha256", "schema_sha256"} <= entry.keys()
    page = Path("card.html").read_text("utf-8")
    assert entry["model_sha256"] in page
    assert all(html.escape(refusal) in page for refusal in entry["refusals"])
    assert may.count("; ") <= 3


def test_entries_that_were_read_off_the_records_are_not_called_public(folder, run):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 90, 400), "kind": rng.choice(["a", "b"], 400)})
    with pytest.warns(hr.PrivacyLeakWarning):
        schema = hr.Schema.infer(X, X["kind"]).confirm("kind")
    hr.EDPRFClassifier(epsilon=1, schema=schema, n_estimators=2).fit(X, X["kind"]).save("m.hedgerow")
    found = answers(run)
    assert found["May this model leave?"].startswith("NO: ")
    assert found["These are NOT public"] == "&#x27;age&#x27;, &#x27;classes&#x27;: read off the records of the fit"
    assert found["It rests on these being public"] == "&#x27;kind&#x27;: the owner gave no reason"


@pytest.mark.parametrize(
    ("options", "spent"),
    [
        (("--system", "edprf"), r"epsilon 1 on the costliest path.*pure"),
        (("--system", "hedgerow", "--delta", "1e-5"), r"delta .* at epsilon 1, rounded up. Accounting: Gaussian"),
        (
            ("--system", "hedgerow", "--delta", "1e-5", "--records-per-person", "2"),
            r"delta .* at epsilon 1, .*Gaussian",
        ),
    ],
)
def test_the_table_and_the_certificate_state_the_same_facts(train, run, options, spent):
    """A budget with a delta is spent in steps whose epsilons add up to more than the promise: no sum of these is shown."""
    rows = Path("people.csv").read_text("utf-8").splitlines()
    Path("people.csv").write_text("\n".join([rows[0], *rows[1:] * 50]), "utf-8")
    trained = train(*options, "--force")
    assert trained.exit_code == 0, trained.output
    found = answers(run)
    assert re.match(spent, found["Spent by this fit"]), found["Spent by this fit"]
    assert "by a factor of at most 2.72" in found["What that means"]
    assert ("no column identifies persons" in found.get("What its owner promised", "")) == (len(options) == 6)
    assert found["Who answers for this page"] == "not stated"


def test_a_start_from_inferred_records_is_refused_on_the_card(train, run):
    schema = Path("people.toml").read_text("utf-8")
    rows = Path("people.csv").read_text("utf-8").splitlines()
    Path("people.csv").write_text("\n".join([rows[0], *rows[1:] * 50]), "utf-8")
    first = re.sub(r"(?m)^(values = .*)$", r'\1\norigin = "inferred"', schema)
    Path("inferred.toml").write_text(first, "utf-8")
    begun = run(
        "train", "people.csv", "--schema", "inferred.toml", "--epsilon", "1", "--allow-inferred", "--out", "a.hedgerow"
    )
    assert begun.exit_code == 0, begun.output
    assert train("--system", "hedgerow", "--init", "a.hedgerow", "--force").exit_code == 0
    found = answers(run)
    assert re.search("NO: .*start.*read off", found["May this model leave?"]), found["May this model leave?"]
    assert "It rests on a start" in found


def test_signatures_on_the_command_line(train, run, is_refused, key):
    assert train("--system", "edprf", "--sign", "key.pem", "--force").exit_code == 0
    table = [((), 0, "unchanged since"), (("--key", "key.pub"), 0, "the key that was passed")]
    table += [(("--key", "other.pub"), 4, "ANOTHER key")]
    for options, code, words in table:
        inspected, audited = run("inspect", "m.hedgerow", *options), run("audit", "m.hedgerow", *options)
        assert (inspected.exit_code, audited.exit_code) == (code, code), inspected.output
        assert words in inspected.stdout
        assert words in audited.stdout
        assert words in answers(run, *options)["Signature of the model file"]
        assert json.loads(run("inspect", "m.hedgerow", "--json", *options).stdout)["signature"]["refuted"] == (
            code == 4
        )
    assert "ANOTHER key" in answers(run, "--key", "other.pub")["May this model leave?"]
    assert train("--system", "edprf", "--force").exit_code == 0
    assert run("inspect", "m.hedgerow").exit_code == 0
    assert run("inspect", "m.hedgerow", "--key", "key.pub").exit_code == 4
    is_refused(train("--system", "edprf", "--sign", "key.pub", "--force"), 2, "no private key", "openssl genpkey")
    is_refused(run("audit", "--system", "edprf", "--key", "key.pub"), 2, "pass MODEL")
    is_refused(run("card", "m.hedgerow"), 2, "--out FILE is missing")
    assert run("audit", "m.hedgerow", "--page", "a.html").exit_code == 0
    assert "<td>protected</td>" in Path("a.html").read_text("utf-8")


def test_the_registry_is_told_of_several_owners(train, run):
    assert train("--system", "edprf", "--force").exit_code == 0
    assert json.loads(run("card", "m.hedgerow", "--json").stdout)["trust_model"].startswith("central")
    schema, parties = hr.Schema({"age": hr.Numeric(0, 100)}, classes=["no", "yes"]), []
    owners = {}
    for name in ("north", "south"):
        parties.append(federated.Party(name, federated.Identity(name).public, rows=10_000))
        ages = np.random.default_rng(len(name)).uniform(0, 100, 3000)
        frame = {"age": ages, "ill": np.where(ages > 60, "yes", "no")}
        owners[name] = hr.Records.from_batches(lambda frame=frame: [frame], label="ill")
    answering = {
        name: federated.Owner(records, name, name, parties, hr.Ledger(epsilon=2.0)) for name, records in owners.items()
    }
    records = federated.records(federated.InProcess(answering), parties)
    hr.EDPRFClassifier(epsilon=1.0, schema=schema).fit(records).save("f.hedgerow")
    trust = json.loads(run("card", "f.hedgerow", "--json").stdout)["trust_model"]
    assert trust.startswith("several owners; it rests on a coordinator that follows the protocol")


SPENT = {
    "pure": ({}, "on the costliest path", "pure differential privacy"),
    "delta": ({"delta": 1e-6}, "delta 1e-6 at epsilon 1, rounded up", "Gaussian and zero-concentrated"),
    "shares": ({"delta": 1e-6, "noise_shares": 2}, "delta 1e-6 at epsilon 1, rounded up", ": zero-concentrated"),
}


@pytest.mark.parametrize("kind", SPENT)
def test_the_card_says_what_was_spent_and_what_was_not_charged(tmp_path, kind):
    given, spent, accounting = SPENT[kind]
    X = pd.DataFrame({"age": np.linspace(0, 100, 2000)})
    y, schema = np.where(X["age"] > 60, "yes", "no"), hr.Schema({"age": hr.Numeric(0, 100)}, classes=["no", "yes"])
    ledgers = hr.Ledger(9, delta=1e-4), hr.Ledger(9, delta=1e-4), hr.Ledger(None, rho=9)
    model = hr.HedgerowClassifier(epsilon=1.0, schema=schema, ledger=ledgers[0], **given).fit(X, y)
    model.save(tmp_path / "m.hedgerow")
    seeded = hr.HedgerowClassifier(epsilon=1.0, schema=schema, ledger=ledgers[2], random_state=0)
    seeded.fit(X, y)
    decision = Decision(tmp_path / "m.hedgerow", model)
    found = [dict(decision.rows(ledger)) for ledger in ledgers]
    for words in (spent, accounting):
        assert words in found[0]["Spent by this fit"]
    texts = [one["Spent on these records in all"] for one in found]
    assert ["NOT in it" in text for text in texts] == [False, True, True]
    assert texts[0].startswith("epsilon 1, delta")
    assert texts[2].startswith("rho 0.")
    assert texts[2].endswith("a seeded fit in it voids the sum")
    assert found[0]["Who is trusted"].startswith("central")
