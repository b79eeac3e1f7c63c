from dataclasses import replace

import numpy as np
import pytest
from helpers import n_leaves

import hedgerow as hr
from hedgerow.export import Mean
from hedgerow.plots.model import branch_text, tree_lines
from hedgerow.reading.table_file import read_table
from hedgerow.scores import binary
from hedgerow.texts import printable
from hedgerow.trees import Forest, ForestModel

AGE = hr.Numeric(18, 90)
JOB = hr.Categorical(["nurse", "clerk", "odd\nname"])


@pytest.fixture
def model(train):
    """A small model, and where it is."""
    result = train("--param", "n_estimators=3", "--param", "max_depth=2", "--param", "random_state=5")
    assert result.exit_code == 0, result.output
    return hr.load("m.hedgerow")


def test_inspect_shows_class_certificate_and_sizes(run, model, folder):
    page = run("inspect", "m.hedgerow").stdout
    assert page.startswith("EDPRFClassifier\n")
    assert str(model.certificate_) in page
    assert model.certificate_.details() not in page
    assert model.certificate_.details() in run("inspect", "m.hedgerow", "--details").stdout
    forest = model.model_.forest
    lines = [" ".join(line.split()) for line in page.splitlines()]
    sizes = {"trees": 3, "nodes": forest.n_nodes, "leaves": n_leaves(forest)}
    sizes["file_bytes"] = (folder / "m.hedgerow").stat().st_size
    expected = [f"{name} {size}" for name, size in sizes.items()]
    expected += ["n_estimators 3", "max_depth 2", "random_state 5", "epsilon 1.0", "variant private"]
    assert [line for line in expected if line not in lines] == []
    assert [word for word in ("tree 1", "ledger", "schema ") if word in page.partition("Privacy")[0]] == []


def test_inspect_as_json_holds_what_the_page_says(answer, model, folder):
    found = answer("inspect", "m.hedgerow")
    assert sorted(found) == [
        *("certificate", "class", "feature_importances", "importance_rule", "parameters", "signature", "sizes", "tree")
    ]
    assert (found["class"], found["tree"]) == ("EDPRFClassifier", None)
    assert list(found["feature_importances"].values()) == pytest.approx(list(model.feature_importances_))
    assert (found["parameters"]["n_estimators"], found["parameters"]["max_bins"]) == (3, None)
    certificate = found["certificate"]
    assert certificate["text"] == model.certificate_.details()
    assert (certificate["holds"], certificate["seeded"], len(certificate["reasons"])) == (False, True, 1)
    assert (
        hr.Certificate.from_dict({key: certificate[key] for key in model.certificate_.to_dict()}) == model.certificate_
    )
    assert found["sizes"]["leaves"] == n_leaves(model.model_.forest)


def test_the_trees_of_the_page_are_those_that_vote(answer, model):
    columns = read_table("people.csv")
    del columns["income"]
    encoder, forest = model.model_.encoder, model.model_.forest
    codes = encoder.transform(columns)
    for tree in range(3):
        lines = answer("inspect", "m.hedgerow", "--tree", tree + 1)["tree"]
        own = replace(forest, roots=forest.roots[tree : tree + 1]).trees
        votes = own.sums_of(codes, forest.label, 2).argmax(axis=1)
        assert [walk(lines, record, encoder) for record in codes] == [encoder.schema.classes[vote] for vote in votes]


def walk(lines, record, encoder):
    depth, schema = 1, encoder.schema
    whens = [
        branch_text(name, schema.features[name], [int(code)], encoder.max_bins)
        for name, code in zip(schema.names, record, strict=True)
    ]
    for line in lines:
        when, _, label = line.strip().partition(": ")
        if len(line) - len(line.lstrip()) == 2 * depth and when in whens:
            if label:
                return label
            depth += 1
    raise AssertionError("no branch is taken")


def test_the_text_of_a_tree(run, answer, model):
    page = run("inspect", "m.hedgerow", "--tree", "2").stdout
    text = page.partition("\ntree 2 of 3\n")[2]
    assert text.splitlines() == list(tree_lines(model.model_, 1))
    assert [part for part in ("  code = 1", "  code missing", "  code undeclared") if part not in text] == []


@pytest.mark.parametrize(("tree", "words"), [("4", ("the model has 3",)), ("0", ("--tree",)), ("x", ("--tree",))])
def test_no_such_tree(run, model, is_refused, tree, words):
    is_refused(run("inspect", "m.hedgerow", "--tree", tree), 2, *words)


def test_a_tree_of_one_leaf_is_written_as_always(run, train):
    train("--param", "n_estimators=1", "--param", "max_depth=0")
    assert run("inspect", "m.hedgerow", "--tree", "1").stdout.splitlines()[-1].startswith("always: ")


@pytest.mark.parametrize(
    ("system", "options", "rule", "rounds"),
    [
        (
            "hedgerow",
            ["n_estimators=12"],
            "share of the summed standard deviations",
            {"rounds": 12, "rounds_with_cuts": 11},
        ),
        ("dp-adaboost", ["n_estimators=3"], "all rounds count alike", {"rounds": 3}),
        ("diffgen", [], "share of the specializations", {}),
        ("forest", [], "share of the tests", {}),
    ],
)
@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_each_system_says_what_its_importances_are_and_how_many_rounds_ran(
    train, run, answer, system, options, rule, rounds
):
    assert train("--system", system, *(word for option in options for word in ("--param", option))).exit_code == 0
    found = answer("inspect", "m.hedgerow")
    assert rule in found["importance_rule"]
    assert f"feature importances ({found['importance_rule']}; from" in run("inspect", "m.hedgerow").stdout
    assert {name: size for name, size in found["sizes"].items() if name.startswith("rounds")}.keys() == rounds.keys()
    assert found["sizes"].get("rounds") == rounds.get("rounds")
    assert found["sizes"].get("rounds_with_cuts", 0) <= rounds.get("rounds_with_cuts", 0)


def test_no_model_file(run, folder, is_refused):
    is_refused(run("inspect", "people.csv"), 2, "people.csv is not a model file")


@pytest.mark.parametrize(
    ("feature", "codes", "text"),
    [
        (AGE, [0], "x in [18, 32.4)"),
        (AGE, [4], "x in [75.6, 90]"),
        (AGE, [5], "x missing"),
        (AGE, [0, 1, 2], "x in [18, 61.2)"),
        (AGE, [3, 4, 5], "x in [61.2, 90] or missing"),
        (AGE, [0, 2, 3], "x in [18, 32.4) or in [46.8, 75.6)"),
        (AGE, [0, 1, 2, 3, 4], "x in [18, 90]"),
        (JOB, [0], "x = nurse"),
        (JOB, [2], "x = odd\\nname"),
        (JOB, [3], "x missing"),
        (JOB, [4], "x undeclared"),
        (JOB, [0, 1], "x = nurse, clerk"),
        (JOB, [1, 4], "x = clerk or undeclared"),
        (JOB, [1, 2, 3, 4], "x not = nurse"),
        (JOB, [0, 1, 2, 4], "x not missing"),
    ],
)
def test_the_text_of_a_branch(feature, codes, text):
    assert branch_text("x", feature, codes, 5) == text


def test_binary_tests_and_noisy_counts(model):
    encoder = model.model_.encoder
    candidates = binary(
        encoder.n_codes, [isinstance(feature, hr.Numeric) for feature in encoder.schema.features.values()]
    )
    single = int(np.flatnonzero(candidates.feature == 1)[0])
    forest = Forest(
        roots=np.array([0], dtype=np.int32),
        test=np.array([single, -1, -1], dtype=np.int32),
        first_child=np.array([1, 0, 0], dtype=np.int32),
        label=np.array([-1, 1, 0], dtype=np.int32),
        candidates=candidates,
        counts=np.array([[0, 0], [3, 12], [7, -1]]),
    )
    assert list(
        tree_lines(ForestModel(encoder, forest, None, Mean(1)), 0)
    ) == [  # counts follow classes_: high, then low
        "  marital status = single: high, noisy counts 12, 3",
        "  marital status not = single: low, noisy counts -1, 7",
    ]


def test_what_would_steer_a_terminal_is_spelled_out():
    assert printable("a b") == "a b"
    assert printable("\x1b[2J\n") == "\\u001b[2J\\n"
