"""Where users' and curator's randomness come from, and that neither a method nor two of its fits can subtract any."""

import pickle
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np
import pytest

from lpbench.audit.methods import recorded_users, settings
from lpbench.audit.recording import Recording
from lpbench.audit.table import estimator_of
from lpbench.errors import PrivacyError
from lpbench.estimators import HistOfTree, PrivateMean
from lpbench.estimators.base import LocalClassifier, LocalRegressor
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.experiments import catalog
from lpbench.ledger import PrivacyLedger
from lpbench.privacy.users import Broadcast, answer_streams, content_hash
from lpbench.problem import Problem
from lpbench.seeds import Streams

RNG = np.random.default_rng(8)
X, Y = RNG.random((60, 3)), RNG.uniform(-1, 1, 60)


@dataclass(eq=False, repr=False)
class Attacker(LocalRegressor):
    """Asks for labels, and draws what it believes to be the users' noise from what is within its reach."""

    epsilon: float = 1.0

    def learn(self, users):
        self.reports_ = users.ask(LABEL, LabelQuestion(self.y_range_, self.epsilon))
        self.found_ = list(streams_within(vars(self)))
        self.guesses_ = [
            root.generator("label").laplace(size=users.n)
            for own in (self._streams(), *self.found_)
            for root in (own, own.party("users"), answer_streams(own, "ask", 0),
                         answer_streams(own.party("users"), "ask", 0))
        ]  # fmt: skip
        if self.epsilon < 0.1:
            raise PrivacyError("fails")
        return self

    def predict(self, X):
        return np.zeros(len(X))


def streams_within(value):
    """All streams and seeds that an object holds."""
    if isinstance(value, Streams):
        yield value
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        yield Streams(value)
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from streams_within(part)


@pytest.mark.parametrize("seed", [5, Streams(5), np.random.RandomState(5)], ids=["number", "streams", "generator"])
def test_nothing_that_a_method_holds_while_it_learns_derives_the_users_noise(seed):
    """``self._streams().generator("label").laplace(n)`` was the noise: the labels came out exactly at any budget."""
    model = Attacker(y_range=(-1.0, 1.0), random_state=seed).fit(X, Y)
    noise = (model.reports_ - Y) / 2.0
    assert len(model.found_) >= 1 and model.random_state is seed
    for guess in model.guesses_:
        assert np.abs(noise - guess).min() > 1e-9 and abs(np.corrcoef(noise, guess)[0, 1]) < 0.6


def test_the_seed_is_given_back_when_learning_fails():
    model = Attacker(0.05, y_range=(-1.0, 1.0), random_state=5)
    with pytest.raises(PrivacyError, match="fails"):
        model.fit(X, Y)
    assert model.random_state == 5


def test_the_parties_roots_are_hashes_apart():
    root = Streams(2**130 + 1)
    assert len({root.seed, *(root.party(name).seed for name in ("users", "curator"))}) == 3
    assert root.party("users") == Streams(2**130 + 1).party("users") != Streams(2**130).party("users")


def noise_of_fits():
    """Noise of the mean in units of its scale, at two budgets, under one seed."""
    found = []
    for epsilon in (0.5, 2.0):
        model = PrivateMean(epsilon, y_range=(-1.0, 1.0), clip=False, random_state=3).fit(X, Y)
        found.append((model.predict(X[:1])[0] - Y.mean()) * epsilon)
    return found


@pytest.mark.filterwarnings("ignore::lpbench.errors.SpendingWarning")
def test_fits_share_no_noise():
    """y + s_1 L and y + s_2 L at two budgets gave y."""
    plain = noise_of_fits()
    assert abs(plain[0] - plain[1]) > 1e-6
    with PrivacyLedger() as ledger:
        assert noise_of_fits() == plain and ledger.epsilon == 2.5, "seed, parameters and data decide"
        problem = Problem(X, Y, X, Y, y_range=(-1.0, 1.0))
        swept = PrivateMean().sweep(problem, [0.5, 2.0], {}, Streams(3)).values
    np.testing.assert_array_equal(swept, PrivateMean().sweep(problem, [0.5, 2.0], {}, Streams(3)).values)


def test_two_fits_of_one_seed_do_not_give_the_mean():
    """2 m_2 - m_1 of the mean at epsilon and 2 epsilon, or the difference of two samples, was exact to 5e-10."""
    one, two = (PrivateMean(e, y_range=(-1.0, 1.0), clip=False, random_state=3).fit(X, Y) for e in (1.0, 2.0))
    assert abs(2 * two.predict(X[:1])[0] - one.predict(X[:1])[0] - Y.mean()) > 1e-4
    changed = np.where(np.arange(len(Y)) == 5, 1.0, Y)
    other = PrivateMean(1.0, y_range=(-1.0, 1.0), clip=False, random_state=3).fit(X, changed)
    assert abs((other.predict(X[:1]) - one.predict(X[:1]))[0] - (changed - Y).mean()) > 1e-4


@dataclass(eq=False, repr=False)
class Told(PrivateMean):
    """A mean with one more parameter."""

    more: object = None


def test_every_kind_of_parameter_and_data_has_noise_of_its_own():
    def predicted(more=None, X=X, seed=3, **data):
        model = Told(1.0, y_range=(-1.0, 1.0), clip=False, random_state=seed, more=more)
        return model.fit(X, Y, **data).predict(X[:1])[0]

    persons = np.arange(len(Y)) // 2
    nested = [PrivateMean(1.0), PrivateMean(2.0)]
    several = [None, 1, "1", (1, 2), (2, 1), {"a": 1}, {"a": 2}, np.arange(2), np.arange(3), len, print, *nested]
    found = [predicted(value) for value in several] + [predicted(X=X[:, ::-1]), predicted(units=persons)]
    assert len(set(found)) == len(found)
    assert predicted(1) == predicted(1.0) == predicted(np.int8(1)) and predicted(nested[0]) == found[-4]
    assert predicted(lambda: 1) != predicted(lambda: 1), "what cannot be compared is never the same"
    assert predicted(X=np.asfortranarray(X)) == predicted(X=X.tolist()) == found[0]


@pytest.mark.filterwarnings("ignore::lpbench.errors.SpendingWarning")
def test_the_same_fit_again_under_a_ledger_replays_and_is_entered():
    def predicted(y=Y, **params):
        model = PrivateMean(**{"epsilon": 2, "y_range": (-1, 1), "random_state": 3, **params})
        return model.fit(X, y).predict(X[:1])[0]

    plain, other = predicted(), np.where(np.arange(len(Y)) == 5, -Y, Y)
    with PrivacyLedger() as ledger:
        same = predicted(epsilon=np.float32(2), y_range=(np.float64(-1), np.int8(1)), random_state=np.int64(3))
        assert plain == same == predicted() and ledger.epsilon == 4
        fresh = predicted(other), predicted(epsilon=2.5)
    assert fresh == (predicted(other), predicted(epsilon=2.5)) and plain not in fresh


SEALING = ("_users", "_public_range", "_public_classes", "_public_sample", "_sealed_mask", "_validated", "_prepare",
           "_to_unit_cube", "_warn_of_clipping", "_check_predict", "sealed", "validated", "in_unit_cube")  # fmt: skip


@pytest.mark.parametrize("base", [LocalRegressor, LocalClassifier])
def test_no_code_of_a_method_meets_the_rows_that_are_sealed(base):
    """Each of these was called with protected labels or features, and a subclass could replace it."""
    met = []

    class Curious(base):
        def learn(self, users):
            users.ask(LABEL, LabelQuestion((0.0, 1.0), 1.0))
            return self

        def predict(self, X):
            return X

    def replaced(name):
        def method(self, *arguments, **options):
            met.append(name)
            return getattr(super(Curious, self), name)(*arguments, **options)

        return method

    for name in SEALING:
        setattr(Curious, name, replaced(name))
    Curious.epsilon = 1.0
    domain = {"domain": (0.0, 1.0), "random_state": 0}
    known = {"y_range": (-1.0, 1.0)} if base is LocalRegressor else {"classes": [0, 1]}
    labels = Y if base is LocalRegressor else (Y > 0).astype(int)
    Curious(**known, **domain).fit(X, labels, mask=np.ones(X.shape, dtype=bool), X_public=X[:5], y_public=labels[:5])
    assert met == []


def questions_of(name):
    """Everything that a registered method asks in a small sample."""
    own, sample = next(settings(estimator_of(name), (1.0,)))
    recording = Recording()
    own.learn_from(recorded_users(sample, 1, recording))
    return recording.asked


NOBODY_IS_ASKED = {"ct_q", "ct_w", "cube_mean", "cube_vote", "dt", "knn_mean", "lpct_q", "public_forest",
                   "public_forest_regressor", "public_learner_classifier", "public_learner_regressor"}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(catalog.method_names()))
def test_an_equal_question_built_anew_has_the_same_digest_and_a_changed_one_another(name):
    """Pickling changed the digest of 7 of 17 shipped questions, so that an honest retry was accused."""
    first, second = questions_of(name), questions_of(name)
    assert bool(first) != (name in NOBODY_IS_ASKED)
    for one, other in zip(first, second, strict=True):
        told = content_hash(one.question)
        assert content_hash(pickle.loads(pickle.dumps(one.question))) == told == content_hash(other.question)
        if is_dataclass(one.question):
            for field in fields(one.question):
                value = getattr(one.question, field.name)
                if isinstance(value, float) and np.isfinite(value):
                    assert content_hash(replace(one.question, **{field.name: value + 0.25})) != told
                if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
                    moved = value.copy()
                    moved.flat[0] += 0.25
                    assert content_hash(replace(one.question, **{field.name: moved})) != told


def test_digests_tell_containers_types_and_what_is_changed_in_place_apart():
    values = [1, 1.0, True, "1", b"1", None, (1,), [1], {1}, {1: 1}, np.array([1]), np.array([1.0]), np.array([[1]]),
              np.float32(1), -0.0, 0.0, float("nan"), print, len, Streams(1), Streams(2)]  # fmt: skip
    assert len({content_hash(value) for value in values}) == len(values)
    shared = np.ones(2)
    assert content_hash([shared, shared]) == content_hash([shared, np.ones(2)]), "told by content, not by identity"
    array = np.zeros(3)
    before = content_hash([array])
    array[1] = 1.0
    assert content_hash([array]) != before
    fitted = HistOfTree(1.0, y_range=(-1.0, 1.0), random_state=0)
    before = content_hash(fitted)
    assert content_hash(fitted.fit(X, Y)) != before, "what a model has learned is part of it"
    once, again = Broadcast(fitted), Broadcast(pickle.loads(pickle.dumps(fitted)))
    assert content_hash(once) == content_hash(again) == content_hash(pickle.loads(pickle.dumps(once)))
    before = once.content.predict(X)
    fitted.fit(X, -Y)
    assert np.array_equal(once.content.predict(X), before), "users hold a copy, which nobody changes any more"
    assert content_hash(Broadcast(fitted)) != content_hash(once)
