import itertools
import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from scipy.special import log_softmax

from lpbench.errors import ConfigurationError
from lpbench.estimators.label_dp.cubes import Cubes
from lpbench.estimators.label_dp.mean import CDPMean, CubeMean, LabelCDPMean
from lpbench.estimators.label_dp.releases import MEAN_RELEASE, CubeQuestion, MeanQuestion
from lpbench.estimators.label_dp.vote import CDPVote, LabelCDPVote, LabelLDPVote
from lpbench.privacy import Records, exact_epsilon
from lpbench.seeds import Streams

EPSILON = 0.9


def log_output_law(coefficient: float, records, n_classes: int, n_cubes: int) -> np.ndarray:
    """Log-probability of every vector of released classes, one class a cube, for records (cube, class)."""
    counts = np.zeros((n_cubes, n_classes))
    for cube, label in records:
        counts[cube, label] += 1
    laws = log_softmax(coefficient * counts, axis=1)
    outputs = itertools.product(range(n_classes), repeat=n_cubes)
    return np.array([sum(laws[c, j] for c, j in enumerate(out)) for out in outputs])


def loss(coefficient: float, n_classes: int, rest, changes) -> float:
    """Exact epsilon over all pairs of data sets ``rest`` + one of ``changes``."""
    laws = [log_output_law(coefficient, [*rest, c], n_classes, n_cubes=2) for c in changes]
    return exact_epsilon(np.array(laws))


def test_label_cdp_vote_spends_its_budget_on_a_label_and_no_less():
    coefficient = LabelCDPVote(EPSILON)._coefficient()
    labels = [(0, 0), (0, 1), (0, 2)]
    crowds = [[(0, a)] * m + [(1, b)] * k for a in range(3) for b in range(2) for m in (0, 3, 40) for k in (0, 5)]
    worst = max(loss(coefficient, 3, rest, labels) for rest in crowds)
    assert worst <= EPSILON + 1e-7, "scales are read off a grid"
    # A class that holds nearly all the probability comes as near to the supremum as one likes.
    assert worst > 0.999 * EPSILON


@pytest.mark.parametrize(("constants", "share"), [("paper", 0.5), ("tight", 1.0)])
def test_full_cdp_vote_spends_the_stated_share_on_a_record(constants, share):
    coefficient = CDPVote(EPSILON, constants)._coefficient()
    records = list(itertools.product(range(2), range(3)))
    crowds = [[(0, a)] * m + [(1, b)] * k for a in range(3) for b in range(3) for m in (0, 3, 60) for k in (0, 4, 60)]
    worst = max(loss(coefficient, 3, rest, records) for rest in crowds)
    assert worst <= share * EPSILON + 1e-7, "scales are read off a grid"
    assert worst > 0.999 * share * EPSILON


def test_guarantees_of_the_votes_are_what_is_spent():
    X, y = np.linspace(0, 1, 20)[:, None], np.arange(20) % 3
    for model, name, spent in [
        (LabelLDPVote(EPSILON), "label_ldp", EPSILON),
        (LabelLDPVote(EPSILON, "krr"), "label_ldp", EPSILON),
        (LabelCDPVote(EPSILON), "label_cdp", EPSILON),
        (CDPVote(EPSILON), "cdp", EPSILON / 2),
        (CDPVote(EPSILON, "tight"), "cdp", EPSILON),
    ]:
        promise = model.fit(X, y).guarantee_
        assert (promise.model, promise.epsilon) == (name, pytest.approx(spent))
    assert CubeMean(y_range=(0, 2)).fit(X, y).guarantee_.model == "none"


def released(model, X, y, scale_only: bool = False):
    """Released values without noise, or the scales of the noise: the noise of a cube is scale times a unit draw."""
    word = 2**64 - int(2**63 * math.exp(-1.0)) if scale_only else 2**63
    draw = mock.Mock(integers=lambda bound, size, **kind: np.full(size, word, dtype=np.uint64))
    with mock.patch.object(Streams, "generator", lambda self, purpose, **axes: draw):
        values = model.fit(X, y).values_
    return values - released(model, X, y) if scale_only else values


@pytest.mark.parametrize("T", [1.0, 5.0])
def test_label_cdp_mean_needs_the_factor_t_that_the_paper_omits(T):
    """Change one label from -T to T: the loss is |change| / scale. The printed scale 2 / (n_l eps) loses T eps."""
    X = np.array([0.1, 0.2, 0.3, 0.8])[:, None]
    model = LabelCDPMean(EPSILON, bins=2, y_range=(-T, T), random_state=0)
    low, high = (released(model, X, np.array([y, 0.3, -0.2, 0.1])) for y in (-T, T))
    scale = released(model, X, np.array([T, 0.3, -0.2, 0.1]), scale_only=True)
    np.testing.assert_allclose(scale, 2 * T / (np.array([3, 1]) * EPSILON))
    exact = np.sum(np.abs(high - low) / scale)
    assert exact == pytest.approx(EPSILON) == pytest.approx(model.guarantee_.epsilon)
    printed = np.sum(np.abs(high - low) / (2 / (np.array([3, 1]) * EPSILON)))
    assert printed == pytest.approx(T * EPSILON)
    assert (printed > EPSILON * 1.001) == (T > 1)


@pytest.mark.parametrize(("constants", "density"), list(itertools.product(["paper", "tight"], [0.25, 0.8, 1.0])))
def test_full_cdp_mean_spends_exactly_what_it_says(constants, density):
    """Enumerate neighbors: n = 6 records with extreme labels in two cubes, one record replaced by any other."""
    T, n = 2.0, 6
    model = CDPMean(EPSILON, constants, density=density, bins=2, y_range=(-T, T), random_state=0)
    places, worst = {0: 0.25, 1: 0.75}, 0.0

    def value(records):
        X = np.array([places[c] for c, _ in records])[:, None]
        return released(model, X, np.array([s * T for _, s in records]))

    records = list(itertools.product((0, 1), (-1, 1)))
    scale = released(model, np.full((n, 1), 0.25), np.full(n, T), scale_only=True)
    for rest in itertools.combinations_with_replacement(records, n - 1):
        values = np.array([value([*rest, one]) for one in records])
        losses = (np.abs(values[:, None] - values[None]) / scale).sum(axis=-1)
        worst = max(worst, losses.max())
    assert worst == pytest.approx(model.guarantee_.epsilon)
    assert worst <= (2 / 3 if constants == "paper" else 1) * EPSILON + 1e-7, "scales are read off a grid"


def test_heavy_tails_are_clipped_before_they_are_averaged():
    """A label beyond T moves nothing any more, so the sensitivity does not depend on the labels."""
    X = np.linspace(0.05, 0.95, 50)[:, None]
    y = np.zeros(50)
    for cls in (LabelCDPMean, CDPMean):
        model = cls(EPSILON, moment=3.0, label_bound=1.0, bins=2, random_state=0)
        y[0] = 1e3
        far = released(model, X, y)
        y[0] = 1e9
        np.testing.assert_array_equal(far, released(model, X, y))


def test_a_question_about_cubes_has_one_of_them_for_each_record_and_the_price_of_its_noise():
    cubes, records = Cubes(2, 1), Records(np.zeros((3, 1)), np.zeros(3), np.zeros((3, 1), dtype=bool))
    for cells in (np.arange(3), np.array([0, 1]), np.array([0, 1, -1]), np.array([0, 0.5, 1])):
        with pytest.raises(ConfigurationError, match="cells"):
            CubeQuestion(cubes, cells).of(records)
    question = MeanQuestion(cubes, np.array([0, 1, 1]), 0.0, 1.0, EPSILON)
    assert MEAN_RELEASE.budget(question) == EPSILON == pytest.approx(MEAN_RELEASE.mechanism(question).epsilon)
    assert MEAN_RELEASE.budget(replace(question, unit_scale=1.0)) == 2 * EPSILON
