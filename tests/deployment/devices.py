"""Devices of several methods, for tests that hold for each of them: records, and a campaign's broadcasts."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from lpbench.deployment.client import Client
from lpbench.deployment.curator import RemoteUsers, learn_remotely
from lpbench.deployment.wire import user_token
from lpbench.estimators import (
    LPCT,
    HistOfTree,
    PrivateLabelsClassifier,
    PrivateLabelsRegressor,
    ResidualGP,
    ResidualScore,
)
from lpbench.estimators.histoftree.cell_device import CELL
from lpbench.estimators.lpct.votes import SLOW_VOTE, VOTE
from lpbench.estimators.private_classes import CLASS
from lpbench.estimators.private_labels import LABEL
from lpbench.estimators.privatised_labels.numbers import NUMBER
from lpbench.estimators.tuning_free.rounds import RESIDUAL
from lpbench.estimators.tuning_free.subset_device import SUBSET
from lpbench.privacy import Device as UserDevice
from lpbench.privacy import PublicSample, SimulatedUsers
from lpbench.privacy.users import taken

SECRET = b"0123456789abcdef"
LIMIT, N_USERS, Y_RANGE = 2.0, 40, (-1.0, 2.0)
CLASSES = [0, 1, 2]
#: The code that users run.
RUN = (LABEL, CELL, VOTE, SLOW_VOTE, RESIDUAL, SUBSET, NUMBER, CLASS)


class OneOfMany:
    """A generator that hands out one user's part of what is drawn for ``n`` users at once."""

    def __init__(self, generator, n, place):
        self._generator, self._n, self._place = generator, n, place

    def _taken(self, draw, size):
        shape = (size,) if np.ndim(size) == 0 else tuple(size)
        return draw((self._n, *shape[1:]))[[self._place]]

    def random(self, size):
        return self._taken(self._generator.random, size)

    def geometric(self, p, size):
        return self._taken(lambda shape: self._generator.geometric(p, shape), size)

    def integers(self, high, size):
        return self._taken(lambda shape: self._generator.integers(high, size=shape), size)


def one_of(draws, n, place):
    """One user's part of the randomness of ``n`` users."""
    if isinstance(draws, tuple):
        return tuple(one_of(part, n, place) for part in draws)
    if isinstance(draws, np.random.Generator):
        return OneOfMany(draws, n, place)
    return taken(draws, [place])


def simulated_draws(streams, n, place):
    """The randomness that user ``place`` of ``n`` has in a simulation in which everybody is asked."""
    return lambda device, question: one_of(device.draws(streams, n, question), n, place)


class OneByOne(SimulatedUsers):
    """Simulated users whose sums are added up report by report instead of drawn by their law."""

    def sums(self, device, question, by=None):
        return device.estimate(device.addends(self.ask(device, question), question).sum(axis=0), question, self.n)


def simulated(model, X, y, mask=None, X_public=None, y_public=None):
    """Fit a method to simulated users, one by one."""
    users = model._users(X, y, mask, X_public, y_public, model._streams())
    users.__class__ = OneByOne
    return type(model)(**model.get_params(deep=False)).learn_from(users)


@dataclass
class Wire:
    """Clients of all users, and a transport that delivers reports in random order.

    Attributes
    ----------
    model : LocalEstimator
    X, y, mask
        Records as the devices hold them.
    streams : Streams, optional
        Randomness of the simulation that the wire is to equal; None: fresh.
    silent : callable (round) -> users who do not answer it
    """

    model: object
    X: np.ndarray
    y: np.ndarray
    mask: np.ndarray | None = None
    X_public: np.ndarray | None = None
    y_public: np.ndarray | None = None
    streams: object = None
    seed: int = 0
    shards: int = 2
    run: tuple = RUN
    silent: Callable = lambda number: ()
    sent: list = field(default_factory=list)

    def __post_init__(self):
        n, d = self.X.shape
        classes = getattr(self.model, "classes", None)
        self.clients = [
            Client(
                i, user_token(SECRET, i), self.model.epsilon, self.run, self.X[i], self.y[i],
                None if self.mask is None else self.mask[i], classes,
                draws=None if self.streams is None else simulated_draws(self.streams, n, i),
            )
            for i in range(n)
        ]  # fmt: skip
        public = None
        if self.X_public is not None:
            public = PublicSample(self.X_public, np.searchsorted(classes, self.y_public))
        self.rng, self.number = np.random.default_rng(self.seed), 0
        self.users = RemoteUsers(
            range(n), self.transport, SECRET, d, y_range=getattr(self.model, "y_range", None), classes=classes,
            public=public, shards=self.shards,
        )  # fmt: skip

    def transport(self, contents):
        self.number += 1
        self.sent.append(dict(contents))
        quiet = set(self.silent(self.number))
        reports = [self.clients[user].answer(content) for user, content in contents.items() if user not in quiet]
        return [reports[k] for k in self.rng.permutation(len(reports))]

    def fit(self):
        return learn_remotely(self.model, self.users)


@dataclass(frozen=True)
class Device:
    """A method's device.

    Attributes
    ----------
    make : callable (user, protected, **options) -> Client
        ``protected``: random seed of the record's protected values. What is public depends on ``user`` alone.
    broadcasts : callable () -> list of bytes
        Broadcasts of all rounds of an honest campaign, as user 0 receives them.
    """

    make: Callable
    broadcasts: Callable


def record(user, protected, d=3):
    """Features and label in [0, 1]; feature 0 is protected, the others are public."""
    x = np.random.default_rng([1, user]).random(d)
    secret = np.random.default_rng([2, protected])
    x[0] = secret.choice([0.0, 1.0, secret.random()])
    return x, secret.choice([0.0, 1.0, secret.random()])


def regression_client(user, protected, **options):
    x, y = record(user, protected)
    # Labels outside the announced range, too.
    y = 5 * y - 2
    return Client(user, user_token(SECRET, user), LIMIT, RUN, x, y, [True, False, False], **options)


def classification_client(user, protected, d=3, **options):
    rng = np.random.default_rng([3, protected])
    # Features beyond single precision, too.
    x = (3 * rng.random(d) - 1) * rng.choice([1.0, -1.0, 1e300])
    return Client(user, user_token(SECRET, user), LIMIT, RUN, x, rng.choice(CLASSES), None, CLASSES, **options)


def broadcasts(model, make, changes=None, d=3, public=None):
    """What user 0 receives; ``changes`` are made to the last question."""
    clients, received = [make(user, user) for user in range(N_USERS)], []

    def transport(contents):
        received.extend(contents[user] for user in contents if user == 0)
        return [clients[user].answer(content) for user, content in contents.items()]

    classes = getattr(model, "classes", None)
    users = RemoteUsers(
        range(N_USERS), transport, SECRET, d, y_range=getattr(model, "y_range", None), classes=classes, public=public
    )
    if changes is not None:
        device, question = changes(users)
        users.ask(device, question)
    else:
        learn_remotely(model, users)
    return received


def joint_question(users):
    """A residual together with the bin of the protected feature, after effects of two features."""
    from lpbench.estimators.tuning_free.level_reports import LevelReport
    from lpbench.estimators.tuning_free.rounds import Question

    assert users.mask.shape == (N_USERS, 3)
    n = users.n
    effects = {0: np.array([0.2, -0.1]), 2: np.array([0.1])}
    return RESIDUAL, Question(
        np.arange(n), np.full(n, 0.5), np.full(n, 0.7), LevelReport(LIMIT, 4, 3), 3.0, 0, effects
    )  # fmt: skip


def public_rows(d, n=30):
    rng = np.random.default_rng(4)
    return PublicSample(rng.random((n, d)), rng.choice(CLASSES, n))


def hist(mechanism):
    model = HistOfTree(LIMIT, bins=2, depth=2, mechanism=mechanism, noise="discrete", y_range=Y_RANGE, random_state=0)
    return Device(regression_client, cache(lambda: broadcasts(model, regression_client)))


def lpct(**options):
    model = LPCT(LIMIT, depth=3, min_samples_leaf=0, random_state=0, classes=CLASSES, **options)
    return Device(classification_client, cache(lambda: broadcasts(model, classification_client, public=public_rows(3))))


DEVICES = {
    "HistOfTree (grr)": hist("grr"),
    "HistOfTree (rr)": hist("rr"),
    "LPCT (discrete)": lpct(noise="discrete"),
    "ResidualGP": Device(
        regression_client,
        cache(lambda: broadcasts(ResidualGP(LIMIT, y_range=Y_RANGE, random_state=0), regression_client)),
    ),
    "ResidualGP (joint)": Device(
        regression_client,
        cache(lambda: broadcasts(ResidualGP(LIMIT, y_range=Y_RANGE), regression_client, joint_question)),
    ),
    "ResidualScore": Device(
        classification_client,
        cache(
            lambda: broadcasts(
                ResidualScore(LIMIT, random_state=0, classes=CLASSES), classification_client, public=public_rows(3)
            )
        ),
    ),
    "LPCT (rr)": lpct(mechanism="rr"),
    "PrivateLabelsRegressor": Device(
        regression_client,
        cache(
            lambda: broadcasts(
                PrivateLabelsRegressor(LIMIT, randomizer="levels", y_range=Y_RANGE, random_state=0), regression_client
            )
        ),
    ),
    "PrivateLabelsClassifier": Device(
        classification_client,
        cache(
            lambda: broadcasts(PrivateLabelsClassifier(LIMIT, classes=CLASSES, random_state=0), classification_client)
        ),
    ),
}


def ready(device, user, protected, number, **options):
    """A client that has answered all rounds before ``number``."""
    client = device.make(user, protected, **options)
    for content in device.broadcasts()[: number - 1]:
        client.answer(content)
    return client


__all__ = ["DEVICES", "LIMIT", "SECRET", "UserDevice", "Wire", "dataclasses", "ready", "simulated"]
