"""The only interface to records: what is asked is spent, exactly; no two answers share randomness; records stay."""

import math
import pickle
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from lpbench import privacy
from lpbench.errors import ConfigurationError, DataError, PrivacyError
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.privacy.exact import rounded_up
from lpbench.privacy.number_channel import typical_unbiased
from lpbench.privacy.spending import Spending
from lpbench.seeds import Streams


@dataclass(frozen=True)
class Category:
    epsilon: float


class CategoryDevice(privacy.Device[Category]):
    def mechanism(self, question):
        return privacy.GRR(question.epsilon, 3)

    def inputs(self, records, question):
        return records.y.astype(int) % 3


class MeanRelease(privacy.Release[float]):
    def mechanism(self, question):
        return privacy.Laplace.for_budget(question, 1.0 / 20)

    def statistic(self, records, question):
        return np.array([np.clip(records.y, 0, 1).mean()])


CATEGORY, MEAN = CategoryDevice(), MeanRelease()


def sealed(n=20, mask=None, seed=3):
    rng = np.random.default_rng(0)
    records = privacy.Records(rng.random((n, 2)), rng.integers(0, 2, n).astype(float), mask)
    return privacy.SimulatedUsers(records, Streams(seed), y_range=(0.0, 1.0))


def test_rounds_add_up_from_nothing_as_rational_numbers_and_are_rounded_up():
    users = sealed()
    assert (users.spent.model, users.spent.epsilon, users.spent.rounds, users.spent.bits_up) == ("ldp", 0.0, 0, 0.0)
    users.ask(LABEL, LabelQuestion((0.0, 1.0), 0.7))
    users.ask(CATEGORY, Category(0.3))
    exact = Fraction(0.7) + Fraction(0.3)
    assert users.spent.epsilon == rounded_up(*exact.as_integer_ratio()) >= exact
    assert users.spent.rounds == 2


@pytest.mark.parametrize(
    ("first", "second", "budget", "spent", "rounds"),
    [
        (np.arange(10), np.arange(10, 20), 2.0, [0.5] * 10 + [2.0] * 10, 1),
        (np.arange(12), np.arange(8, 20), 1.0, [0.5] * 8 + [1.5] * 4 + [1.0] * 8, 2),
    ],
    ids=["apart: in parallel", "overlapping: composed for those in both"],
)
def test_groups_of_users_spend_in_parallel_where_they_do_not_overlap(first, second, budget, spent, rounds):
    users = sealed()
    users.ask(CATEGORY, Category(0.5), first)
    users.ask(CATEGORY, Category(budget), second)
    np.testing.assert_array_equal(users.spent_by_user, spent)
    assert (users.spent.epsilon, users.spent.rounds) == (max(spent), rounds)


def test_budgets_may_differ_by_user():
    users, split = sealed(), np.where(np.arange(20) < 5, 1, 2)
    users.ask(LABEL, LabelQuestion((0.0, 1.0), 1.0, split))
    users.ask(CATEGORY, Category(1.0))
    assert users.spent.epsilon == 2.0
    np.testing.assert_array_equal(users.spent_by_user, [2.0] * 5 + [1.5] * 15)


def test_an_equal_question_is_a_replay_and_free_and_any_other_is_drawn_anew_and_charged():
    users, question = sealed(), LabelQuestion((0.0, 1.0), 1.0)
    first = users.ask(LABEL, question)
    for again in (LabelQuestion((0.0, 1.0), 1.0), pickle.loads(pickle.dumps(question))):
        np.testing.assert_array_equal(users.ask(LABEL, again), first)
    assert users.spent.epsilon == 1.0
    for k, other in enumerate([LabelQuestion((0.0, 1.0), 2.0), LabelQuestion((0.0, 1.0), 1.0, center=0.5)], 1):
        noise = (users.ask(LABEL, other) - LABEL.inputs(users.reveal(), other)) * other.epsilon
        assert not np.isclose(noise, first - users.reveal().y).any()
        assert set(users._accounts.questions) == {k + 1}


def test_the_order_in_which_users_are_named_changes_nothing():
    """Asked again in another order, users of one generator drew each other's noise, for free."""
    users, question, order = sealed(), Category(1.0), np.random.default_rng(4).permutation(20)[:12]
    first = users.ask(CATEGORY, question, np.sort(order))
    np.testing.assert_array_equal(users.ask(CATEGORY, question, order), first[np.argsort(np.argsort(order))])
    apart = users.take(order)
    np.testing.assert_array_equal(apart.ask(CATEGORY, question), first[np.argsort(np.argsort(order))])
    assert users.spent.epsilon == 1.0
    total = users.take(np.sort(order)).sums(CATEGORY, question)
    np.testing.assert_array_equal(apart.sums(CATEGORY, question), total)
    assert users.spent.epsilon == 2.0, "reports and sums are two answers"


def test_no_two_answers_share_noise_whoever_is_asked():
    """Taken groups without a purpose of their own had the same noise, and overlapping ones that of their places."""
    users, question, parts = sealed(40), LabelQuestion((0.0, 1.0), 1.0), []
    for who in (None, np.arange(20), np.arange(20, 40), np.arange(10, 30), np.arange(39), np.array([7])):
        reports = users.ask(LABEL, question, who)
        labels = users.reveal().y if who is None else users.reveal().y[who]
        parts.append(reports - labels)
    noise = np.concatenate(parts)
    assert np.unique(noise.round(12)).size == noise.size
    np.testing.assert_array_equal(users._accounts.questions[[0, 7, 15, 25, 39]], [3, 4, 4, 4, 2])


def test_users_taken_from_others_spend_from_their_accounts():
    users = sealed()
    some = users.take(np.arange(5, 15))
    some.ask(CATEGORY, Category(1.0))
    some.take(np.arange(2)).ask(CATEGORY, Category(0.25))
    expected = np.zeros(20)
    expected[5:15] = 1.0
    expected[5:7] = 1.25
    np.testing.assert_array_equal(users.spent_by_user, expected)
    assert users.spent.epsilon == some.spent.epsilon == 1.25


def test_the_former_purposes_of_taken_users_warn_and_change_nothing():
    users, everybody = sealed(), np.arange(20)
    with pytest.warns(DeprecationWarning, match="drawn anew"):
        apart = [users.take(everybody, "part", k=k).ask(LABEL, LabelQuestion((0.0, 1.0), 1.0)) for k in (0, 1)]
    np.testing.assert_array_equal(*apart)
    assert users.spent.epsilon == 1.0


def test_what_is_public_of_users_has_no_verb_of_a_simulation():
    """``sums_of_many`` and ``together`` answered any number of questions, and nothing was charged."""
    assert not {"sums_of_many", "together", "view"} & {
        name for kind in privacy.SimulatedUsers.__mro__ for name in dir(kind)
    }


def test_what_is_shown_decides_the_model():
    mask = np.zeros((20, 2), dtype=bool)
    mask[:, 0] = True
    models = {}
    for name, own in {"none": None, "some": mask, "all": np.zeros((20, 2), dtype=bool)}.items():
        users = sealed(mask=own)
        users.ask(LABEL, LabelQuestion((0.0, 1.0), 1.0))
        assert users.spent.model == "ldp"  # nobody has read a feature yet
        assert np.isnan(users.public_features).sum() == users.mask.sum()
        models[name] = users.spent.model
    assert models == {"none": "ldp", "some": "semi_feature_ldp", "all": "label_ldp"}


def test_a_trusted_curator_and_no_privacy_are_named():
    users = sealed()
    users.release(MEAN, 0.5)
    assert (users.spent.model, users.spent.epsilon) == ("cdp", 0.5)
    users = sealed(mask=np.zeros((20, 2), dtype=bool))
    assert users.public_features.shape == (20, 2)
    users.release(MEAN, 0.5)
    assert users.spent.model == "label_cdp"
    some = np.zeros((20, 2), dtype=bool)
    some[:, 0] = True
    showing = sealed(mask=some)  # a release beside a feature that was read hides no whole record
    showing.release(MEAN, 0.5)
    assert showing.spent.model == "cdp" and showing.public_features.shape == (20, 2)
    assert showing.spent.model == "label_cdp"
    users.reveal()
    assert (users.spent.model, users.spent.epsilon) == ("none", math.inf)
    users = sealed()
    users.ask(LABEL, LabelQuestion((0.0, 1.0), math.inf))
    assert users.spent.epsilon == math.inf, "no noise is no protection"


def test_users_are_not_pickled():
    with pytest.raises(PrivacyError):
        pickle.dumps(sealed())


def test_the_former_name_of_public_features_warns():
    users = sealed(mask=np.zeros((20, 2), dtype=bool))
    for holder in (users, users.reveal()):
        with pytest.warns(DeprecationWarning, match="public_features"):
            np.testing.assert_array_equal(holder.shown, holder.public_features)


@pytest.mark.parametrize("who", [[-1], [20], [3, 3], [[0], [1]], [0.5]], ids=repr)
def test_users_are_named_by_whole_numbers_of_the_sample_each_once(who):
    """User -1 was another user than the last one: the same noise answered two questions."""
    users = sealed()
    for verb in (lambda: users.ask(CATEGORY, Category(0.5), np.array(who)), lambda: users.take(np.array(who))):
        with pytest.raises(PrivacyError, match="0 to 19, each once"):
            verb()
    assert users.spent.epsilon == 0.0


def test_what_is_changed_after_it_was_asked_is_asked_anew():
    """A question or a list of users that is changed in place was a free replay."""
    users, question, who = sealed(), Category(0.5), np.arange(5)
    users.ask(CATEGORY, question, who)
    object.__setattr__(question, "epsilon", 3.0)
    users.ask(CATEGORY, question, who)
    object.__setattr__(question, "epsilon", 0.5)
    who += 5
    users.ask(CATEGORY, question, who)
    np.testing.assert_array_equal(users.spent_by_user, [3.5] * 5 + [0.5] * 5 + [0.0] * 10)


def test_a_release_spends_its_delta():
    class Quiet(MeanRelease):
        def mechanism(self, question):
            return privacy.Gaussian.for_budget(question, 1e-5, 1.0 / 20)

    users = sealed()
    users.release(Quiet(), 1.0)
    assert users.spent.delta == pytest.approx(1e-5) and users.spent.epsilon == pytest.approx(1.0)


class Understated(CategoryDevice):
    def budget(self, question):
        return question.epsilon / 2


class Quiet(privacy.Laplace):
    def randomize(self, values, rng):
        return values


class QuietDevice(CategoryDevice):
    def mechanism(self, question):
        return Quiet.for_budget(question.epsilon)


class Renamed(type(LABEL)):
    def inputs(self, records, question):
        return records.y


@pytest.mark.parametrize("device", [Understated(), QuietDevice(), Renamed()], ids=lambda device: type(device).__name__)
def test_a_law_of_an_authors_own_is_stated_by_its_author(device):
    users = sealed()
    users.ask(device, LabelQuestion((0.0, 1.0), 1.0) if isinstance(device, Renamed) else Category(1.0))
    assert users.spent.note == f"what {type(device).__name__} spends is stated by its author"


def test_what_the_harness_draws_and_charges_is_not_stated_by_its_author():
    users = sealed()
    users.ask(CATEGORY, Category(1.0))
    users.ask(LABEL, LabelQuestion((0.0, 1.0), 1.0))
    assert users.spent.note == ""
    users.release(MEAN, 1.0)
    assert "MeanRelease spends is stated" in users.spent.note  # no mechanism bounds what one record moves


@dataclass(frozen=True)
class Stretched(CategoryDevice):
    times: int = field(default=1, compare=False)

    def inputs(self, records, question):
        return super().inputs(records, question) * self.times


@dataclass(frozen=True)
class Hiding(Category):
    times: int = 1

    def __reduce__(self):
        return Hiding, (self.epsilon,)


def test_what_equality_or_pickles_leave_out_is_asked_anew():
    users, question = sealed(), Category(0.5)
    for device, asked in [
        (Stretched(), question),
        (Stretched(0), question),
        (CATEGORY, Hiding(0.5)),
        (CATEGORY, Hiding(0.5, 2)),
    ]:
        users.ask(device, asked)
    assert users.spent.epsilon == 2.0


@pytest.mark.parametrize(
    ("mechanism", "inputs"),
    [
        (privacy.Laplace.for_budget(1.0, 1.0), np.tile([[0.0, 0.0], [1.0, 1.0]], (5, 1))),
        (privacy.Laplace.for_budget(1.0, 1.0), np.tile([[0.0], [5.0]], (5, 1))),
        (privacy.Gaussian.for_budget(1.0, 1e-6, 1.0), np.tile([[0.0, 0.0], [1.0, 1.0]], (5, 1))),
        (privacy.RandomizedResponse(1.0), np.tile([[0, 0], [1, 1]], (5, 1))),
        (privacy.GRR(1.0, 3), np.zeros((10, 2), dtype=int)),
        (privacy.Channel(np.full((2, 2), 0.5)), np.zeros((10, 2), dtype=int)),
        (typical_unbiased(1.0), np.zeros((10, 2))),
        (privacy.Piecewise(1.0), np.zeros((10, 2))),
        (privacy.Hybrid(1.0), np.zeros((10, 2))),
        # the first, and the one that is farthest from it, are near all others
        (privacy.Laplace.for_budget(1.0, 1.0), np.array([[0.0, 0.0], [0.5, 0.5], [0.5, -0.5], [-0.5, 0.5]])),
        (privacy.RandomizedResponse(1.0, 2), np.array([[0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]])),
        # each entry costs a step, however near
        (privacy.Staircase(1.0), np.tile([[0.0, 0.0], [0.1, 0.1]], (5, 1))),
        (privacy.DiscreteLaplace.for_budget(1.0, 1.0, 1e-3), np.tile([[0.4999, 0.4999], [0.5001, 0.5001]], (5, 1))),
    ],
    ids=lambda part: type(part).__name__,
)
def test_vectors_apart_by_more_than_the_sensitivity_are_refused(mechanism, inputs):
    with pytest.raises(DataError):
        mechanism.check_inputs(inputs)
    mechanism.check_inputs(inputs[::2, 0])


def test_one_hot_rows_and_scores_are_not_refused():
    rows = np.eye(40)
    for mechanism in (
        privacy.Gaussian.for_budget(1.0, 1e-6, 2**0.5),
        privacy.Exponential.for_budget(1.0),
        privacy.RandomizedResponse(1.0, 2),
    ):
        mechanism.check_inputs(rows)
    with pytest.raises(DataError):
        privacy.Exponential.for_budget(1.0).check_inputs(2 * rows)


@pytest.mark.parametrize("epsilon", [-0.5, math.nan, np.array([0.1, -0.1]), np.array([0.1, math.nan])])
def test_what_is_spent_is_never_given_back(epsilon):
    spending = Spending(2)
    spending.charge(None, 1.0)
    with pytest.raises(PrivacyError, match="what is spent is a number >= 0"):
        spending.charge(None if np.ndim(epsilon) == 0 else np.arange(2), epsilon)
    with pytest.raises(PrivacyError):
        spending.charge(None, 0.1, delta=-0.1)
    assert spending.by_user.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("split", [-1, 0, math.nan, np.array([1, -2, 1])])
def test_a_label_is_divided_among_whole_messages(split):
    users = sealed()
    with pytest.raises(ConfigurationError, match="split="):
        users.ask(LABEL, LabelQuestion((0.0, 1.0), 1.0, split))
    assert users.spent.epsilon == 0
