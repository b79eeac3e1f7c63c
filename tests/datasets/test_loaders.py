"""Each loader on made-up files of the published form, and on the published files where they are at hand."""

import io
import sys
import tarfile
import warnings
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence

import hedgerow as hr
from hedgerow.datasets import (
    dataset,
    load_adult,
    load_affairs,
    load_bank,
    load_census_income,
    load_diabetes_prediction,
    load_doctor_visits,
    load_wall_following,
    sets,
)
from hedgerow.datasets.dataset import digest
from hedgerow.errors import ConfigurationError, DatasetError
from hedgerow.papers.reproduce.fits import TASKS
from hedgerow.schema import Categorical, Encoder, Numeric

ADULT = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, {}, {}\n"
BANK = (
    '"age";"job";"marital";"education";"default";"housing";"loan";"contact";"month";"day_of_week";"duration";'
    '"campaign";"pdays";"previous";"poutcome";"emp.var.rate";"cons.price.idx";"cons.conf.idx";"euribor3m";'
    '"nr.employed";"y"\r\n'
    '56;"housemaid";"married";"basic.4y";"no";"no";"no";"telephone";"may";"mon";261;1;999;0;"nonexistent";1.1;93.994;'
    '-36.4;4.857;5191;"no"\r\n'
    '25;"admin.";"single";"unknown";"no";"yes";"no";"cellular";"nov";"fri";12;2;6;1;"success";-0.1;93.2;-42;1;5195.8;'
    '"yes"\r\n'
)
CENSUS = (
    "58, Self-employed-not incorporated, 4, 34, Some college but no degree, 0, Not in universe, Divorced, Construction, "
    "Precision production craft & repair, White, All other, Male, Not in universe, Not in universe, "
    "Children or Armed Forces, 0, 0, 0, Head of household, South, {state}, Householder, Householder, 1053.55, MSA to MSA, "
    "Same county, Same county, No, Yes, 1, Not in universe, United-States, United-States, United-States, "
    "Foreign born- Not a citizen of U S , 0, Not in universe, 2, 52, 94, {label}\n"
)
CENSUS_FILES = {
    "census-income.data": CENSUS.format(state="Arkansas", label="- 50000.") + CENSUS.format(state="?", label="50000+."),
    "census-income.test": CENSUS.format(state="Not in universe", label="50000+."),
}
# The distinct values of each categorical feature as the codebook counts them, without "?".
CENSUS_VALUES = "9 52 47 17 3 7 24 15 5 10 2 3 6 8 6 6 50 38 8 9 8 9 3 3 5 42 42 42 5 3 3 3 2".split()
MOVES = ["Move-Forward", "Sharp-Right-Turn", "Slight-Left-Turn", "Slight-Right-Turn"]
DIABETES_HEAD = "gender,age,hypertension,heart_disease,smoking_history,bmi,HbA1c_level,blood_glucose_level,diabetes\n"
DIABETES = "Female,{age},0,1,never,25.19,6.6,140,{label}\n"


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Place files of a set under tmp_path and make the loader take them for the published ones."""

    def place(which, **files):
        contents = {name.replace("__", "."): text.encode() for name, text in files.items()}
        hashes = {name: digest(content) for name, content in contents.items()}
        published = getattr(sets, which)
        monkeypatch.setattr(sets, which, replace(published, hashes=hashes))
        (tmp_path / published.folder).mkdir(exist_ok=True)
        for name, content in contents.items():
            (tmp_path / published.folder / name).write_bytes(content)
        return tmp_path

    return place


@pytest.fixture
def small_adult(made_up):
    train = ADULT.format("United-States", "<=50K") + ADULT.format("?", ">50K") + "\n"
    test = "|1x3 Cross validator\n" + ADULT.format("Cuba", "<=50K.") + ADULT.format("United-States", ">50K.") + "\n"
    return made_up("ADULT", adult__data=train, adult__test=test)


def test_adult_cells_and_labels(small_adult):
    data = load_adult(small_adult)
    assert data.X.dtype == object
    assert data.X.shape == data.X_test.shape == (2, 14)
    assert data.X[0].tolist()[:4] == [39.0, "State-gov", 77516.0, "Bachelors"]
    assert data.X[:, -1].tolist() == ["United-States", "?"]
    assert data.y.tolist() == data.y_test.tolist() == ["<=50K", ">50K"]


def test_adult_options_drop_records_and_columns(small_adult):
    data = load_adult(small_adult, us_born=True, drop_fnlwgt=True)
    assert data.y.tolist() == ["<=50K"]
    assert data.y_test.tolist() == [">50K"]
    names = list(data.schema.features)
    assert len(names) == data.X.shape[1] == data.X_test.shape[1] == 12
    assert not {"fnlwgt", "native-country"} & set(names)
    assert data.X[0, names.index("education")] == "Bachelors"


def test_bank_cells_and_labels(made_up):
    home = made_up("BANK", one__csv=BANK)
    data = load_bank(home)
    assert data.X.dtype == object
    assert data.X.shape == (2, 20)
    assert data.X[0].tolist()[:4] == [56.0, "housemaid", "married", "basic.4y"]
    assert data.X[1].tolist()[-2:] == [1.0, 5195.8]
    assert data.y.tolist() == ["no", "yes"]
    assert data.y.dtype.kind == "U"
    assert data.X_test is None
    head = BANK.splitlines()[0].replace('"', "").split(";")
    assert [*data.schema.names, data.schema.target] == head
    assert undeclared(data.X, data.schema) == {}


def test_bank_puts_clients_who_were_not_called_before_into_a_bin_of_their_own(made_up):
    data = load_bank(made_up("BANK", one__csv=BANK))
    place = data.schema.names.index("pdays")
    assert data.X[:, place].tolist() == [999.0, 6.0]
    assert Encoder(data.schema, 255).transform(data.X)[:, place].tolist() == [6, 0]


def test_experiments_keep_bins_of_equal_width_for_pdays(made_up, monkeypatch):
    monkeypatch.setenv("HEDGEROW_DATA", str(made_up("BANK", one__csv=BANK)))
    feature = TASKS["bank"].load().schema.features["pdays"]
    assert feature == Numeric(0, 999)


@pytest.mark.parametrize("as_frame", [True, False])
def test_partial_dependence_reads_the_numbers_of_a_set_with_words(made_up, as_frame):
    data = load_bank(made_up("BANK", one__csv=BANK + "".join(BANK.splitlines(keepends=True)[1:]) * 20))
    X = pd.DataFrame(data.X, columns=data.schema.names).infer_objects() if as_frame else data.X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few records
        model = hr.EDPRFClassifier(epsilon=1.0, schema=data.schema, n_estimators=2).fit(X, data.y)
    assert partial_dependence(model, X, [0])["grid_values"][0].tolist() == [25, 56]


def test_bank_is_fetched_from_the_zip_in_the_zip(made_up, monkeypatch):
    made_up("BANK", one__csv=BANK)
    inner = zipped({"bank-additional/one.csv": BANK, "__MACOSX/bank-additional/._one.csv": "x"})
    outer = zipped({"bank.zip": zipped({"bank-full.csv": "x"}), "bank-additional.zip": inner})
    monkeypatch.setattr(dataset, "_open_url", lambda url: io.BytesIO(outer))
    assert load_bank().y.tolist() == ["no", "yes"]


def test_census_cells_and_labels(made_up):
    data = load_census_income(made_up("CENSUS_INCOME", **CENSUS_FILES))
    assert data.X.dtype == data.X_test.dtype == object
    assert data.X.shape == (2, 40)
    assert data.X_test.shape == (1, 40)
    assert data.X[0].tolist()[:4] == [58.0, "Self-employed-not incorporated", "4", "34"]
    assert not (data.X == "1053.55").any()  # the instance weight
    states = list(data.schema.names).index("state of previous residence")
    assert data.X[:, states].tolist() == ["Arkansas", "?"]
    assert data.y.tolist() == ["- 50000.", "50000+."]
    assert data.y_test.tolist() == ["50000+."]
    assert undeclared(data.X, data.schema) == undeclared(data.X_test, data.schema) == {}


def test_census_is_fetched_from_the_tar_in_the_zip(made_up, monkeypatch):
    made_up("CENSUS_INCOME", **CENSUS_FILES)
    members = {"census.tar.gz": tarred({"census-income.names": "", **CENSUS_FILES})}
    monkeypatch.setattr(dataset, "_open_url", lambda url: io.BytesIO(zipped(members)))
    assert load_census_income().X.shape == (2, 40)


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return file.getvalue()


def test_census_schema_has_the_codebook_s_values(made_up):
    schema = load_census_income(made_up("CENSUS_INCOME", **CENSUS_FILES)).schema
    counts = [len(feature.values) for feature in schema.features.values() if isinstance(feature, Categorical)]
    assert counts == list(map(int, CENSUS_VALUES))
    assert len(schema.names) == 40
    assert schema.missing == ("?",)
    assert schema.classes == ("- 50000.", "50000+.")
    for recode in ("detailed industry recode", "own business or self employed", "veterans benefits", "year"):
        assert isinstance(schema.features[recode], Categorical)


def test_robot_merges_moves(made_up):
    readings = [",".join(f"{sensor / 10 + row:.3f}" for sensor in range(24)) for row in range(4)]
    home = made_up(
        "WALL_FOLLOWING", one__data="".join(f"{row},{move}\n" for row, move in zip(readings, MOVES, strict=True))
    )
    four, two = load_wall_following(home), load_wall_following(home, classes=2)
    assert four.X.dtype == np.float64
    assert four.X.shape == (4, 24)
    assert four.X[1, 23] == 3.3
    assert four.y.tolist() == MOVES
    forward, other = two.schema.classes
    assert two.y.tolist() == [forward, other, other, forward]
    with pytest.raises(ConfigurationError, match="pass 4 or 2"):
        load_wall_following(home, classes=3)


def test_diabetes_balanced_draws_class_by_class(made_up, monkeypatch):
    labels = "0100100100"
    text = DIABETES_HEAD + "".join(DIABETES.format(age=row, label=label) for row, label in enumerate(labels))
    home = made_up("DIABETES", one__csv=text)
    monkeypatch.setattr(sets, "BALANCED_PER_CLASS", 2)
    generator = np.random.RandomState(42)
    expected = [float([0, 2, 3, 5, 6, 8, 9][drawn]) for drawn in generator.choice(7, 2, replace=False)]
    expected += [float([1, 4, 7][drawn]) for drawn in generator.choice(3, 2, replace=False)]
    for data_home in (home, home / "diabetes_prediction" / "one.csv"):
        data = load_diabetes_prediction(data_home, balanced=True)
        assert data.y.tolist() == ["0", "0", "1", "1"]
        assert data.X[:, 1].tolist() == expected
    assert load_diabetes_prediction(home).y.tolist() == list(labels)


def test_diabetes_is_never_fetched():
    assert sets.DIABETES.url is None
    with pytest.raises(DatasetError, match="no licence"):
        load_diabetes_prediction()


def undeclared(X, schema):
    """Cells that the schema does not know, by feature."""
    found = {}
    for (name, feature), column in zip(schema.features.items(), X.T, strict=True):
        cells = set(column.tolist()) - {"?"}
        if isinstance(feature, Categorical):
            odd = cells - {float(cell) for cell in feature.values} if X.dtype == float else cells - set(feature.values)
        else:
            odd = {cell for cell in cells if not feature.low <= float(cell) <= feature.high}
        if odd:
            found[name] = sorted(odd)
    return found


def test_affairs_fit_their_schema():
    data = load_affairs()
    assert data.X.shape == (6366, 8)
    assert data.X.dtype == np.float64
    assert dict(zip(*np.unique(data.y, return_counts=True), strict=True)) == {"no": 4313, "yes": 2053}
    assert undeclared(data.X, data.schema) == {}
    assert "affairs" not in data.schema.features


def test_doctor_visits_fit_their_schema():
    data = load_doctor_visits()
    assert data.X.shape == (20190, 7)
    assert undeclared(data.X, data.schema) == {}
    assert (data.y.min(), data.y.max(), round(data.y.mean(), 3)) == (0, 77, 2.86)
    columns = dict(zip(data.schema.names, data.X.T, strict=True))
    assert np.unique(columns["coinsurance"]).tolist() == [0, 25, 50, 95, 100]
    assert np.unique(columns["health"]).tolist() == [1, 2, 3, 4]
    assert columns["expenditure_limit"].max() == 4000


@pytest.mark.parametrize("load", [load_affairs, load_doctor_visits])
def test_without_statsmodels_they_say_what_to_install(load, monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.datasets", None)
    with pytest.raises(DatasetError, match="pip install statsmodels pandas"):
        load()


@pytest.mark.usefixtures("published")
class TestPublishedFiles:
    def test_adult(self):
        data = load_adult()
        assert data.X.shape == (32561, 14)
        assert data.X_test.shape == (16281, 14)
        assert (data.y == ">50K").sum() == 7841
        assert (data.y_test == ">50K").sum() == 3846
        assert set(data.y) == set(data.y_test) == set(data.schema.classes)
        assert undeclared(data.X, data.schema) == undeclared(data.X_test, data.schema) == {}

    def test_adult_as_the_dpada_paper_uses_it(self):
        data = load_adult(us_born=True, drop_fnlwgt=True)
        assert data.X.shape == (29170, 12)
        assert data.X_test.shape == (14662, 12)
        assert undeclared(data.X, data.schema) == {}

    @pytest.mark.full
    def test_bank(self):
        data = load_bank()
        assert data.X.shape == (41188, 20)
        assert (data.y == "yes").sum() == 4640
        assert set(data.y) == set(data.schema.classes)
        assert undeclared(data.X, data.schema) == {}
        assert len(data.split(0.3, 0)[1]) == 12357

    @pytest.mark.full
    def test_census(self):
        data = load_census_income()
        assert data.X.shape == (199523, 40)
        assert data.X_test.shape == (99762, 40)
        assert (data.y == "50000+.").sum() == 12382
        assert (data.y_test == "50000+.").sum() == 6186
        assert set(data.y) == set(data.y_test) == set(data.schema.classes)
        assert undeclared(data.X, data.schema) == undeclared(data.X_test, data.schema) == {}

    def test_robot(self):
        data = load_wall_following()
        assert data.X.shape == (5456, 24)
        moves = dict(zip(*np.unique(data.y, return_counts=True), strict=True))
        assert moves == dict(zip(MOVES, (2205, 2097, 328, 826), strict=True))
        assert data.X.min() >= 0
        assert data.X.max() == 5.087  # above the range of the sensors by 87 mm
        assert len(data.split(0.2, 42)[1]) == 1092

    def test_diabetes(self):
        data = load_diabetes_prediction()
        assert data.X.shape == (100000, 8)
        assert (data.y == "1").sum() == 8500
        assert undeclared(data.X, data.schema) == {}

    @pytest.mark.parametrize("kind", ["Hedgerow", "EDPRF"])
    @pytest.mark.parametrize(
        "load",
        [
            load_adult,
            load_bank,
            load_diabetes_prediction,
            load_wall_following,
            load_affairs,
            load_doctor_visits,
            pytest.param(load_census_income, marks=pytest.mark.full),
        ],
    )
    def test_no_fit_warns_about_the_schema_of_the_library(self, load, kind):
        data = load()
        made = hr.HedgerowRegressor if data.schema.outcome is not None else getattr(hr, f"{kind}Classifier")
        model = made(epsilon=1.0, schema=data.schema, ledger=hr.Ledger(epsilon=1.0))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(data.X, data.y)

    def test_diabetes_balanced(self):
        data = load_diabetes_prediction(balanced=True)
        assert data.y.tolist() == ["0"] * 7000 + ["1"] * 7000
        assert len(data.split(0.2, 42)[1]) == 2800
