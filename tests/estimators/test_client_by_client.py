"""Users who answer one at a time, in bits, give the model of the simulation to the last bit."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from jinja2 import Environment

import lpbench
from lpbench import estimators as models
from lpbench.estimators import (
    LPCT,
    AdHistOfTree,
    HistOfTree,
    PrivateLabelsClassifier,
    PrivateLabelsRegressor,
    ResidualGP,
    ResidualScore,
)
from lpbench.estimators.base import sealed
from lpbench.estimators.relabeled import Indicator, RelabeledDevice, RelabeledQuestion, RelabeledUsers
from lpbench.estimators.tuning_free.ablations import LabelsAlone, OneLeafSize, RandomizedResponse, RecordScore
from lpbench.estimators.tuning_free.level_reports import LevelReport
from lpbench.estimators.tuning_free.rounds import RESIDUAL, Question
from lpbench.privacy import PublicSample, Records, SimulatedUsers
from lpbench.privacy.spending import numeric_bits
from lpbench.seeds import Streams
from tests.client_by_client import ClientByClient, ReportByReport
from tests.estimators.loops import learned

Y_RANGE = (-1.0, 2.0)


def template():
    """The classification method of the template, as a user's own module."""
    source = (Path(lpbench.__file__).parent / "cli" / "templates" / "classification.py.j2").read_text(encoding="utf-8")
    module = type(sys)("template_of_a_method")
    sys.modules[module.__name__] = module
    code = Environment(autoescape=False).from_string(source).render(title="Mine", class_name="Mine")
    exec(compile(code, module.__name__, "exec"), vars(module))
    return module


TEMPLATE = template()


def regression(n, personal=True, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.clip(X @ np.linspace(0.2, 1.0, d) - 0.5 + 0.1 * rng.standard_normal(n), *Y_RANGE)
    mask = np.zeros((n, d), dtype=bool)
    mask[:, 0] = True
    if personal:
        mask[:, 1] = rng.random(n) < 0.3
    return {"X": X, "y": y, "mask": mask}


def classification(n, classes, seed=0, public=80, shows=False):
    """Features and classes of n users and of public rows, all classes among both."""
    rng = np.random.default_rng(seed)
    X, X_public = rng.random((n, 3)), rng.random((public, 3))
    labels = [np.asarray(classes)[(len(classes) * Z[:, 0] ** 1.5).astype(int)] for Z in (X, X_public)]
    for label in labels if public else labels[:1]:
        label[: len(classes)] = classes
    data = {"X": X, "y": labels[0]}
    if public:
        data |= {"X_public": X_public, "y_public": labels[1]}
    return data | ({"mask": np.zeros((n, 3), dtype=bool)} if shows else {})


def tree_model(kind=HistOfTree, epsilon=2.0, **options):
    return kind(epsilon, noise="discrete", y_range=Y_RANGE, **options)


ALIGNED, PERSONAL = partial(regression, 150, personal=False), partial(regression, 150)
WITH_ROWS, ALONE = partial(classification, 60), partial(classification, 120, public=0, shows=True)
FEW_ROWS = partial(classification, 120, [0, 1], public=30)
THREE, FIVE, LETTERS = [0, 1, 2], list("abcde"), ["a", "b", "c"]
AT_TWO = {"depth": 2, "public_weight": 1.0, "min_samples_leaf": 0, "classes": [0, 1]}
#: Name -> a method and what makes its data.
METHODS = {
    "HistOfTree, aligned grr": (tree_model(bins=2, depth=2), ALIGNED),
    "HistOfTree, personal grr": (tree_model(bins=3, depth=2), PERSONAL),
    "HistOfTree, personal rr": (tree_model(bins=2, depth=2, mechanism="rr"), PERSONAL),
    "HistOfTree, cart": (tree_model(epsilon=1.0, bins=2, depth=3, rule="cart"), PERSONAL),
    "HistOfTree, no grid": (tree_model(n_grid_features=0, bins=2, depth=2), PERSONAL),
    "HistOfTree, label only": (tree_model(epsilon=1.0, bins=1, depth=2, label_share=1.0), ALIGNED),
    "HistOfTree, tight": (tree_model(epsilon=1.0, bins=1, depth=2, constants="tight"), ALIGNED),
    "HistOfTree, adaptive": (tree_model(AdHistOfTree), PERSONAL),
    "LPCT, discrete": (LPCT(2.0, noise="discrete", **AT_TWO), FEW_ROWS),
    "LPCT, rr": (LPCT(2.0, mechanism="rr", **AT_TWO), FEW_ROWS),
    "LPCT, per user": (
        LPCT(1.0, 2, 2.0, mechanism="rr", noise="per_user", min_samples_leaf=0, classes=LETTERS),
        partial(classification, 80, LETTERS, public=30),
    ),
    "LPCT, depth of the sample": (LPCT(2.0, mechanism="rr", classes=[0, 1]), partial(classification, 120, [0, 1])),
    "ResidualGP, small budget": (ResidualGP(1.0, y_range=Y_RANGE), partial(regression, 260)),
    "ResidualGP, joint reports": (ResidualGP(8.0, y_range=Y_RANGE), partial(regression, 260)),
    "ResidualScore, two classes": (RecordScore(1.0, classes=[0, 1]), partial(WITH_ROWS, [0, 1])),
    "ResidualScore, subsets": (ResidualScore(0.5, classes=FIVE), partial(WITH_ROWS, FIVE)),
    "ResidualScore, many cells": (OneLeafSize(6.0, classes=[0, 1]), partial(classification, 240, [0, 1])),
    "ResidualScore, three classes, grr": (RandomizedResponse(3.0, classes=[1, 2, 5]), partial(WITH_ROWS, [1, 2, 5])),
    "ResidualScore, labels alone": (LabelsAlone(1.0, classes=[False, True]), partial(WITH_ROWS, [False, True])),
    "ResidualScore, features": (ResidualScore(1.0, classes=[0, 1]), partial(ALONE, [0, 1])),
    "ResidualScore, features and sample, three classes": (
        ResidualScore(2.0, classes=THREE),
        partial(classification, 120, THREE, shows=True),
    ),
    "PrivateLabelsRegressor, levels": (
        PrivateLabelsRegressor(2.0, randomizer="levels", y_range=Y_RANGE),
        partial(regression, 120),
    ),
    "PrivateLabelsRegressor, piecewise": (
        PrivateLabelsRegressor(2.0, randomizer="piecewise", y_range=Y_RANGE),
        partial(regression, 120),
    ),
    "PrivateLabelsClassifier, rr": (PrivateLabelsClassifier(2.0, classes=THREE), partial(ALONE, THREE)),
    "PrivateLabelsClassifier, subsets": (
        PrivateLabelsClassifier(0.5, randomizer="subset_selection", classes=FIVE),
        partial(ALONE, FIVE),
    ),
    "PrivateLabelsClassifier, bits": (
        PrivateLabelsClassifier(1.0, randomizer="vector_approximation", classes=THREE),
        partial(ALONE, THREE),
    ),
    "LPDT, grr": (models.LPDTRegressor(4.0, mechanism="grr", noise="discrete", y_range=Y_RANGE), PERSONAL),
    "LPDT, rr": (models.LPDTRegressor(4.0, mechanism="rr", noise="discrete", y_range=Y_RANGE), PERSONAL),
    "PublicTreeClassifier": (models.PublicTreeClassifier(4.0, classes=THREE), partial(WITH_ROWS, THREE)),
    "of the template": (TEMPLATE.Mine(1.0, classes=[0, 1]), partial(ALONE, [0, 1])),
}


def users_of(model, X, y, mask=None, X_public=None, y_public=None):
    """Simulated users, as ``fit`` seals them, and the same users apart from one another."""
    records, known = sealed(model, X, y, mask, X_public, y_public)
    root = Streams(11).party("users")
    return ReportByReport(records, root, **known), ClientByClient(records, root, **known)


def predicted(model, d=3):
    queries = np.random.default_rng(1).random((300, d))
    return model.predict_proba(queries) if hasattr(model, "predict_proba") else model.predict(queries)


@pytest.mark.parametrize("name", METHODS)
def test_bits_of_users_apart_give_the_model_of_the_simulation_to_the_last_bit(name):
    model, make = METHODS[name]
    model.set_params(random_state=Streams(11))
    expected, received = (
        type(model)(**model.get_params(deep=False)).learn_from(users) for users in users_of(model, **make())
    )
    np.testing.assert_array_equal(predicted(received), predicted(expected))
    assert received.guarantee_ == expected.guarantee_
    assert (name == "ResidualGP, joint reports") <= bool(getattr(getattr(received, "fitted_", None), "effects", None))
    assert (name == "ResidualScore, many cells") <= (getattr(getattr(received, "models_", None), "n_cells", 0) > 4)


def test_fit_with_reports_per_user_is_what_their_bits_add_up_to():
    """``noise="per_user"`` and users apart, from the same randomized responses: the same bits."""
    model, make = METHODS["LPCT, per user"]
    received = model.set_params(random_state=Streams(11).party("curator")).learn_from(users_of(model, **make())[1])
    expected = learned(type(model)(**model.get_params(deep=False)).set_params(random_state=Streams(11)), **make())
    np.testing.assert_array_equal(predicted(received), predicted(expected))


def question(n):
    center, half = np.linspace(0.2, 0.4, n), np.linspace(0.5, 1.0, n)
    return Question(np.arange(n), center, half, LevelReport(2.0, 4), 2.0)


def test_a_relabeled_device_answers_as_if_the_record_had_the_new_label():
    records = Records(**classification(150, THREE, public=0), mask=regression(150)["mask"])
    relabeled = Records(records.X, (records.y == 2).astype(float), records.mask)
    asked, device = RelabeledQuestion(question(150), Indicator(2)), RelabeledDevice(device=RESIDUAL)
    draws = RESIDUAL.draws(Streams(1), 150, question(150))
    np.testing.assert_array_equal(
        device.report(records, asked, draws), RESIDUAL.report(relabeled, question(150), draws)
    )
    assert device.fields(asked) == RESIDUAL.fields(question(150))
    assert device.budget(asked) == RESIDUAL.budget(question(150)) == 2.0
    some = np.array([7, 3, 140])
    law, rows = device.law(asked.take(some), records.take(some))
    own, own_rows = RESIDUAL.law(question(150).take(some), relabeled.take(some))
    np.testing.assert_array_equal(law.at(rows).channel(), own.at(own_rows).channel())
    # An interval of one user, and the class.
    assert numeric_bits(asked) == 64 * 3


def test_relabeled_users_spend_from_the_users_accounts():
    X, y, *rows = classification(150, THREE, public=40).values()
    users = SimulatedUsers(Records(X, y), Streams(2), classes=np.arange(3), public=PublicSample(*rows))
    some = RelabeledUsers(users.take(np.arange(30)), Indicator(1), (0.0, 1.0))
    assert (some.y_range, some.classes, some.public) == ((0.0, 1.0), None, None)
    some.ask(RESIDUAL, question(10), np.arange(10, 20))
    assert users.spent.epsilon == some.spent.epsilon == 2.0
    spent = users.spent_by_user
    np.testing.assert_array_equal(np.flatnonzero(spent), np.arange(10, 20))


def test_what_a_public_model_says_of_users_is_computed_once_for_all_who_are_taken_from_them():
    records = Records(**regression(150))
    calls = []

    def twice(X):
        calls.append(len(X))
        return 2.0 * X[:, 0]

    for users in (slice(0, 5), np.array([9, 2]), np.arange(150) % 2 == 0):
        np.testing.assert_array_equal(records.take(users).by_row("twice", twice), 2.0 * records.X[users, 0])
    nested = records.take(slice(10, 20)).take([3])
    np.testing.assert_array_equal(nested.by_row("twice", twice), 2.0 * records.X[[13], 0])
    assert calls == [150]
