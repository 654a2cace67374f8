"""Checks of a public sample by reports: what they cost, when it is used, and intervals that cover."""

import pickle

import numpy as np
import pytest
from scipy.stats import binom

from lpbench.datasets.problems import make_problem
from lpbench.estimators import PrivateConstant, ResidualGP, ResidualScore
from lpbench.estimators.tuning_free.ablations import ShownAlone
from lpbench.estimators.tuning_free.calibration import Calibration, Design
from lpbench.estimators.tuning_free.public_check import LEVEL, Checkers, nearer_in_cells
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.estimators.tuning_free.score_trust import SlopeAgreement
from lpbench.privacy import GRR, PublicSample, Records, SimulatedUsers
from lpbench.seeds import Streams

Y_RANGE = (-3.0, 3.0)
#: Error probability of a statistical test.
ALARM = 1e-6


def corrupted(kind, y, rng):
    """Public labels of another law than the private ones."""
    mean = y.mean()
    labels = {
        "same": y,
        "reversed": 2 * mean - y,
        "unrelated": rng.permutation(y),
        "halved": (y + mean) / 2,
        "shifted": y + y.std(),
    }
    return np.clip(labels[kind], *Y_RANGE)


def sample(kind="same", n=2000, q=300, seed=0):
    """Labels of standard deviation about .8, three quarters of them explained; features 0, 2 and 4 are protected."""
    rng = np.random.default_rng([seed, n, q])
    parts = [rng.random((rows, 5)) for rows in (n, q, 1000)]
    y, y_public, y_test = (X @ [2, 1.5, 0.8, 0, 0] - 2.15 + 0.4 * rng.standard_normal(len(X)) for X in parts)
    y = np.clip(y, *Y_RANGE)
    given = {"X": parts[0], "y": y, "X_public": parts[1], "y_public": corrupted(kind, y_public, rng)}
    return {**given, "mask": np.tile(np.arange(5) % 2 == 0, (n, 1))}, parts[2], y_test


def without(given):
    """The same arguments without a public sample."""
    return {name: values for name, values in given.items() if not name.endswith("public")}


def classes(given):
    """The same arguments with the sign of each label as its class."""
    return {name: (values > 0).astype(int) if name.startswith("y") else values for name, values in given.items()}


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 8.0])
@pytest.mark.parametrize("kind", ["same", "reversed"])
def test_every_user_sends_one_report_at_the_whole_budget(kind, epsilon):
    given, rows, _ = sample(kind)
    model = ResidualGP(epsilon, y_range=Y_RANGE, random_state=0).fit(**given)
    assert model.guarantee_.epsilon == epsilon and model.guarantee_.rounds == 1
    assert 0 < model.agreement_.users <= 500
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.agreement_ == model.agreement_


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_public_sample_of_reversed_labels_costs_little(epsilon):
    """Mean squared error, over six samples, of the model with it, without it, and of the private constant."""
    errors = []
    for seed in range(6):
        given, rows, truth = sample("reversed", seed=seed)
        options = {"y_range": Y_RANGE, "random_state": seed}
        checked = ResidualGP(epsilon, **options).fit(**given)
        assert checked.public_ is None and not checked.agreement_.used and checked.agreement_.high < 0.6
        alone, constant = (kind(epsilon, **options).fit(**without(given)) for kind in (ShownAlone, PrivateConstant))
        errors.append([np.mean((model.predict(rows) - truth) ** 2) for model in (checked, alone, constant)])
    checked, alone, constant = np.mean(errors, axis=0)
    assert checked <= 1.1 * alone and checked <= constant


def test_a_public_sample_is_moved_and_its_residuals_widened():
    """Shifted by a standard deviation of .8, or halved: it is used, and the error is near that of the same law."""
    errors = {}
    for kind in ("same", "shifted", "halved"):
        given, rows, truth = sample(kind)
        model = ResidualGP(8.0, y_range=Y_RANGE, random_state=1).fit(**given)
        assert model.agreement_.used and model.public_ is not None
        assert (abs(model.agreement_.shift) > 0.5) == (kind == "shifted")
        errors[kind] = np.mean((model.predict(rows) - truth) ** 2)
    assert max(errors.values()) <= 1.1 * errors["same"]


def test_too_few_reports_check_nothing():
    given, *_ = sample(n=100)
    model = ResidualGP(0.5, y_range=Y_RANGE, random_state=0).fit(**given)
    agreement = model.agreement_
    assert agreement.users == 0 and np.isnan(agreement.share) and agreement.used
    assert (agreement.low, agreement.high) == (0.0, 1.0) and "too few reports" in str(agreement)
    assert model.public_ is not None


def test_where_users_show_features_they_send_their_class_alone():
    """A check of the score at the complete record would send protected features, too."""
    given, *_ = sample()
    model = ResidualScore(2.0, classes=[0, 1], random_state=0).fit(**classes(given))
    agreement = model.agreement_
    assert isinstance(agreement, SlopeAgreement) and agreement.users == len(given["X"]) and agreement.used
    assert agreement.low < agreement.slope < agreement.high and "slope of labels on its score" in str(agreement)


@pytest.mark.parametrize("categories", [2, 3])
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("share", [0.0, 0.15, 0.55, 0.8, 1.0])
def test_intervals_cover_whenever_the_check_stops(share, epsilon, categories):
    """Of 300 checks at most as many intervals miss as their level admits, whatever the share of the population is."""
    rng, mechanism, runs = np.random.default_rng(3), GRR(epsilon, categories), 300
    covered, estimates = 0, []
    for _ in range(runs):
        checkers = Checkers(np.arange(2000), 500, mechanism, 0.7, 0.5, 100, 0.6)

        def answers(group):
            truth = np.where(
                rng.random(group.size) < share, rng.integers(0, categories - 1, group.size), categories - 1
            )
            return mechanism.randomize(truth, rng)

        found = checkers.ask(answers).agreement()
        assert found.users + checkers.order.size == 2000 and found.users <= 500
        covered += found.low <= share <= found.high
        estimates.append(found.share)
    assert covered >= binom.ppf(ALARM, runs, LEVEL)
    assert abs(np.mean(estimates) - share) < 0.15  # clipped to [0, 1], and sooner clear where it is large


def checked_drift(gamma, seed):
    """Agreement with a sample of LPCT's simulation, and its true value; users show nothing."""
    params = {"gamma": gamma, "n_private": 2000, "n_public": 100}
    problem = make_problem("posterior_drift", params, None, None, seed)
    public = PublicSample(np.asarray(problem.X_public), np.asarray(problem.y_public))
    mask, rows, score = np.ones((2000, 2), dtype=bool), problem.X_test, PublicScore(*public, 2, seed)
    records = Records(problem.X_train, problem.y_train, mask)
    users = SimulatedUsers(records, Streams(seed), classes=np.array([0, 1]), public=public)
    model = Calibration.of(users, score, 1.0, 2, seed, Design())
    locate = model.cells.locate
    cells = nearer_in_cells(score, locate(score.out_of_bag, public.X), model.n_cells)
    nearer = cells[locate(score.predict_proba(rows), rows)]
    return model.agreement, float((nearer * problem.eta_test).sum(axis=1).mean())


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0, 5.0])
def test_intervals_cover_on_the_drift_families(gamma):
    """Of thirty samples at epsilon = 1 as many as their level demands."""
    covered, runs = 0, 30
    for seed in range(runs):
        agreement, truth = checked_drift(gamma, seed)
        covered += agreement.low <= truth <= agreement.high
    assert covered >= binom.ppf(ALARM, runs, LEVEL)
