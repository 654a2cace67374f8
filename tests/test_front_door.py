"""What a user of the library meets first: masks in words, tables as people have them, what was spent, and errors."""

import json
import warnings
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, MinMaxScaler, OneHotEncoder, PolynomialFeatures

from lpbench.cli.new_dataset import new_dataset
from lpbench.errors import ConfigurationError, DataError, NoMaskWarning, PrivacyError, SpendingWarning
from lpbench.estimators import (
    DT,
    KRR,
    PHIST,
    PSGD,
    Hist,
    HistOfTree,
    PrivateIntervals,
    PrivateMajority,
    PrivateMean,
    PrivateSelectionRegressor,
    ResidualGP,
    base,
)
from lpbench.estimators.base import sealed
from lpbench.estimators.public_table import PublicTable
from lpbench.ledger import PrivacyLedger
from lpbench.masks import as_mask, through
from lpbench.privacy import SimulatedUsers
from lpbench.problem import Problem
from lpbench.seeds import Streams

RNG = np.random.default_rng(0)
N = 60
TABLE = pd.DataFrame({"age": RNG.random(N), "income": RNG.random(N), "sex": RNG.choice(["f", "m"], N)})
NUMBERS = TABLE[["age", "income"]]
Y = NUMBERS["age"].to_numpy()
ROW = np.array([True, False])


@pytest.mark.parametrize(
    "mask",
    [
        "age",
        ["age"],
        [0],
        ROW,
        np.tile(ROW, (N, 1)),
        np.tile(ROW, (N, 1)).astype(int),
        lambda frame: ["age"],
        lambda frame: frame.assign(age=True, income=False),
        pd.DataFrame({"income": [False] * N, "age": [True] * N}),
        pd.Series({"income": False, "age": True}),
        pd.Series({"income": 0, "age": 1}),
        pd.Series(["age"]),
        {"income": False, "age": True},
        {"income": False, "age": np.ones(N, dtype=bool)},
    ],
    ids=["name", "names", "numbers", "row", "array", "0/1", "function", "function of rows", "frame", "series",
         "series 0/1", "series of names", "mapping", "mapping of columns"],
)  # fmt: skip
def test_a_mask_is_said_in_any_of_these_ways(mask):
    np.testing.assert_array_equal(as_mask(mask, NUMBERS), np.tile(ROW, (N, 1)))
    fitted, expected = (
        HistOfTree(y_range=(0, 1), random_state=0).fit(NUMBERS, Y, mask=m) for m in (mask, np.tile(ROW, (N, 1)))
    )
    np.testing.assert_array_equal(fitted.predict(NUMBERS), expected.predict(NUMBERS))
    assert fitted.guarantee_.model == "semi_feature_ldp"


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (["agee"], "mask: X has no column 'agee': did you mean age?"),
        ([5], "mask: X has no column '5': known: age, income."),
        ([1, 0, 0], "mask names a column twice; one row for all users is boolean, True = protected"),
        ([True], "mask has shape (1,), expected one row of 2 features for all users, or one row for each user"),
        (np.ones((3, 2)), "mask has shape (3, 2), expected the shape of X, (60, 2)"),
        (np.full((N, 2), 2), "mask has values other than 0/1 (or False/True); 1 means that the feature is protected"),
        (NUMBERS[["age"]] > 0, "mask and X must have the same columns; 'income' is in one of them alone"),
        (NUMBERS.set_axis(range(7, N + 7)) > 2, "mask and X must have the same rows; 60 is in one of them alone"),
    ],
)
def test_a_wrong_mask_is_one_sentence(mask, message):
    with pytest.raises(ValueError) as refused:
        HistOfTree(y_range=(0, 1)).fit(NUMBERS, Y, mask=mask)
    assert str(refused.value) == message


def test_rows_of_a_mask_are_matched_by_the_index_and_a_name_is_all_columns_of_that_name():
    by_user = pd.DataFrame({"age": np.arange(N) < 7, "income": False})
    np.testing.assert_array_equal(as_mask(by_user.iloc[::-1], NUMBERS), by_user.to_numpy())
    np.testing.assert_array_equal(as_mask(by_user, NUMBERS.iloc[::-1]), by_user.to_numpy()[::-1])
    twice = pd.concat([NUMBERS, NUMBERS[["age"]]], axis=1)
    for mask in ("age", ["age"], {"age": True, "income": False}):
        assert as_mask(mask, twice)[0].tolist() == [True, False, True]
    with pytest.raises(DataError, match="columns of the same name, in another order"):
        as_mask(twice.iloc[:, ::-1].iloc[:, [1, 0, 2]] > 2, twice)
    np.testing.assert_array_equal(as_mask(twice > 0.5, twice), twice.to_numpy() > 0.5)


@settings(max_examples=50)
@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=6), st.randoms(), st.data())
def test_a_mask_with_labels_is_matched_by_them_however_it_is_ordered_and_typed(who, random, data):
    rows = [f"user {k}" for k in range(len(who))]
    table = pd.DataFrame(np.zeros((len(who), 3)), index=rows, columns=["a", "b", "c"])
    right = pd.DataFrame(who, index=rows, columns=table.columns)
    said = right.astype(data.draw(st.sampled_from([bool, int, float, object, "boolean", "Int64"])))
    said = said.loc[random.sample(rows, len(rows)), random.sample(list(said), 3)]
    form = data.draw(st.sampled_from(["frame", "series of columns", "one row", "one mapping"]))
    if form.startswith("one"):
        right, said = right.iloc[[0] * len(who)], said.loc[rows[0]]
    mask = said if form in ("frame", "one row") else dict(said.items())
    np.testing.assert_array_equal(as_mask(mask, table), right.to_numpy())


@pytest.mark.parametrize("dtype", ["boolean", "Int64", float])
def test_a_mask_that_misses_a_cell_is_refused(dtype):
    for mask in ({"age": pd.array([None] + [1] * (N - 1), dtype=dtype), "income": 1},
                 pd.Series([None, 1], ["age", "income"], dtype=dtype)):  # fmt: skip
        with pytest.raises(DataError, match="values other than 0/1"):
            as_mask(mask, NUMBERS)


def test_names_need_a_table_with_names():
    with pytest.raises(DataError, match="X has no names; pass a DataFrame, or numbers of columns"):
        as_mask(["age"], NUMBERS.to_numpy())


def test_no_mask_is_said_once_and_only_to_methods_that_would_use_one():
    base._warn_no_mask.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            HistOfTree(y_range=(0, 1)).fit(NUMBERS, Y)
    assert [(w.category, w.filename) for w in caught] == [(NoMaskWarning, __file__)]
    assert "mask=['age', 'income']" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ResidualGP(y_range=(0, 1)).fit(NUMBERS, Y, mask=["age", "income"])
        Hist(y_range=(0, 1)).fit(NUMBERS, Y)


def test_levels_of_a_category_go_together_through_a_column_transformer():
    encode = OneHotEncoder(categories=[["f", "m", "x"]])
    table = ColumnTransformer([("sex", encode, ["sex"]), ("drop", "drop", ["income"])], remainder="passthrough")
    table.fit(TABLE)
    assert through(table, ["sex"]).tolist() == [True, True, True, False]
    assert through(table, ["age", "income"]).tolist() == [False, False, False, True]
    by_user = np.zeros((N, 3), dtype=bool)
    by_user[:5, 2] = True
    found = through(table, by_user)
    np.testing.assert_array_equal(found, np.repeat(by_user[:, 2:] * np.array([1, 1, 1, 0]), 1, axis=1).astype(bool))
    np.testing.assert_array_equal(through(table, lambda frame: by_user, TABLE), found)


@pytest.mark.parametrize(
    ("transformer", "expected"),
    [
        (PolynomialFeatures(2, include_bias=False), [True, False, True, True, False]),
        (KBinsDiscretizer(2, encode="onehot-dense"), [True, True, False, False]),
        (SimpleImputer(strategy="constant", fill_value=0.5, add_indicator=True), [True, False]),
        (PCA(2), [True, True]),
        (FeatureUnion([("pca", PCA(1)), ("same", FunctionTransformer(feature_names_out="one-to-one"))]), [1, 1, 0]),
        (make_pipeline(PolynomialFeatures(2), KBinsDiscretizer(2, encode="ordinal")), [1, 1, 0, 1, 1, 0]),
        (make_pipeline(PCA(2), "passthrough"), [1, 1]),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_an_output_column_is_as_protected_as_what_it_is_made_of(transformer, expected):
    for X in (NUMBERS, NUMBERS.to_numpy()):
        assert through(transformer.fit(X), [0]).tolist() == [bool(e) for e in expected]


def test_a_transformer_without_names_is_refused():
    with pytest.raises(DataError, match="FunctionTransformer names no output columns; give it"):
        through(FunctionTransformer().fit(NUMBERS), [0])
    with pytest.raises(DataError, match="pass the table"):
        through(PCA(1).fit(NUMBERS), lambda frame: ["age"])


def search():
    model = Hist(1.0, y_range=(0, 1), random_state=0)
    return GridSearchCV(model, {"bins": [2, 3]}, cv=2, n_jobs=2)


def test_a_grid_search_pays_for_every_fit_and_the_ledger_names_the_private_selection():
    with pytest.warns(SpendingWarning, match=r"5 fits of Hist paid for: .*epsilon = 5; PrivateSelectionRegressor"):
        with PrivacyLedger() as ledger:
            search().fit(NUMBERS.to_numpy(), Y)
    assert ledger.epsilon == 5.0
    assert json.loads(json.dumps(ledger.as_dict())) == {
        "fits": {"Hist": 5}, "epsilon": 5.0, "delta": 0.0, "limit": None
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpendingWarning)
        with PrivacyLedger() as ledger:
            settings = [{"bins": 2}, {"bins": 3}]
            PrivateSelectionRegressor(1.0, Hist(), settings, y_range=(0, 1), random_state=0).fit(NUMBERS, Y)
    assert ledger.epsilon <= 1.0 and len(ledger.payments) == 1


@pytest.mark.filterwarnings("ignore::lpbench.errors.SpendingWarning")
def test_users_of_a_frame_are_known_by_its_index():
    with PrivacyLedger() as ledger:
        search().fit(NUMBERS, Y)  # everybody is in one training fold of two, at two settings, and in the refit
        assert ledger.epsilon == 3.0 and ledger.of(7) == 3.0
        Hist(0.5, y_range=(0, 1)).fit(NUMBERS[:10], Y[:10])
        assert (ledger.of(7), ledger.of(12)) == (3.5, 3.0)
        Hist(0.5, y_range=(0, 1)).fit(NUMBERS.to_numpy(), Y)
    assert (ledger.of(7), ledger.of(12)) == (4.0, 3.5)
    Hist(0.5, y_range=(0, 1)).fit(NUMBERS, Y)
    assert len(ledger.payments) == 7


def test_learning_from_users_is_entered_once_and_by_what_it_adds():
    records, known = sealed(Hist(1.0, y_range=(0, 1)), NUMBERS.to_numpy(), Y)
    users = SimulatedUsers(records, Streams(0), **known)
    nested = PrivateIntervals(Hist(1.0), y_range=(0, 1), random_state=0)
    with PrivacyLedger() as ledger:
        nested.learn_from(users)
        assert [(p.method, p.epsilon) for p in ledger.payments] == [("PrivateIntervals", 1.0)]
        PrivateMean(0.5, y_range=(0, 1), random_state=1).learn_from(users)
        assert ledger.payments[1].epsilon == 0.5 and ledger.epsilon == 1.5
        problem = Problem(NUMBERS.to_numpy(), Y, NUMBERS.to_numpy(), Y, y_range=(0, 1))
        ResidualGP().sweep(problem, [1.0], {}, Streams(0))
    assert len(ledger.payments) == 2


def test_the_fit_that_would_exceed_the_limit_is_refused_before_anything_is_asked():
    model = Hist(1.0, y_range=(0, 1))
    with PrivacyLedger(limit=1.5) as ledger:
        model.fit(NUMBERS, Y)
        with pytest.raises(PrivacyError, match=r"Hist costs epsilon = 1, and a user has 0\.5 left of limit=1\.5"):
            model.fit(NUMBERS, Y)
        with pytest.raises(PrivacyError, match="KRR costs epsilon = 1,"):
            KRR(1.0, y_range=(0, 1)).fit(NUMBERS, Y)
        with pytest.raises(PrivacyError, match="costs epsilon = inf"):
            DT().fit(NUMBERS, Y)
    assert ledger.epsilon == 1.0
    with pytest.raises(ConfigurationError, match=r"limit=0 must be a finite number > 0"):
        PrivacyLedger(limit=0)


def test_a_guarantee_is_a_sentence_and_a_dictionary_of_plain_numbers():
    guarantee = HistOfTree(1.0, y_range=(0, 1), random_state=0).fit(NUMBERS, Y, mask=["age"]).guarantee_
    assert str(guarantee).startswith(
        "A user spends epsilon = 1 (semi_feature_ldp: the label and the features protected"
    )
    assert "np.float64" not in repr(guarantee) + str(guarantee)
    assert {type(value) for value in guarantee.as_dict().values()} == {str, float, int}
    assert str(DT().fit(NUMBERS, Y).guarantee_) == "No protection: the records are read as they are."


def test_a_csv_becomes_a_private_model_without_indexing_by_hand(tmp_path, capsys):
    """Profile, mask by names through a pipeline, private selection, ledger, interval, plot: on text, dates, gaps."""
    n = 400
    frame = pd.DataFrame(
        {
            "age": RNG.integers(18, 90, n).astype(float),
            "city": RNG.choice(["Oslo", "Rome"], n),
            "joined": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "score": RNG.random(n).round(3),
        }
    )
    frame.loc[::9, "age"] = np.nan
    frame.to_csv(tmp_path / "people.csv", index=False)
    manifest, profile = new_dataset(tmp_path / "people.csv", tmp_path, name="front_door_people", target="score")
    assert manifest.is_file() and "missing" in str(profile.__dict__)

    table = pd.read_csv(tmp_path / "people.csv")
    label = table.pop("score")
    columns = {"age": (18, 90), "city": ["Oslo", "Rome"], "joined": ("2020-01-01", "2022-12-31")}
    features = PublicTable(columns, missing={"age": "level"}).set_output(transform="pandas")
    settings = [{"n_grid_features": 1}, {"n_grid_features": 2}]
    model = PrivateSelectionRegressor(2.0, HistOfTree(), settings, y_range=(0, 1), random_state=0)
    pipeline = make_pipeline(features, PrivateIntervals(model, y_range=(0, 1), random_state=0))
    mask = through(features.fit(table), ["city", "joined"])
    with PrivacyLedger(limit=2.0) as ledger:
        pipeline.fit(table, label, privateintervals__mask=mask)
    assert 0 < ledger.epsilon <= 2.0 and ledger.of(3) <= ledger.epsilon
    predictions = pipeline.predict(table)
    assert pipeline[-1].guarantee_.model == "semi_feature_ldp" and len(predictions) == n
    low, high = pipeline[-1].predict_interval(pipeline[:-1].transform(table), coverage=0.8).T
    assert ((low <= predictions) & (predictions <= high)).all() and ((low <= label) & (label <= high)).mean() > 0.6

    figure = Figure()
    figure.subplots().errorbar(label, predictions, yerr=(predictions - low, high - predictions), fmt=".")
    figure.savefig(tmp_path / "people.png")
    assert (tmp_path / "people.png").stat().st_size > 1000


def test_one_class_constant_labels_one_user_and_three_whole_numbers():
    X = NUMBERS.to_numpy()
    assert Hist(y_range=(0, 1), random_state=0).fit(X, np.full(N, 0.5)).predict(X).shape == (N,)
    assert PrivateMajority(classes=[0, 1], random_state=0).fit(X, np.zeros(N, int)).predict(X).shape == (N,)
    three = np.arange(N) % 3 + 5
    assert PHIST(random_state=0).fit(X, three).classes_.tolist() == [5, 6, 7]
    with pytest.raises(DataError, match=r"hold one class only; pass classes=\[\.\.\.\] with both"):
        PSGD().fit(X, np.full(N, "yes"))
    with pytest.raises(DataError, match=r"n_samples = 1: .*; pass more users or fewer candidates"):
        PrivateSelectionRegressor(y_range=(0, 1)).fit(X[:1], Y[:1], mask=[0])


@pytest.mark.parametrize(
    "cells",
    [
        ["yes", "no"], pd.Categorical(["a", "b"]), pd.to_datetime(["2024-01-01", "2024-01-02"]),
        pd.to_timedelta([1, 2], unit="D"), [date(2024, 1, 1), date(2024, 1, 2)],
    ],
    ids=["text", "category", "dates", "durations", "Python's dates"],
)  # fmt: skip
@pytest.mark.parametrize("predicts", [False, True])
def test_a_column_that_is_no_number_is_named_with_the_way_out(cells, predicts):
    table = pd.DataFrame({"age": [0.1, 0.9] * 20, "job": [*cells] * 20})
    model = PrivateMean(1.0, y_range=(0, 1))
    with pytest.raises(DataError, match=r"no numbers in column 'job': .*public_table\.PublicTable"):
        if predicts:
            model.fit(table.assign(job=0.5), table["age"]).predict(table)
        else:
            model.fit(table, table["age"])


@pytest.mark.parametrize(
    "mask", [["age"], {"age": True, "income": False}, pd.Series({"age": True, "income": False}),
             pd.DataFrame({"age": [True] * 20, "income": [False] * 20})], ids=["names", "mapping", "row", "table"],
)  # fmt: skip
def test_a_mask_of_names_after_a_transformer_names_both_ways_out(mask):
    table = pd.DataFrame({"age": np.linspace(0, 80, 20), "income": np.linspace(9, 5, 20)})
    pipe = make_pipeline(MinMaxScaler(), Hist(1.0, y_range=(0, 1)))
    with pytest.raises(DataError, match=r"set_output\(transform='pandas'\).*lpbench\.masks\.through"):
        pipe.fit(table, np.linspace(0, 1, 20), hist__mask=mask)
    pipe.set_output(transform="pandas").fit(table, np.linspace(0, 1, 20), hist__mask=["age"])


@pytest.mark.parametrize(("classes", "said"), [(["no", None], "labels of one type"), ({"no", "yes"}, "")])
def test_classes_are_labels_of_one_type(classes, said):
    def fit():
        PrivateMajority(1.0, classes=classes).fit(np.zeros((4, 1)), ["no", "yes"] * 2)

    if said:
        with pytest.raises(ConfigurationError, match=said):
            fit()
    else:
        fit()
