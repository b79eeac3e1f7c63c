import bz2
import csv
import io
import json
import os
import stat
import threading

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.papers.edprf import EDPRFClassifier
from hedgerow.reading.table_file import read_table
from hedgerow.schema import Encoder

ODD = (
    '"90,single,1,high',
    "1,2,3,4,5",
    "x",
    '55,"single,1,high',
    "40,wed,9,unheard of",
    "inf,single,1,low",
    "\x00\r,,,low",
)


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_a_model_starts_from_the_one_of_a_file(folder, run, train):
    own = "--system", "hedgerow"
    assert train(*own, "--param", "n_estimators=3", out="first.hedgerow").exit_code == 0
    trained = train(*own, "--init", "first.hedgerow", out="second.hedgerow")
    assert trained.exit_code == 0, trained.output
    first, second = hr.load("first.hedgerow"), hr.load("second.hedgerow")
    assert first.certificate_.digest[:16] in str(second.certificate_.starts[0])
    assert len(second.model_.parts[0].terms) == 3
    sizes = json.loads(run("inspect", "second.hedgerow", "--json").stdout)["sizes"]
    assert (sizes["rounds"], sizes["terms_of_the_start"]) == (len(second.model_.own.terms), 3)
    assert "the model that it starts from" in trained.output
    assert "records that both read, the sum: epsilon = " in " ".join(trained.output.split())
    seeded = train(*own, "--param", "n_estimators=1", "--param", "random_state=1", out="seeded.hedgerow")
    assert seeded.exit_code == 0, seeded.output
    for more, holds in (((), False), (("--public-start",), True)):
        trained = train(*own, "--init", "seeded.hedgerow", *more, out=f"third{holds}.hedgerow")
        assert hr.load(f"third{holds}.hedgerow").certificate_.holds is holds
        assert ("records of a start being public, as the caller stated" in trained.output) is holds


def test_what_is_no_start_is_refused_before_the_fit(folder, run, train):
    assert train(out="first.hedgerow").exit_code == 0
    for more, words in (
        (("--init", "first.hedgerow"), "EDPRFClassifier starts from no model"),
        (("--init", "first.hedgerow", "--system", "hedgerow"), "init is EDPRFClassifier, but it must be"),
        (("--init", "people.csv", "--system", "hedgerow"), "is not a model file"),
        (("--init", "none.hedgerow", "--system", "hedgerow"), "does not exist"),
        (("--param", "init=first.hedgerow", "--system", "hedgerow"), "has no parameter 'init' for --param"),
        (("--param", "public_start=True", "--system", "hedgerow"), "has no parameter 'public_start' for --param"),
        (("--public-start", "--system", "hedgerow"), "pass --init MODEL, too"),
    ):
        refused = train(*more, out="second.hedgerow")
        assert refused.exit_code == 2, refused.output
        assert words in refused.stderr
    overwriting = train("--init", "first.hedgerow", "--system", "hedgerow", "--force", out="first.hedgerow")
    assert "a file that this command reads" in overwriting.stderr
    assert files(folder) == ["first.hedgerow", "people.csv", "people.toml"]


def test_train_and_predict(folder, run, train):
    trained = train()
    assert trained.exit_code == 0, trained.output
    assert trained.stdout.startswith("Privacy certificate of EDPRFClassifier (private)")
    assert "holds      yes" in trained.stdout
    assert trained.stderr == f"wrote {folder / 'm.hedgerow'}\n"
    assert "accuracy" not in trained.output
    assert files(folder) == ["m.hedgerow", "people.csv", "people.toml"]

    labels = run("predict", "m.hedgerow", "people.csv")
    assert (labels.exit_code, labels.stderr) == (0, "")
    [header, *answers] = rows(labels.stdout)
    assert header == ["prediction"]
    assert len(answers) == 60
    assert {answer for [answer] in answers} <= {"low", "high"}

    shares = run("predict", "m.hedgerow", "people.csv", "--proba", "--out", "p.csv")
    assert (shares.exit_code, shares.stdout, shares.stderr) == (0, "", f"wrote {folder / 'p.csv'}\n")
    [header, *answers] = rows((folder / "p.csv").read_text("utf-8"))
    assert header == ["probability_high", "probability_low"]
    found = np.array(answers, dtype=float)
    model = hr.load("m.hedgerow")
    columns = read_table("people.csv")
    assert (found == model.predict_proba({name: columns[name] for name in model.schema_.names})).all()


CLOSED = [line for line in ODD if line.count('"') % 2 == 0]  # an open quote reaches to the next one


def test_odd_lines_train_and_each_has_a_prediction(people, folder, run, train):
    odd = [*CLOSED, '90,"single,1,high']
    (folder / "people.csv").write_text(people + "\n" + "\n".join(odd) + "\n", "utf-8", newline="")
    trained = train()
    assert trained.exit_code == 0, trained.output
    assert trained.stderr == f"wrote {folder / 'm.hedgerow'}\n"
    predicted = run("predict", "m.hedgerow", "people.csv")
    assert len(rows(predicted.stdout)) == 1 + 60 + len(odd)
    assert "open quote in 1 record:" in predicted.stderr


@pytest.mark.parametrize("odd", CLOSED)
def test_one_odd_line_changes_no_other_codes(people, folder, odd):
    encoder = Encoder(hr.Schema.load("people.toml"), 5)

    def encoded(lines):
        (folder / "odd.csv").write_text("\n".join(lines), "utf-8", newline="")
        columns = read_table("odd.csv")
        labels = encoder.labels(columns.pop("income"))
        return np.column_stack([encoder.transform(columns), labels])

    [header, *lines] = people.splitlines()
    plain = encoded([header, *lines])
    with_odd = encoded([header, *lines[:30], odd, *lines[30:]])
    assert (np.delete(with_odd, 30, axis=0) == plain).all()


def test_a_file_of_malformed_lines_trains_like_any_other(folder, train):
    (folder / "bad.csv").write_text("age,marital status,code,income\n1\n")
    assert train(data="bad.csv").exit_code == 0


def test_columns_stand_in_any_order_and_predictions_ignore_others(people, folder, run, train):
    lines = [line.rsplit(",", 1) for line in people.splitlines()]
    (folder / "turned.csv").write_text("\n".join(f"{label},{rest}" for rest, label in lines))
    assert train(data="turned.csv").exit_code == 0
    (folder / "more.csv").write_text("\n".join(f"{i},{rest}" for i, (rest, _) in enumerate(lines)))
    plain = run("predict", "m.hedgerow", "people.csv", "--proba").stdout
    assert run("predict", "m.hedgerow", "more.csv", "--proba").stdout == plain
    assert run("predict", "m.hedgerow", "turned.csv", "--proba").stdout == plain


@pytest.mark.parametrize(("shown", "real"), [(";", ";"), ("\\t", "\t")])
def test_another_separator(people, folder, run, train, shown, real):
    text = people.replace(",", real).replace(f"married{real} or so", "married, or so")
    (folder / "other.csv").write_text(text)
    assert train("--separator", shown, data="other.csv").exit_code == 0
    result = run("predict", "m.hedgerow", "other.csv", "--separator", shown)
    assert result.stdout.count("\n") == 61


def test_a_prediction_without_records_is_a_header(folder, run, train):
    train()
    (folder / "none.csv").write_text("age,marital status,code\n")
    assert run("predict", "m.hedgerow", "none.csv", "--proba").stdout == "probability_high,probability_low\n"


def test_kept_columns_stand_before_the_answers(people, folder, run, train, is_refused):
    assert train().exit_code == 0
    plain = run("predict", "m.hedgerow", "people.csv", "--proba")
    header, *lines = people.splitlines()
    with_keys = [f'"key, no",{header}', *(f'"a, {i}",{line}' for i, line in enumerate(lines)), "only one cell"]
    (folder / "keys.csv").write_text("\n".join(with_keys) + "\n")
    kept = run("predict", "m.hedgerow", "keys.csv", "--proba", "--keep", "key, no", "--keep", "age", "--keep", "age")
    assert kept.exit_code == 0, kept.output
    found = rows(kept.stdout)
    assert found[0] == ["key, no", "age", "probability_high", "probability_low"]
    assert [row[0] for row in found[1:]] == [*(f"a, {i}" for i in range(60)), ""]
    assert [row[1] for row in found[1:]] == [*(line.split(",")[0] for line in lines), ""]
    assert [row[2:] for row in found[1:-1]] == rows(plain.stdout)[1:]
    is_refused(run("predict", "m.hedgerow", "keys.csv", "--keep", "id"), 2, "keys.csv lacks the column 'id'")


def test_a_kept_column_may_not_have_the_name_of_an_answer(people, folder, run, train, is_refused):
    assert train().exit_code == 0
    header, *lines = people.splitlines()
    (folder / "p.csv").write_text("\n".join([f"{header},prediction", *(f"{line},1" for line in lines)]))
    is_refused(run("predict", "m.hedgerow", "p.csv", "--keep", "prediction"), 2, "--keep prediction", "rename")
    assert run("predict", "m.hedgerow", "p.csv", "--keep", "prediction", "--proba").exit_code == 0


@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_train_fits_the_library_s_own_ensemble_by_default(folder, run):
    trained = run("train", "people.csv", "--schema", "people.toml", "--epsilon", "1", "--out", "m.hedgerow")
    assert trained.exit_code == 0, trained.output
    assert isinstance(hr.load("m.hedgerow"), hr.HedgerowClassifier)


def test_labels_are_quoted_where_csv_needs_it(folder, run, train):
    text = (folder / "people.toml").read_text().replace('["low", "high"]', '["low, or so", "say \\"high\\""]')
    (folder / "people.toml").write_text(text)
    assert train().exit_code == 0
    assert rows(run("predict", "m.hedgerow", "people.csv", "--proba").stdout)[0] == [
        "probability_low, or so",
        'probability_say "high"',
    ]


def test_target_option(folder, run, train):
    text = (folder / "people.toml").read_text()
    (folder / "none.toml").write_text(text.replace('target = "income"\n', ""))
    (folder / "wrong.toml").write_text(text.replace('"income"', '"wages"'))
    for schema in ("none.toml", "wrong.toml"):
        assert train("--force", "--target", "income", schema=schema).exit_code == 0
        assert hr.load("m.hedgerow").schema_.target == "income"


def test_params_and_adjacency_reach_the_model(folder, train):
    result = train(
        *("--param", "n_estimators=3", "--param", "max_depth=none", "--param", "stop=none"),
        *("--adjacency", "replace-one", "--param", "random_state=7"),
    )
    assert result.exit_code == 0, result.output
    model = hr.load("m.hedgerow")
    assert (model.n_estimators, model.max_depth, model.stop) == (3, None, "none")
    assert (model.adjacency, model.random_state, model.epsilon) == ("replace-one", 7, 1.0)
    assert "holds      NO" in result.stdout
    assert "note: no guarantee holds" in result.stderr


RANGE = "low = 0\nhigh = 100"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (RANGE, "", ("features.age", "'high'")),
        (RANGE, "low = 9\nhigh = 5", ("features.age", "empty")),
        ("[features.age]", "[features.age", ("not TOML",)),
        ('target = "income"\n', "", ("--target",)),
        ('target = "income"', 'target = "age"', ("age", "feature")),
    ],
)
def test_a_wrong_schema(folder, train, is_refused, old, new, words):
    text = (folder / "people.toml").read_text()
    assert old in text
    (folder / "people.toml").write_text(text.replace(old, new))
    is_refused(train(), 2, *words)
    assert files(folder) == ["people.csv", "people.toml"]


@pytest.mark.parametrize("epsilon", ["0", "nan", "abc"])
def test_a_wrong_epsilon(train, is_refused, epsilon):
    is_refused(train(epsilon=epsilon), 2, "--epsilon", epsilon)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--system", "oak"], ("oak", "edprf", "pfdpdt")),
        (["--adjacency", "near"], ("--adjacency", "replace-one")),
        (["--param", "leaves=3"], ("leaves", "max_depth, max_bins, n_estimators, stop")),
        (["--param", "max_depth"], ("max_depth", "name=value")),
        (["--param", "max_depth=deep"], ("max_depth", "must be an integer from")),
        (["--param", "max_depth=-1"], ("max_depth", "integer")),
        (["--param", "max_depth=1", "--param", "max_depth=2"], ("twice",)),
        (["--param", "stop=never"], ("stop", "noisy-minority")),
        (["--param", "epsilon=3"], ("no parameter 'epsilon' for --param",)),
        (["--param", "ledger=x"], ("ledger",)),
        (["--separator", '"'], ("--separator",)),
        (["--separator", ";"], ("first line", "--separator")),
        (["--target", "wages"], ("wages",)),
        (["--surprise"], ("--surprise",)),
    ],
)
def test_a_wrong_option(folder, train, is_refused, options, words):
    is_refused(train(*options), 2, *words)
    assert files(folder) == ["people.csv", "people.toml"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("age,", "years,", ("lacks", "'age'")),
        (",income", ",wages", ("lacks", "'income'")),
        ("age,marital status,code,income", "age,marital status,code,income,id", ("'id'", "Drop it")),
        ("age,marital status,code,income", "age,age,code,income", ("'age' over its columns 1 and 2",)),
        ("age,marital status,code,income", "age,income,code,income", ("'income' over its columns 2 and 4",)),
        ("age,marital status,code,income", "age,marital status,code,income,id,id", ("the column 'id',", "Drop it")),
    ],
)
def test_wrong_columns_are_refused_and_no_model_is_written(people, folder, train, is_refused, old, new, words):
    (folder / "people.csv").write_text(people.replace(old, new, 1))
    is_refused(train(), 2, "people.csv", *words)
    assert files(folder) == ["people.csv", "people.toml"]


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file(folder, train, is_refused, text):
    (folder / "people.csv").write_text(text)
    is_refused(train(), 2, "people.csv", "is empty")


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_records_is_refused(folder, train, is_refused, text):
    (folder / "people.csv").write_text("age,marital status,code,income" + text)
    is_refused(train(), 2, "there are no records")


@pytest.mark.parametrize("first", ["secret,secret,1,1", "33,secret,,high"])
def test_a_file_without_header_is_not_quoted(folder, run, train, is_refused, first):
    (folder / "bare.csv").write_text(first + "\n")
    result = train(data="bare.csv")
    is_refused(result, 2, "bare.csv", "If its first line is a record, add a header line")
    assert "secret" not in result.stderr
    train()
    result = run("predict", "m.hedgerow", "bare.csv")
    is_refused(result, 2, "bare.csv has none of the schema's columns ('age', 'marital status', 'code')")
    assert "secret" not in result.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (bz2.compress(b"x"), "zero bytes"),
        ("age,income\n".encode("utf-16"), "zero bytes"),
        ("größe,income\n".encode("latin-1"), "is not in utf-8"),
    ],
)
def test_a_file_that_is_no_utf_8_is_named_before_anything_is_spent(folder, run, train, is_refused, content, words):
    train()
    (folder / "odd.csv").write_bytes(content)
    is_refused(train("--force", data="odd.csv"), 2, "odd.csv", words)
    is_refused(run("schema", "check", "odd.csv", "--schema", "people.toml"), 2, "odd.csv", words)
    if "utf-8" not in words:  # which a draft recognizes
        is_refused(run("schema", "init", "odd.csv"), 2, "odd.csv", words)
    is_refused(run("predict", "m.hedgerow", "odd.csv"), 2, "odd.csv", words)


def test_the_header_is_checked_before_a_record_is_read(folder, train, is_refused, monkeypatch):
    monkeypatch.setattr("hedgerow.reading.table_file.CSVFile.batches", lambda _: pytest.fail("records were read"))
    (folder / "few.csv").write_text("age,code\n1,2\n")
    is_refused(train(data="few.csv"), 2, "lacks")


def test_a_bad_byte_is_a_matter_of_its_cell_and_only_a_prediction_tells_it(people, folder, run, train):
    (folder / "people.csv").write_bytes(people.encode() + b"30,\xfcber,1,high\n31,single,2,l\xf6w\n")
    trained = train()
    assert (trained.exit_code, trained.stderr) == (0, f"wrote {folder / 'm.hedgerow'}\n")
    predicted = run("predict", "m.hedgerow", "people.csv")
    assert (predicted.exit_code, predicted.stdout.count("\n")) == (0, 63)
    assert "2 cells of the columns 'marital status', 'income' have bytes" in predicted.stderr


def test_predictions_pass_over_names_that_the_model_does_not_read(people, folder, run, train, is_refused):
    train()
    plain = run("predict", "m.hedgerow", "people.csv").stdout
    lines = people.splitlines()
    (folder / "more.csv").write_text("\n".join(["note,note,," + lines[0], *("x,y,,," + line for line in lines[1:])]))
    (folder / "more.csv").write_text((folder / "more.csv").read_text().replace("note,note,,age", "note,note,,,age"))
    assert run("predict", "m.hedgerow", "more.csv").stdout == plain
    (folder / "more.csv").write_text("\n".join(f"age,{line}" for line in lines))
    is_refused(run("predict", "m.hedgerow", "more.csv"), 2, "'age' over its columns 1 and 2")


def test_missing_files_are_refused_by_name(folder, run, train, is_refused):
    is_refused(train(data="gone.csv"), 2, "gone.csv")
    is_refused(train(schema="gone.toml"), 2, "gone.toml")
    is_refused(run("predict", "gone.hedgerow", "people.csv"), 2, "gone.hedgerow")


def test_a_schema_is_asked_for(folder, run):
    result = run("train", "people.csv")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert [word for word in ("public knowledge", "[features.age]", "--schema FILE") if word not in result.stderr] == []
    example = result.stderr.split("such as\n")[1].split("and pass it")[0]
    assert hr.Schema.from_toml(example.replace("\n  ", "\n")).names == ("age", "sex")


def test_an_impossible_output_is_refused_before_the_fit(folder, run, train, is_refused, monkeypatch):
    monkeypatch.setattr(EDPRFClassifier, "fit", lambda *_: pytest.fail("budget was spent"))
    is_refused(train(out="nowhere/m.hedgerow"), 2, "nowhere")
    is_refused(train(out="."), 2, "--out")
    is_refused(train(out="people.csv"), 2, "people.csv")
    is_refused(train("--force", out="people.toml"), 2, "a file that this command reads")
    (folder / "old.hedgerow").write_text("old")
    is_refused(train(out="old.hedgerow"), 2, "old.hedgerow exists already", "--force")
    assert (folder / "old.hedgerow").read_text() == "old"
    os.mkfifo("pipe")
    is_refused(train(out="pipe"), 2, "ordinary file")
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


def test_a_folder_that_cannot_be_written(train, is_refused, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hedgerow.cli.options.tempfile.TemporaryFile", refuse)
    monkeypatch.setattr(EDPRFClassifier, "fit", lambda *_: pytest.fail("budget was spent"))
    is_refused(train(), 2, "--out", "cannot be written")


def test_a_refused_budget_exits_with_3_and_leaves_no_model(folder, train, is_refused, monkeypatch):
    def refuse(*_):
        raise hr.BudgetExceeded("the ledger has 0 left; nothing was drawn.")

    monkeypatch.setattr(EDPRFClassifier, "fit", refuse)
    is_refused(train(), 3, "nothing was drawn")
    assert files(folder) == ["people.csv", "people.toml"]


def test_a_failed_prediction_leaves_the_old_file(folder, run, train, monkeypatch):
    train()
    (folder / "p.csv").write_text("old")

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(EDPRFClassifier, "predict", fail)
    assert run("predict", "m.hedgerow", "people.csv", "--out", "p.csv", "--force").exit_code == 1
    assert (folder / "p.csv").read_text() == "old"
    assert files(folder) == ["m.hedgerow", "p.csv", "people.csv", "people.toml"]


def test_a_file_is_replaced_only_by_force(folder, run, train, is_refused):
    (folder / "m.hedgerow").write_text("old")
    assert train("--force").exit_code == 0
    predict = ["predict", "m.hedgerow", "people.csv", "--out", "p.csv"]
    (folder / "p.csv").write_text("old")
    is_refused(run(*predict), 2, "p.csv exists already", "--force")
    assert (folder / "p.csv").read_text() == "old"
    assert run(*predict, "--force").exit_code == 0
    assert (folder / "p.csv").read_text().startswith("prediction\n")
    is_refused(run("predict", "m.hedgerow", "people.csv", "--force", "--out", "people.csv"), 2, "people.csv")


def test_python_refuses_the_columns_that_the_command_ignores_and_its_help_says_so(people, folder, run, train):
    train()
    model, columns = hr.load("m.hedgerow"), read_table("people.csv")
    assert len(model.predict(columns)) == len(columns["income"])  # the target may be there, and is not read
    with pytest.raises(hr.SchemaError, match="Drop it from X"):
        model.predict({**columns, "id": columns["code"]})
    assert run("predict", "m.hedgerow", "people.csv").exit_code == 0
    text = " ".join(run("predict", "--help").stdout.split())
    assert "In Python, a model's predict refuses a frame with other columns" in text


def test_predictions_that_cannot_be_made_or_written_are_refused(folder, run, train, is_refused):
    train()
    (folder / "few.csv").write_text("age,code\n1,2\n")
    is_refused(run("predict", "m.hedgerow", "few.csv"), 2, "few.csv", "'marital status'", "Add it ")
    (folder / "few.csv").write_text("age\n1\n")
    is_refused(run("predict", "m.hedgerow", "few.csv"), 2, "few.csv", "Add them ")
    is_refused(run("predict", "people.csv", "people.csv"), 2, "people.csv is not a model file")
    is_refused(run("predict", "m.hedgerow", "people.csv", "--out", "people.csv"), 2, "people.csv")
    is_refused(run("predict", "m.hedgerow", "people.csv", "--out", "no/p.csv"), 2, "does not exist")


def test_a_pipe_is_read_once(people, folder, run, train):
    train()
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_text(people))
    writer.start()
    assert run("predict", "m.hedgerow", "pipe").stdout.count("\n") == 61
    writer.join()


def test_train_as_json(folder, train):
    result = train("--json", "--param", "n_estimators=2")
    assert result.exit_code == 0, result.output
    assert result.stderr == f"wrote {folder / 'm.hedgerow'}\n"
    found = json.loads(result.stdout)
    model = hr.load("m.hedgerow")
    assert sorted(found) == ["certificate", "class", "holdout", "model", "parameters"]
    assert (found["class"], found["model"]) == ("EDPRFClassifier", str(folder / "m.hedgerow"))
    assert found["parameters"]["n_estimators"] == 2
    assert found["certificate"] == {
        "holds": True,
        "reasons": [],
        **json.loads(json.dumps(model.certificate_.to_dict())),
        "text": model.certificate_.details(),
    }
