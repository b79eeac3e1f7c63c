"""Every option of every command reaches the call in Python that it is about, with its value (docs/api/command-line.md).

Each row of the table runs a command twice: without its option, which must give the call something else or none, and with it. The
calls themselves are replaced, so that nothing is fitted. An option without a row stands in ``ELSEWHERE``, with the file that
tests what it does.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pytest
from people import SCHEMA, commands_of, table_of_people

import hedgerow as hr
from hedgerow.cli import main

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")

TESTS = Path(__file__).parents[1]
CALLS = {  # what each command calls; the first is the one that ends it
    "plan": ["hedgerow.cli.queries:plan_fit"],
    "train": ["hedgerow.estimator.base:PrivateEstimator.fit"],
    "search": ["hedgerow.cli.queries:PrivateSearchCV.fit"],
    "evaluate": ["hedgerow.cli.queries:evaluate_model"],
    "schema release": ["hedgerow.cli.queries:private_schema"],
    "schema init": ["hedgerow.cli.schemas:draft_schema"],
    "schema check": ["hedgerow.cli.schemas:_count"],
    "predict": ["hedgerow.cli.inputs:batches_of", "hedgerow.cli.inputs:open_table"],
    "inspect": ["hedgerow.cli.models:tree_lines"],
    "card": ["hedgerow.cli.models:write_card"],
    "export": ["hedgerow.estimator.exported:Exported.to_sql"],
    "audit": ["hedgerow.audit.attack:attack", "hedgerow.audit.attack:system_trial"],
    "reproduce": ["hedgerow.papers.reproduce.run:reproduce"],
    "demo": ["hedgerow.cli.demo:_rules"],
    "federate owner": ["hedgerow.engines.federated.owner:Owner.__init__"],
    "federate fit": ["hedgerow.cli.owners:fit_over"],
    "budget create": ["hedgerow.ledgers.store:LedgerStore.create"],
    "budget raise": ["hedgerow.ledgers.store:LedgerStore.raise_ceiling"],
    "budget close": ["hedgerow.ledgers.store:LedgerStore.close_ledger"],
    "budget verify": ["hedgerow.ledgers.store:LedgerStore.verify"],
    "budget show": ["hedgerow.ledgers.store:LedgerStore.ledger"],
    "budget list": ["hedgerow.ledgers.store:LedgerStore.names"],
}
PLAIN = {  # each command with what it needs
    "plan": "--schema people.toml --records 100 --epsilon 1",
    "train": "people.csv --schema people.toml --epsilon 1 --out new.h --system edprf",
    "search": "people.csv --schema people.toml --epsilon 1 --out new.h --system edprf --try max_depth=1,2",
    "evaluate": "m.h people.csv --epsilon 1",
    "schema release": "few.csv --target income --numeric age --categorical job --epsilon 1 --delta 1e-6 --out new.toml",
    "schema init": "people.csv --target income",
    "schema check": "people.csv --schema people.toml",
    "predict": "m.h people.csv",
    "inspect": "m.h",
    "card": "m.h --out new.html",
    "export": "m.h --to sql --table people",
    "audit": "--system edprf",
    "reproduce": "edprf/fig9",
    "demo": "--splits 2 --out demo",
    "federate owner": "people.csv --name a --folder a --federation two.toml --schema people.toml --ledger b.db --dataset people",
    "federate fit": "two.toml --owners .",
    "budget create": "--ledger b.db --dataset new --epsilon 1",
    "budget raise": "--ledger b.db --dataset people --epsilon 9 --reason why",
    "budget close": "--ledger b.db --dataset people --reason why",
    "budget verify": "--ledger b.db --dataset people",
    "budget show": "--ledger b.db --dataset people",
    "budget list": "--ledger b.db",
}


class Row(NamedTuple):
    """An option, what is written behind the command, what it is in the calls' arguments, and other files of the command."""

    command: str
    option: str
    words: str
    read: Callable[[Any], Any]
    value: Any
    files: dict[str, str] = {}  # noqa: RUF012 - no row changes it


def source(call):
    records = call["X"]
    return getattr(records, "source", records)


def ledger(call):
    return call["ledger"] and (call["ledger"].name, Path(call["ledger"].store.address).name)


def of_query(command, schema_of):
    """The options that every command has that reads records and spends."""
    named = {"people.csv": "visits.csv", "few.csv": "few-visits.csv"}
    cut = {"people.csv": "semicolons.csv", "few.csv": "few-semicolons.csv"}
    booked = "--ledger b.db --dataset people"
    return [
        Row(command, "--epsilon", "--epsilon 2.5", lambda call: float(call["epsilon"]), 2.5),
        Row(command, "--adjacency", "--adjacency replace-one", lambda call: call["adjacency"], "replace-one"),
        Row(command, "--records-per-person", "--records-per-person 3", lambda call: call["records_per_person"], 3),
        Row(command, "--person", "--person who", schema_of, "who", named),
        Row(command, "--memory", "--memory 128MiB", lambda call: source(call).memory, 2**27),
        Row(command, "--spill", "--spill spill", lambda call: source(call).spill.name, "spill"),
        Row(command, "--ledger", booked, ledger, ("people", "b.db")),
        Row(command, "--dataset", booked.replace("people", "others"), ledger, ("others", "b.db")),
        Row(command, "--separator", "--separator ;", lambda call: source(call).stream._separator, ";", cut),
        Row(command, "--force", "--force", bool, True, {"new.": "old."}),
    ]


ROWS = [
    *of_query("train", lambda call: call["schema"].person),
    *of_query("search", lambda call: call["estimator"].schema.person),
    *of_query("evaluate", lambda call: call["X"]._group)[:-1],
    *of_query("schema release", lambda call: call["person"]),
    Row("plan", "--schema", "", lambda call: call["schema"].target, "other", {"people.toml": "others.toml"}),
    Row("plan", "--system", "--system edprf", lambda call: call["system"], "edprf"),
    Row("plan", "--param", "--system edprf --param max_depth=2", lambda call: call.get("max_depth"), 2),
    Row("plan", "--adjacency", "--adjacency replace-one", lambda call: call["adjacency"], "replace-one"),
    Row("plan", "--records-per-person", "--records-per-person 3", lambda call: call["records_per_person"], 3),
    Row("plan", "--records", "--records 77", lambda call: call["records"], 77),
    Row("plan", "--epsilon", "--epsilon 2.5", lambda call: call["epsilon"], 2.5),
    Row("plan", "--delta", "--delta 1e-7", lambda call: call.get("delta"), 1e-7),
    Row("train", "--schema", "", lambda call: call["schema"].missing, ("?", "none"), {"people.toml": "gaps.toml"}),
    Row("train", "--target", "--target other", lambda call: call["schema"].target, "other", {"people.csv": "others.csv"}),
    Row("train", "--system", "--system forest", lambda call: type(call["self"]).__name__, "ForestClassifier"),
    Row("train", "--param", "--param max_depth=2", lambda call: call["max_depth"], 2),
    Row("train", "--delta", "--system hedgerow --delta 1e-7", lambda call: call.get("delta"), 1e-7),
    Row("train", "--allow-inferred", "--allow-inferred", bool, True, {"people.toml": "inferred.toml"}),
    Row("train", "--init", "--system hedgerow --init h.h", lambda call: type(call.get("init")).__name__, "HedgerowClassifier"),
    Row("train", "--public-start", "--public-start", lambda call: call.get("public_start"), True,
        {"edprf": "hedgerow --init h.h"}),
    Row("search", "--schema", "", lambda call: call["estimator"].schema.missing, ("?", "none"), {"people.toml": "gaps.toml"}),
    Row("search", "--target", "--target other", lambda call: call["estimator"].schema.target, "other",
        {"people.csv": "others.csv"}),
    Row("search", "--system", "--system forest", lambda call: type(call["estimator"]).__name__, "ForestClassifier"),
    Row("search", "--param", "--param n_estimators=7", lambda call: call["estimator"].n_estimators, 7),
    Row("search", "--allow-inferred", "--allow-inferred", bool, True, {"people.toml": "inferred.toml"}),
    Row("search", "--try", "--try n_estimators=3,4", lambda call: call["grid"].get("n_estimators"), [3, 4]),
    Row("search", "--refit", "--refit 0.25", lambda call: call["refit"], 0.25),
    Row("evaluate", "--target", "--target other", lambda call: call["X"]._label, "other", {"people.csv": "others.csv"}),
    Row("evaluate", "--by", "--by 'marital status'", lambda call: call["by"], "marital status"),
    Row("evaluate", "--delta", "--delta 1e-7", lambda call: call["delta"], 1e-7),
    Row("schema release", "--target", "--target other", lambda call: call["target"], "other", {"few.csv": "few-others.csv"}),
    Row("schema release", "--numeric", "--numeric job", lambda call: call["numeric"], ("age", "job"),
        {"--categorical job": ""}),
    Row("schema release", "--date", "--date job", lambda call: call["dates"], ("job",), {"--categorical job": ""}),
    Row("schema release", "--categorical", "--categorical age", lambda call: call["categorical"], ("job", "age"),
        {"--numeric age": ""}),
    Row("schema release", "--class", "--class low --class high", lambda call: call["classes"], ["low", "high"]),
    Row("schema release", "--outcome", "--outcome", lambda call: call["outcome"], True),
    Row("schema release", "--missing", "--missing ? --missing x", lambda call: call["missing"], ("?", "x")),
    Row("schema release", "--delta", "--delta 1e-7", lambda call: call["delta"], 1e-7),
    Row("schema init", "--target", "--target code", lambda call: call["target"], "code"),
    Row("schema init", "--outcome", "--outcome", lambda call: call["outcome"], True),
    Row("schema init", "--missing", "--missing ? --missing x", lambda call: call["missing"], ("?", "x")),
    Row("schema init", "--separator", "--separator ;", lambda call: len(call["columns"]), 2, {"people.csv": "commas.csv"}),
    Row("schema check", "--schema", "", lambda call: call["schema"].missing, ("?", "none"), {"people.toml": "gaps.toml"}),
    Row("schema check", "--target", "--target other", lambda call: call["schema"].target, "other"),
    Row("schema check", "--person", "--person who", lambda call: call["schema"].person, "who"),
    Row("schema check", "--separator", "--separator ;", lambda call: call["form"].separator, ";"),
    Row("predict", "--separator", "--separator ;", lambda call: call["form"].separator, ";", {"people.csv": "semicolons.csv"}),
    Row("inspect", "--tree", "--tree 2", lambda call: call["tree"], 1),
    Row("card", "--title", "--title Words", lambda call: "Words" in call["page"].html(), True),
    Row("card", "--report", "--report report.json", lambda call: type(call.get("report")).__name__, "ReportCard"),
    Row("card", "--ledger", "--ledger b.db --dataset people", ledger, ("people", "b.db")),
    Row("card", "--dataset", "--ledger b.db --dataset others", ledger, ("others", "b.db")),
    Row("export", "--table", "--table a.b", lambda call: call["table"], ["a", "b"]),
    Row("export", "--dialect", "--dialect sqlite", lambda call: call["dialect"], "sqlite"),
    Row("export", "--typed", "--typed", lambda call: call["typed"], True),
    Row("export", "--keep", "--keep id --keep key", lambda call: tuple(call["keep"]), ("id", "key")),
    Row("export", "--force", "--force", bool, True, {"--table": "--out old.h --table"}),
    Row("audit", "--system", "--system forest", lambda call: call["name"], "forest"),
    Row("audit", "--all", "--all", lambda call: len(call["trials"]) > 20, True, {"--system edprf": ""}),
    Row("audit", "--variant", "--variant published", lambda call: call["variant"], "published"),
    Row("audit", "--param", "--param max_depth=2", lambda call: call["settings"].get("max_depth"), 2),
    Row("audit", "--epsilon", "--epsilon 2.5", lambda call: call["epsilon"], 2.5),
    Row("audit", "--delta", "--system hedgerow --delta 1e-7", lambda call: call["delta"], 1e-7),
    Row("audit", "--adjacency", "--adjacency replace-one", lambda call: call["adjacency"], "replace-one"),
    Row("audit", "--runs", "--runs 300", lambda call: call["runs"], 300),
    Row("audit", "--minutes", "--minutes 3", lambda call: call["minutes"], 3),
    Row("audit", "--confidence", "--confidence 0.8", lambda call: call["confidence"], 0.8),
    Row("audit", "--jobs", "--jobs 3", lambda call: call["n_jobs"], 3),
    Row("reproduce", "--seeds", "--seeds 3", lambda call: call["seeds"], 3),
    Row("reproduce", "--jobs", "--jobs 3", lambda call: call["jobs"], 3),
    Row("reproduce", "--out", "--out there", lambda call: call["out"].name, "there"),
    Row("reproduce", "--rows", "--rows there", lambda call: call["rows"].name, "there"),
    Row("demo", "--epsilon", "--epsilon 2.5", lambda call: call["epsilon"], 2.5),
    Row("federate owner", "--name", "--name b", lambda call: call["name"], "b"),
    Row("federate owner", "--folder", "--folder there", lambda call: call["folder"].name, "there"),
    Row("federate owner", "--federation", "", lambda call: call["parties"][0].name, "c", {"two.toml": "three.toml"}),
    Row("federate owner", "--schema", "", lambda call: call["schema"].missing, ("?", "none"), {"people.toml": "gaps.toml"}),
    Row("federate owner", "--label", "--label other", lambda call: call["records"]._label, "other",
        {"people.csv": "others.csv"}),
    Row("federate owner", "--group", "--group who", lambda call: call["records"]._group, "who", {"people.csv": "visits.csv"}),
    Row("federate owner", "--colluding", "--colluding 1", lambda call: call["colluding"], 1),
    Row("federate owner", "--seeded", "--seeded", lambda call: call["seeded"], True),
    Row("federate owner", "--ledger", "--ledger d.db", ledger, ("people", "d.db")),
    Row("federate owner", "--dataset", "--dataset others", ledger, ("others", "b.db")),
    Row("federate fit", "--owners", "--owners there", lambda call: call["transport"]._paths["a"].parts[0], "there"),
    Row("budget create", "--adjacency", "--adjacency replace-one", lambda call: call["adjacency"], "replace-one"),
    Row("budget create", "--epsilon", "--epsilon 2.5", lambda call: call["epsilon"], 2.5),
    Row("budget create", "--rho", "--rho 2.5", lambda call: call["rho"], 2.5),
    Row("budget create", "--delta", "--delta 1e-7", lambda call: call["delta"], 1e-7),
    Row("budget create", "--draws", "--draws 99", lambda call: call["draws"], 99),
    Row("budget create", "--person", "--person who", lambda call: call["person"], "who"),
    Row("budget create", "--records-per-person", "--records-per-person 3", lambda call: call["records_per_person"], 3),
    Row("budget create", "--parent", "--parent people", lambda call: call["parent"], "people"),
    Row("budget raise", "--epsilon", "--epsilon 2.5", lambda call: call["epsilon"], 2.5),
    Row("budget raise", "--rho", "--rho 2.5", lambda call: call["rho"], 2.5),
    Row("budget raise", "--delta", "--delta 1e-7", lambda call: call["delta"], 1e-7),
    Row("budget raise", "--draws", "--draws 99", lambda call: call["draws"], 99),
    Row("budget raise", "--reason", "--reason because", lambda call: call["reason"], "because"),
    Row("budget close", "--reason", "--reason because", lambda call: call["reason"], "because"),
    Row("budget verify", "--head", "--head abc", lambda call: call["head"], "abc"),
    *(
        Row(f"budget {name}", "--dataset", "--dataset others", lambda call: call["name"], "others")
        for name in ("create", "show", "raise", "close", "verify")
    ),
    *(
        Row(f"budget {name}", "--ledger", "--ledger c.db", lambda call: Path(call["self"].address).name, "c.db")
        for name in ("create", "show", "list", "raise", "close", "verify")
    ),
]  # fmt: skip
ELSEWHERE = {  # what changes the output alone, or is about several calls: the file that tests it
    "cli/test_train_predict.py": ["train --out", "train --json", "predict --out", "predict --proba", "predict --keep",
                                  "predict --force"],
    "cli/test_holdout.py": ["train --holdout", "train --holdout-epsilon"],
    "cli/test_spending.py": ["search --out", "evaluate --out", "evaluate --force", "schema release --out"],
    "cli/test_streaming_analysis.py": ["search --json", "evaluate --json", "schema release --json"],
    "cli/test_regression.py": ["predict --interval", "predict --report"],
    "cli/test_inspect.py": ["inspect --details", "inspect --json"],
    "cli/test_card.py": ["card --out", "card --force"],
    "cli/test_decision.py": ["audit --key", "card --author", "card --json", "card --key", "card --purpose", "inspect --key",
                             "train --sign"],
    "cli/test_export_command.py": ["export --to", "export --out"],
    "cli/test_schema_init.py": ["schema init --out", "schema init --force"],
    "cli/test_schema_check.py": ["schema check --json"],
    "cli/test_audit.py": ["audit --json", "audit --page", "audit --force", "audit --pair"],
    "cli/test_budget_commands.py": ["budget show --json"],
    "cli/test_demo.py": ["demo --splits", "demo --seed", "demo --out"],
    "analysis/test_outlook.py": ["plan --out", "plan --force"],
}  # fmt: skip


def people_of(lines):
    """The same records of persons of two records each."""
    return "\n".join([f"{lines[0]},who", *(f"{line},p{place // 2}" for place, line in enumerate(lines[1:]))]) + "\n"


def owners(*names):
    return "".join(f'[[owner]]\nname = "{name}"\nkey = "00"\nrows = 100\n\n' for name in names)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Files of every kind that a command reads, of which none is changed."""
    folder = tmp_path_factory.mktemp("wiring")
    people = table_of_people()
    few = (
        "\n".join(["age,job,income", *(f"{20 + i},{'ab'[i % 2]},{'low' if i % 3 else 'high'}" for i in range(30))])
        + "\n"
    )
    lines = people.splitlines()
    texts = {
        "people.csv": people, "people.toml": SCHEMA, "few.csv": few,
        "gaps.toml": SCHEMA.replace('["?"]', '["?", "none"]'),
        "inferred.toml": SCHEMA.replace("high = 100", 'high = 100\norigin = "inferred"'),
        "others.toml": SCHEMA.replace('"income"', '"other"'),
        "others.csv": people.replace("income", "other"), "few-others.csv": few.replace("income", "other"),
        "visits.csv": people_of(lines), "few-visits.csv": people_of(few.splitlines()),
        "semicolons.csv": people.replace("married, or so", "other").replace(",", ";"),
        "few-semicolons.csv": few.replace(",", ";"),
        "commas.csv": "a,b,c;income\n1,2,3;low\n1,2,3;high\n", "old.h": "old", "old.toml": "old", "old.html": "old",
        "two.toml": owners("a", "b"), "three.toml": owners("c", "a", "b"),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    (folder / "spill").mkdir()
    columns = {"age": np.arange(60.0), "marital status": ["single", "other"] * 30, "code": [1, 2, 3] * 20}
    labels, schema = ["low", "high"] * 30, hr.Schema.load(folder / "people.toml")
    model = hr.EDPRFClassifier(schema=schema, n_estimators=3, max_depth=1).fit(columns, labels)
    model.save(folder / "m.h")
    hr.HedgerowClassifier(schema=schema, n_estimators=1).fit(columns, labels).save(folder / "h.h")
    store = hr.LedgerStore(folder / "b.db")
    for name in ("people", "others"):
        store.create(name, epsilon=3)
    store.create("replaced", epsilon=3, adjacency="replace-one")
    hr.LedgerStore(folder / "d.db").create("people", epsilon=3)
    from hedgerow.cli.inputs import card_values, file_digest, json_text

    card = hr.evaluate(model, columns, labels, epsilon=1)
    values = {"model_sha256": file_digest(folder / "m.h"), **card_values(card)}
    (folder / "report.json").write_text(json_text(values), "utf-8")
    return folder


@pytest.fixture(scope="module")
def known():
    """What calls received of commands without the option, which many rows share."""
    return {}


@pytest.fixture
def received(written, monkeypatch, run):
    """Run a command, and return the arguments of its calls, by name; none where it called nothing."""
    monkeypatch.chdir(written)

    def call(command, words, files):
        text = PLAIN[command]
        for one, other in files.items():
            text = text.replace(one, other)
        found = {}

        def record(function, ends):
            signature = inspect.signature(function)

            def stand_in(*given, **named):
                bound = signature.bind(*given, **named)
                bound.apply_defaults()
                for name, value in bound.arguments.items():
                    kind = signature.parameters[name].kind
                    found.update(value if kind is inspect.Parameter.VAR_KEYWORD else {name: value})
                own = bound.arguments.get("self")
                found.update(own.get_params(deep=False) if hasattr(own, "get_params") else {})
                if ends:
                    raise click.exceptions.Exit(0)
                return function(*given, **named)

            return stand_in

        with monkeypatch.context() as patched:
            for place, target in enumerate(CALLS[command]):
                module, _, path = target.partition(":")
                owner = import_module(module)
                *around, name = path.split(".")
                for one in around:
                    owner = getattr(owner, one)
                patched.setattr(owner, name, record(getattr(owner, name), ends=not place))
            run(*command.split(), *shlex.split(text), *shlex.split(words))
        return found

    return call


def value_of(row, call):
    try:
        return row.read(call)
    except (KeyError, AttributeError, TypeError):  # it was not called, or not with this
        return None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.command} {row.option}")
def test_an_option_reaches_the_call_that_it_is_about(row, received, known):
    files = row.files if row.words else {}  # where the file itself is what changes, the plain command has the usual one
    plain = row.command, *files.items()
    if plain not in known:
        known[plain] = received(row.command, "", files)
    assert value_of(row, known[plain]) != row.value, "the test would pass without the option"
    assert value_of(row, received(row.command, row.words, row.files)) == row.value


def test_every_option_of_every_command_is_tested():
    rows = [f"{row.command} {row.option}" for row in ROWS]
    elsewhere = [name for names in ELSEWHERE.values() for name in names]
    assert sorted({*rows, *elsewhere}) == sorted(
        f"{name} {one.opts[0]}"
        for name, command in commands_of(main)
        for one in command.params
        if isinstance(one, click.Option)
    )
    assert not set(rows) & set(elsewhere)
    for file, names in ELSEWHERE.items():
        text = (TESTS / file).read_text("utf-8").replace("answer(", "answer(--json ")  # the fixture adds the option
        assert [name for name in names if name.split()[-1] not in text] == []


def test_the_report_on_held_out_lines_is_for_the_neighbors_and_the_ledger_of_the_fit(received, monkeypatch):
    """``train --holdout`` makes two queries: the fit, and the report, whose budget alone is its own."""
    reports = []
    monkeypatch.setattr("hedgerow.cli.train.evaluate", lambda *given, **named: reports.append(named) or 1 / 0)
    monkeypatch.setitem(CALLS, "train", [])
    words = "--holdout 0.5 --holdout-epsilon 0.25 --adjacency replace-one --ledger b.db --dataset replaced --force"
    received("train", words, {"new.h": "old.h"})
    [report] = reports
    assert (report["epsilon"], report["adjacency"], report["ledger"].name) == (0.25, "replace-one", "replaced")
