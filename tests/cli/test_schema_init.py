import numpy as np
import pytest

import hedgerow as hr

COUNT = 100


def survey():
    """A table with a name, an id, a rare job and one old person."""
    lines = ["ssn,name,age,job,grade,income"]
    for i in range(COUNT):
        age = "?" if i % 10 == 3 else 97 if i == 7 else 20 + i % 12
        job = "astronaut" if i == 50 else "nurse" if i % 2 else "clerk"
        lines.append(f"{1000 + i},person {i},{age},{job},{i % 3},{'high' if i % 4 else 'low'}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def draft(run, tmp_path, monkeypatch):
    """Run ``hedgerow schema init`` on the survey."""
    (tmp_path / "s.csv").write_text(survey(), "utf-8")
    monkeypatch.chdir(tmp_path)

    def call(*more, data="s.csv"):
        return run("schema", "init", data, *more)

    return call


def line_about(result, name):
    [line] = [line for line in result.stderr.splitlines() if line.split()[:1] == [name] and line.startswith("  ")][:1]
    return line


def test_the_draft_is_a_schema_all_of_which_is_inferred(draft):
    result = draft("--target", "income", "--missing", "?")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("# DRAFT")
    assert "NO guarantee" in result.stdout.splitlines()[0]
    schema = hr.Schema.from_toml(result.stdout)
    assert (schema.names, schema.ignore) == (("age", "job", "grade"), ("name",))
    assert (schema.person, schema.records_per_person) == ("ssn", 1)
    assert schema.inferred == [*schema.names, "classes"]
    assert (schema.target, schema.missing, schema.classes) == ("income", ("?",), ("high", "low"))
    assert schema.features["age"] == hr.Integer(20, 97, origin="inferred")
    assert schema.features["job"] == hr.Categorical(["astronaut", "clerk", "nurse"], origin="inferred")
    assert schema.features["grade"] == hr.Integer(0, 2, origin="inferred")
    lines = result.stdout.splitlines()
    assert (lines.count('origin = "inferred"'), lines.count('classes_origin = "inferred"')) == (3, 1)


def test_what_the_owner_must_confirm(draft):
    result = draft("--target", "income", "--missing", "?")
    words = (
        "NO guarantee",
        "must not leave the building",
        "names a person",
        "one person's value",
        'origin = "inferred"',
    )
    assert [word for word in words if word not in result.stderr] == []
    assert "range 20 to 97" in line_about(result, "age")
    assert "high end is one record's value" in line_about(result, "age")
    assert "low end" not in line_about(result, "age")
    assert "'astronaut'" in line_about(result, "job")
    assert "nurse" not in line_about(result, "job")
    assert "only 3 whole numbers" in line_about(result, "grade")
    assert "of the target 'income': 'high', 'low'" in line_about(result, "classes")
    assert "no feature: 100 persons, with up to 1 record each" in line_about(result, "ssn")
    assert "id?" in line_about(result, "name")
    [called_out] = [line for line in result.stderr.splitlines() if line.startswith("Likely ids")]
    assert "'name'." in called_out
    assert "Traceback" not in result.stderr
    assert "PrivacyLeakWarning" not in result.stderr


def test_a_marker_that_is_not_named(draft):
    result = draft("--target", "income")
    assert (
        line_about(result, "age")
        .split("  ")[-1]
        .startswith("range 20 to 97; 10 other cells will count as missing: '?'")
    )
    assert hr.Schema.from_toml(result.stdout).features["age"] == hr.Integer(20, 97, origin="inferred")
    assert hr.Schema.from_toml(result.stdout).missing == ("?",)


@pytest.mark.parametrize(
    ("cells", "entry", "words"),
    [
        ([*range(30)] * 4 + ["N/A"], hr.Integer(0, 29), "1 other cell will count as missing: 'N/A'"),
        ([*range(9), "?"] * 4, hr.Integer(0, 8), "4 other cells will count as missing: '?'"),
        ([0.5, 1] * 20 + ["?", "N/A", "?"], hr.Numeric(0.5, 1), "3 other cells will count as missing: '?', 'N/A'"),
        ([*range(9)] * 3 + ["a", "b", "c", "d"], hr.Categorical([*range(9), *"abcd"]), "most are numbers"),
        (["true", "false"] * 20 + ["?"], hr.Boolean(), "1 other cell will count as missing: '?'"),
        ([*range(30)] * 4 + ["refused"] * 3, hr.Integer(0, 29, missing=["refused"]), "in this column alone 'refused'"),
        ([*range(30)] * 4 + [999], hr.Integer(0, 29, missing=["999"]), "in this column alone '999'"),
        ([*range(30)] * 4 + [97], hr.Integer(0, 97), "high end is one record's value"),
        ([*range(30)] * 4 + [97, 97, -8, -8], hr.Integer(0, 29, missing=["-8", "97"]), "4 other cells"),
        ([*range(-90, 90)] * 2 + [-99, 99] * 2, hr.Integer(-99, 99), "range -99 to 99"),
        ([*range(30)] * 2 + ["true"] * 20, hr.Integer(0, 29), "range 0 to 29"),
        (["TRUE", "False", ""] * 20, hr.Boolean(), "2 values"),
    ],
)
def test_a_stray_text_makes_no_categories_of_numbers(draft, tmp_path, cells, entry, words):
    (tmp_path / "s.csv").write_text(
        "".join(["dose,note,income\n", *(f"{cell},x,{i % 2}\n" for i, cell in enumerate(cells))])
    )
    result = draft()
    found = hr.Schema.from_toml(result.stdout)
    assert found.inferred == ["dose", "note", "classes"]
    assert found.confirm().features["dose"] == entry
    assert words in line_about(result, "dose")
    assert "Likely ids" not in result.stderr


def test_marks_among_numbers_are_no_reason_to_drop_a_column(draft, tmp_path):
    cells = ["?" if i % 3 == 0 else i for i in range(300)]
    (tmp_path / "s.csv").write_text("".join(["dose,income\n", *(f"{cell},{i % 2}\n" for i, cell in enumerate(cells))]))
    result = draft()
    assert "100 other cells will count as missing: '?'" in line_about(result, "dose")
    assert hr.Schema.from_toml(result.stdout).features["dose"] == hr.Integer(1, 299, origin="inferred")
    assert hr.Schema.from_toml(result.stdout).missing == ("?",)


def test_one_id_is_dropped_in_the_singular(draft, tmp_path):
    (tmp_path / "s.csv").write_text("".join(["name,income\n", *(f"n{i},{i % 2}\n" for i in range(30))]))
    result = draft()
    assert "'name'. Ignore it" in result.stderr
    assert hr.Schema.from_toml(result.stdout).names == ("name",)  # a schema has a feature


def test_the_last_column_is_the_target(draft):
    result = draft()
    assert hr.Schema.from_toml(result.stdout).target == "income"
    assert "'income', is read as the label" in result.stderr
    assert "is taken" not in draft("--target", "income").stderr


def test_another_target(draft):
    schema = hr.Schema.from_toml(draft("--target", "job").stdout)
    assert schema.target == "job"
    assert "income" in schema.names
    assert "so many" in line_about(draft("--target", "ssn"), "classes")


def test_out_is_written_and_replaced_only_by_force(draft, tmp_path, is_refused):
    result = draft("--out", "s.toml")
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"wrote {tmp_path / 's.toml'}\n" in result.stderr
    written = (tmp_path / "s.toml").read_text("utf-8")
    assert written == draft().stdout
    (tmp_path / "s.toml").write_text("confirmed", "utf-8")
    is_refused(draft("--out", "s.toml"), 2, "exists", "--force")
    assert (tmp_path / "s.toml").read_text("utf-8") == "confirmed"
    assert draft("--out", "s.toml", "--force").exit_code == 0
    assert (tmp_path / "s.toml").read_text("utf-8") == written
    is_refused(draft("--out", "s.csv", "--force"), 2, "a file that this command reads")


def test_training_with_a_draft_is_refused_or_taints(draft, run, tmp_path, is_refused):
    draft("--out", "s.toml", "--missing", "?")
    options = ["--schema", "s.toml", "--epsilon", "1", "--system", "edprf", "--out", "m.hedgerow", "--force"]
    booked = ["--ledger", "budgets.db", "--dataset", "people"]
    ledger = hr.LedgerStore("budgets.db").create("people", epsilon=4)
    for command in (["train", "s.csv", *options], ["search", "s.csv", *options, "--try", "max_depth=1,2"]):
        refused = run(*command, *booked)
        is_refused(refused, 2, "'age', 'job', 'grade', 'classes'. Replace or confirm each")
        assert "pass --allow-inferred" in " ".join(refused.stderr.split())
    assert ledger.entries == ()
    assert not (tmp_path / "m.hedgerow").exists()
    result = run("train", "s.csv", *options, "--allow-inferred")
    assert result.exit_code == 0, result.output
    [warning] = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert "no guarantee" in warning
    assert "'age', 'job', 'grade', 'classes'" in warning
    assert "holds      NO" in result.stdout
    assert "read off the data (age, job, grade, classes)" in result.stdout

    lines = (tmp_path / "s.toml").read_text().splitlines()
    (tmp_path / "s.toml").write_text("\n".join(line for line in lines if "origin =" not in line))
    result = run("train", "s.csv", *options)
    assert result.exit_code == 0, result.output
    assert "warning" not in result.stderr
    assert "holds      yes" in result.stdout


def test_one_entry_left(draft, run, tmp_path, is_refused):
    lines = draft("--missing", "?").stdout.splitlines()
    last = max(place for place, line in enumerate(lines) if line == 'origin = "inferred"')
    kept = [line for place, line in enumerate(lines) if "origin =" not in line or place == last]
    (tmp_path / "s.toml").write_text("\n".join(kept))
    result = run("train", "s.csv", "--schema", "s.toml", "--epsilon", "1", "--system", "edprf", "--out", "m.hedgerow")
    is_refused(result, 2, "off the data in 'grade'.")


def test_many_values_few_whole_numbers_and_nothing(draft, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {
        "words": [f"word {i % 60}" for i in range(1200)],
        "level": [i % 3 for i in range(1200)],
        "wage": [float(i % 7) + 0.5 for i in range(1200)],
        "nothing": pa.nulls(1200),
        "lists": [[1]] * 1200,
        "seen": [True, False] * 600,
        "ill": [None if i % 5 == 0 else -1 if i % 5 == 1 else i % 2 for i in range(1200)],
    }
    parquet.write_table(pa.table(table), tmp_path / "s.parquet")
    result = draft("--target", "ill", "--missing", "-1", data="s.parquet")
    assert result.exit_code == 0, result.output
    schema = hr.Schema.from_toml(result.stdout)
    assert len(schema.features["words"].values) == 50
    assert schema.features["level"] == hr.Integer(0, 2, origin="inferred")
    assert schema.features["seen"] == hr.Boolean(origin="inferred")
    assert list(schema.classes) == [0, 1]
    assert "60 values; the 50 most frequent ones are kept; free text or an id?" in line_about(result, "words")
    assert "only 3 whole numbers" in line_about(result, "level")
    assert line_about(result, "wage").endswith("range 0.5 to 6.5")
    assert "no cell holds anything" in line_about(result, "nothing")
    assert "no cell holds anything" in line_about(result, "lists")


def test_values_and_whole_numbers_are_few_below_ten_and_up_to_ten(draft, tmp_path):
    jobs = ["guard"] * 9 + ["nurse"] * 10 + ["clerk"] * 91
    lines = [f"{job},{i % 10},{i % 11},{'no' if i % 3 else 'yes'}" for i, job in enumerate(jobs)]
    (tmp_path / "s.csv").write_text("\n".join(["job,ten,eleven,income", *lines, ""]), "utf-8")
    result = draft("--target", "income")
    assert "fewer than 10 records each: 'guard'" in line_about(result, "job")
    assert "nurse" not in line_about(result, "job")
    assert "only 10 whole numbers" in line_about(result, "ten")
    assert "whole numbers" not in line_about(result, "eleven")


def test_another_separator(draft, tmp_path):
    (tmp_path / "s.csv").write_text(survey().replace(",", ";"))
    assert hr.Schema.from_toml(draft("--separator", ";").stdout).target == "income"


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("a,b\n", [], ("no records",)),
        ("a\n1\n", [], ("has one column", "--separator")),
        ("", [], ("is empty",)),
        ("a,b\n1,2\n", ["--target", "c"], ("--target c",)),
        ("a,b\n1,\n", ["--target", "b"], ("no label",)),
        ("a,b\n1,2\n", ["--out", "s.csv"], ("s.csv",)),
        (",b\n1,2\n", ["--target", "b"], ("no name",)),
    ],
)
def test_what_cannot_be_drafted(draft, tmp_path, content, options, words):
    (tmp_path / "s.csv").write_text(content)
    result = draft(*options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert [word for word in words if word not in result.stderr] == []
    assert (tmp_path / "s.csv").read_text() == content


def test_the_group_alone_shows_its_help(run):
    page = run("schema").stdout
    assert page == run("schema", "--help").stdout
    assert [word for word in ("init", "check", "must not leave the building") if word not in page] == []


@pytest.mark.parametrize("command", ["init", "check"])
def test_help_is_narrow(run, command):
    assert max(map(len, run("schema", command, "--help").stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    ("first", "places"),
    [("39,State-gov,77516", "(1, 3)"), ("1e3,x,y", "(1)"), (" ,x,y", "(1)")],
)
def test_a_first_line_that_looks_like_a_record_becomes_no_names(draft, tmp_path, is_refused, first, places):
    (tmp_path / "bare.csv").write_text(first + "\n50,Private,83311\n")
    result = draft("--out", "bare.toml", data="bare.csv")
    is_refused(result, 2, "bare.csv", places, "Add a header line")
    assert "State-gov" not in result.stderr
    assert not (tmp_path / "bare.toml").exists()


def test_a_name_over_two_columns_is_refused(draft, tmp_path, is_refused):
    (tmp_path / "twice.csv").write_text("secret,x,secret\n1,2,3\n")
    result = draft(data="twice.csv")
    is_refused(result, 2, "twice.csv", "columns 1 and 3")
    assert "secret" not in result.stderr


def test_bytes_that_are_not_utf_8_are_taken_for_windows_1252(draft, tmp_path):
    (tmp_path / "latin.csv").write_bytes("größe,income\nMünchen,low\nKöln,high\nBonn,low\n".encode("latin-1"))
    result = draft(data="latin.csv")
    schema = hr.Schema.from_toml(result.stdout)
    assert schema.encoding == "windows-1252"
    assert schema.delimiter is None
    assert schema.features["größe"].values == ("Bonn", "Köln", "München")


@pytest.mark.parametrize(("delimiter", "drafted"), [(",", None), (";", ";"), ("\t", "\t")])
def test_the_delimiter_is_recognized(draft, tmp_path, delimiter, drafted):
    lines = [("weight", "job", "income"), *((f'"{i},5"', "clerk", "low") for i in range(20))]
    (tmp_path / "cells.csv").write_text("\n".join(map(delimiter.join, lines)))
    schema = hr.Schema.from_toml(draft(data="cells.csv").stdout)
    assert schema.delimiter == drafted
    assert (schema.features["weight"].decimal, schema.features["weight"].high) == (",", 19.5)


AMOUNTS = [18_000 + 137 * i * i % 90_000 for i in range(60)]


@pytest.mark.parametrize(
    ("name", "numbers", "called"),
    [
        ("salary", AMOUNTS, False),
        ("balance", [number - 50_000 for number in AMOUNTS], False),
        ("paid", [number + 0.25 for number in AMOUNTS], False),
        ("paid", AMOUNTS, False),  # no id in it
        ("customer_id", AMOUNTS, True),
        ("customerId", AMOUNTS, True),
        ("customer", range(1000, 1120, 2), True),
        ("telephone", [number + 4_900_000_000 for number in AMOUNTS], True),
    ],
)
def test_money_is_no_id(draft, tmp_path, name, numbers, called):
    lines = [f"{name},job,income", *(f"{number},clerk,low" for number in numbers)]
    (tmp_path / "money.csv").write_text("\n".join(lines))
    result = draft(data="money.csv")
    assert result.exit_code == 0
    is_person = hr.Schema.from_toml(result.stdout).person == name
    assert ("Likely ids" in result.stderr or is_person) == called
    if not called and name != "paid":
        assert "an amount, or an id to be dropped?" in line_about(result, name)


@pytest.mark.parametrize("form", ["${:,}", "{} €", "CHF {:,}.50", "({:,}) €", "USD ({:,})"])
def test_money_with_signs_is_read(draft, tmp_path, form):
    lines = ["salary;job;income", *(f"{form.format(number)};clerk;low" for number in AMOUNTS)]
    (tmp_path / "money.csv").write_text("\n".join(lines), "utf-8")
    result = draft("--separator", ";", data="money.csv")
    assert "Likely ids" not in result.stderr
    assert hr.Schema.from_toml(result.stdout).features["salary"].amounts


@pytest.mark.parametrize("form", ["{}-{}", "{} Main Street", "1.2.{}.4"])
def test_other_texts_with_digits_are_no_amounts(draft, tmp_path, form):
    lines = ["x;job;income", *(f"{form.format(number, number)};clerk;low" for number in AMOUNTS)]
    (tmp_path / "texts.csv").write_text("\n".join(lines), "utf-8")
    result = draft("--separator", ";", data="texts.csv")
    is_person = hr.Schema.from_toml(result.stdout).person == "x"
    assert is_person == (" " not in form)
    assert is_person or "Likely ids or free text" in result.stderr
    assert "amounts = true" not in result.stdout


def test_a_date_an_integer_and_a_boolean_go_from_a_draft_to_curves_in_their_own_units(run, draft, tmp_path):
    """The owner confirms the draft; a fit then learns what the made-up records say."""
    generator = np.random.default_rng(0)
    since = np.datetime64("2020-01-01") + generator.integers(0, 366, 6000)
    children, smokes = generator.integers(0, 9, 6000), generator.choice(["True", "False"], 6000)
    odds = (
        (children - 4) / 2 + np.where(smokes == "True", 1, -1) + np.where(since >= np.datetime64("2020-07-01"), 1, -1)
    )
    ill = np.where(generator.logistic(size=6000) < odds, "yes", "no")
    lines = [
        "since,children,smokes,ill",
        *map(",".join, zip(since.astype(str), children.astype(str), smokes, ill, strict=True)),
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", "utf-8")
    result = draft("--out", "t.toml", data="t.csv")
    assert result.exit_code == 0, result.output
    assert line_about(result, "since").split() == ["since", "dates", "2020-01-01", "to", "2020-12-31"]
    text = (tmp_path / "t.toml").read_text("utf-8")
    confirmed = [line for line in text.splitlines() if "origin" not in line.partition("=")[0]]
    (tmp_path / "t.toml").write_text("\n".join(confirmed), "utf-8")
    schema = hr.Schema.load(tmp_path / "t.toml")
    assert (schema.is_given, type(schema.features["since"]), type(schema.features["children"])) == (
        True,
        hr.Date,
        hr.Integer,
    )
    assert run("train", "t.csv", "--schema", "t.toml", "--epsilon", "5", "--out", "t.hedgerow").exit_code == 0
    model = hr.load(tmp_path / "t.hedgerow")
    assert model.certificate_.holds
    labels, curve = model.feature_curve("since")
    firsts = [label.partition(" to ")[0] for label in labels[:-1]]
    assert all(np.datetime64(first) <= np.datetime64("2020-12-31") for first in firsts)
    late = np.array(firsts) >= "2020-07-05"
    assert curve[:-1][late].mean() - curve[:-1][~late].mean() > 1
    labels, curve = model.feature_curve("children")
    assert [label for label in labels if "." in label] == []
    assert curve[-2] - curve[0] > 2
    labels, curve = model.feature_curve("smokes")
    assert labels[:2] == ["False", "True"]
    assert curve[1] - curve[0] > 1


def visits(ids, other="ward"):
    """A table of several records a person, whose ids are in a column of that name."""
    name, texts = ids
    rows = [f"{texts[i]},{i % 7},{20 + i % 50},{i % 2}" for i in range(len(texts))]
    return "\n".join([f"{name},{other},age,ill", *rows]) + "\n"


@pytest.mark.parametrize(
    "ids",
    [
        ("patient_id", [f"S-{i // 3:03d}" for i in range(120)]),
        ("patient", [f"{1 + i % 4}.{i // 3:03d}" for i in range(120)]),
        ("pat_nr", [f"{i // 3}" for i in range(120)]),
        ("PatientID", [100_000 + i // 2 for i in range(120)]),
        ("patientid", [100_000 + i // 2 for i in range(120)]),
        ("PatientenNr", [100_000 + i // 2 for i in range(120)]),
        ("Versichertennummer", [f"A{i // 2}" for i in range(120)]),
        ("id", [f"x{i // 2}" for i in range(120)]),
        ("code", [f"k{i}" for i in range(120)]),
        ("number", [5000 + i for i in range(120)]),
    ],
)
def test_a_column_that_looks_like_an_id_is_drafted_as_person(draft, tmp_path, ids):
    (tmp_path / "s.csv").write_text(visits(ids))
    result = draft("--target", "ill")
    schema = hr.Schema.from_toml(result.stdout)
    assert (schema.person, schema.records_per_person, schema.names) == (ids[0], 1, ("ward", "age"))
    assert f"{len(set(ids[1]))} persons" in line_about(result, ids[0])
    assert "records_per_person = 1\n" in result.stdout


@pytest.mark.parametrize(
    "ids",
    [
        ("site_id", [i % 4 for i in range(120)]),
        ("income", [18_000 + 137 * i * i % 90_000 for i in range(120)]),
        ("weight", [50 + 0.37 * i for i in range(120)]),
        ("born", [f"19{50 + i % 40}-01-{1 + i % 28:02d}" for i in range(120)]),
        ("note", [f"came on day {i} by bus" for i in range(120)]),
        ("customer", ["private", "company", "state"] * 40),
        ("Kundennummerierung", [i % 4 for i in range(120)]),
        ("customer_age", [20 + i % 60 for i in range(120)]),
    ],
)
def test_other_columns_are_no_persons(draft, tmp_path, ids):
    (tmp_path / "s.csv").write_text(visits(ids))
    assert hr.Schema.from_toml(draft("--target", "ill").stdout).person is None


MIXED = ["345.1", "345.10", "G40", "NA"]


@pytest.mark.parametrize("codes", [MIXED, [*MIXED, *(f"E{i}" for i in range(400, 480))], [*MIXED, "x", "y", "z"]])
def test_codes_of_which_some_have_letters_are_compared_as_text(draft, tmp_path, codes):
    """345.1 and 345.10 are two diagnoses, whatever else the column holds and however many values it has."""
    cells = [*MIXED * 3, *codes] * 8
    lines = ["icd,age,ill", *(f"{cell},{20 + i % 50},{'yes' if i % 3 else 'no'}" for i, cell in enumerate(cells))]
    (tmp_path / "icd.csv").write_text("\n".join(lines), "utf-8")
    result = draft(data="icd.csv")
    feature = hr.Schema.from_toml(result.stdout).features["icd"]
    assert feature.as_text
    assert {*MIXED} <= {*feature.values}
    assert ("the 50 most frequent ones are kept" in line_about(result, "icd")) == (len(codes) > 50)
    assert "is 'NA' a value?" in line_about(result, "icd")


def test_an_outcomes_range_is_written_as_those_of_features(draft, tmp_path):
    rows = [f"{1234567.25 + i},{1234567.5 + i}" for i in range(90)]
    (tmp_path / "s.csv").write_text("\n".join(["paid,cost", *rows]), "utf-8")
    result = draft("--outcome")
    assert "range 1234567.25 to 1234656.25;" in line_about(result, "paid")
    assert "range 1234567.5 to 1234656.5" in line_about(result, "outcome")


def test_of_two_ids_the_one_named_after_a_person_is_the_person(draft, tmp_path):
    texts = [f"S-{i // 3:03d}" for i in range(120)]
    lines = visits(("visit_id", [f"v{i}" for i in range(120)]), other="patient_id").splitlines()
    rows = [line.split(",") for line in lines]
    for row, text in zip(rows[1:], texts, strict=True):
        row[1] = text
    (tmp_path / "s.csv").write_text("\n".join(map(",".join, rows)))
    result = draft("--target", "ill")
    assert hr.Schema.from_toml(result.stdout).person == "patient_id"
    assert "'visit_id'" in next(line for line in result.stderr.splitlines() if line.startswith("Likely ids"))
