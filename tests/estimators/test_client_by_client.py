"""Methods learn from users who are asked one at a time: shown features, mask and reports are all that they need."""

from __future__ import annotations

import numpy as np
import pytest

from lpbench import estimators as models
from lpbench.estimators.relabelled import Indicator, RelabelledDevice, RelabelledQuestion, RelabelledUsers
from lpbench.estimators.tuning_free.ablations import RecordScore
from lpbench.estimators.tuning_free.level_reports import LevelReport
from lpbench.estimators.tuning_free.rounds import RESIDUAL, Question
from lpbench.privacy import PublicSample, Records, SimulatedUsers, Users
from lpbench.privacy.device import question_of
from lpbench.privacy.spending import numeric_bits
from lpbench.privacy.users import taken
from lpbench.seeds import Streams
from tests.deployment.devices import one_of

Y_RANGE = (-1.0, 2.0)


class Apart(Users):
    """Users each of whom holds one record and no other, with the draws that are theirs in the simulation."""

    def __init__(self, records, streams, public, y_range=None, classes=None):
        self._shown = records.public_features
        self._mask = np.ones(records.X.shape, dtype=bool) if records.mask is None else records.mask
        self._alone = [Records(records.X[[i]], records.y[[i]], self._mask[[i]]) for i in range(len(records))]
        self._streams, self.public, self.y_range, self.classes = streams, public, y_range, classes
        self.n, self.n_features = records.X.shape
        self.reports = 0

    @property
    def mask(self):
        return self._mask

    @property
    def public_features(self):
        return self._shown

    def ask(self, device, question, who=None):
        device.check(question)
        who = np.arange(self.n) if who is None else who
        draws = device.draws(self._streams, self.n, question)
        answers = []
        for place, user in enumerate(who):
            if isinstance(draws, np.random.Generator):
                own = one_of(device.draws(self._streams, self.n, question), self.n, user)
            else:
                own = taken(draws, [user]) if device.draws_for_all else (taken(draws[0], [user]), draws[1])
            answers.append(device.report(self._alone[user], question_of(question, [place]), own))
        self.reports += len(who)
        return np.concatenate(answers)

    def sums(self, device, question, by=None):
        raise NotImplementedError

    def take(self, who, purpose=None, /, **axes):
        twin = object.__new__(Apart)
        vars(twin).update(vars(self))
        twin._shown, twin._mask, twin._alone = self._shown[who], self._mask[who], [self._alone[i] for i in who]
        twin.n, twin._streams = len(who), self._streams.child(purpose, **axes)
        return twin

    @property
    def spent(self):
        return None

    def note(self, text):
        """Facts about the public sample, which are known here."""


def sample(n=150, q=40, d=3, classes=0):
    rng = np.random.default_rng(1)
    X, rows = rng.random((n, d)), rng.random((q, d))

    def labels(part):
        y = np.clip(2 * part[:, 0] - part[:, 1] + 0.2 * rng.standard_normal(len(part)), *Y_RANGE)
        return y if not classes else np.clip(np.floor((y + 1) / 3 * classes).astype(np.int64), 0, classes - 1)

    mask = rng.random((n, d)) < np.array([0.95, 0.4, 0.0])
    return Records(X, labels(X), mask), PublicSample(rows, labels(rows))


METHODS = [
    (models.ResidualGP(4.0), 0),
    (models.PublicForestRegressor(), 0),
    (models.LPDTRegressor(4.0, mechanism="grr"), 0),
    (models.LPDTRegressor(4.0, mechanism="rr"), 0),
    (models.ResidualScore(4.0), 2),
    (models.ResidualScore(4.0), 3),
    (models.PublicTreeClassifier(4.0), 3),
    (RecordScore(4.0), 2),
    (models.PublicForest(), 2),
]


@pytest.mark.parametrize(("model", "classes"), METHODS, ids=repr)
@pytest.mark.parametrize("with_public", [False, True])
def test_users_asked_one_at_a_time_teach_what_the_simulation_teaches(model, classes, with_public):
    records, rows = sample(classes=classes)
    public, known = rows if with_public else None, {"y_range": None if classes else Y_RANGE}
    known["classes"] = np.arange(classes) if classes else None
    streams, X_test = Streams(5), np.random.default_rng(2).random((60, 3))
    together = SimulatedUsers(records, streams, public=public, **known)
    apart = Apart(records, streams, public, **known)
    first, second = (type(model)(**model.get_params()).set_params(random_state=streams) for _ in range(2))
    found = [m.learn_from(users) for m, users in ((first, together), (second, apart))]
    answers = [m.predict_proba(X_test) if classes else m.predict(X_test) for m in found]
    np.testing.assert_array_equal(*answers)


def question(n):
    centre, half = np.linspace(0.2, 0.4, n), np.linspace(0.5, 1.0, n)
    return Question(np.arange(n), centre, half, LevelReport(2.0, 4), 2.0)


def test_a_relabelled_device_answers_as_if_the_record_had_the_new_label():
    records, _ = sample(classes=3)
    relabelled = Records(records.X, (records.y == 2).astype(float), records.mask)
    asked, device = RelabelledQuestion(question(150), Indicator(2)), RelabelledDevice(device=RESIDUAL)
    draws = RESIDUAL.draws(Streams(1), 150, question(150))
    np.testing.assert_array_equal(
        device.report(records, asked, draws), RESIDUAL.report(relabelled, question(150), draws)
    )
    assert device.fields(asked) == RESIDUAL.fields(question(150))
    assert device.budget(asked) == RESIDUAL.budget(question(150)) == 2.0
    some = np.array([7, 3, 140])
    law, rows = device.law(asked.take(some), records.take(some))
    own, _ = RESIDUAL.law(question(150).take(some), relabelled.take(some))
    np.testing.assert_array_equal(law.channel()[rows], own.channel())
    # An interval of one user, and the class.
    assert numeric_bits(asked) == 64 * 3


def test_relabelled_users_spend_from_the_users_accounts():
    records, public = sample(classes=3)
    users = SimulatedUsers(records, Streams(2), classes=np.arange(3), public=public)
    some = RelabelledUsers(users.take(np.arange(30), "class", number=1), Indicator(1), (0.0, 1.0))
    assert (some.y_range, some.classes, some.public) == ((0.0, 1.0), None, None)
    some.ask(RESIDUAL, question(10), np.arange(10, 20))
    assert users.spent.epsilon == some.spent.epsilon == 2.0
    spent = users.spent_by_user
    np.testing.assert_array_equal(np.flatnonzero(spent), np.arange(10, 20))


def test_what_a_public_model_says_of_users_is_computed_once_for_all_who_are_taken_from_them():
    records, _ = sample()
    calls = []

    def twice(X):
        calls.append(len(X))
        return 2.0 * X[:, 0]

    for users in (slice(0, 5), np.array([9, 2]), np.arange(150) % 2 == 0):
        np.testing.assert_array_equal(records.take(users).by_row("twice", twice), 2.0 * records.X[users, 0])
    nested = records.take(slice(10, 20)).take([3])
    np.testing.assert_array_equal(nested.by_row("twice", twice), 2.0 * records.X[[13], 0])
    assert calls == [150]
