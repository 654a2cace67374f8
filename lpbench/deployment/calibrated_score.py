"""CalibratedScore as a protocol of one round: a cell of the public score and a class, hidden in a subset.

The score is a function of the public sample, which is broadcast: the device grows the same forests as the curator and
finds its cell in them. Fed the same draws, the curator's model is that of ``fit`` to the last bit.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.deployment.broadcast import Broadcast, campaign_of
from lpbench.deployment.client import Answer, ClassList, Client, budget_of, features_of, fresh_generator
from lpbench.deployment.collector import Collector, ProtocolError, Round
from lpbench.deployment.ledger import Ledger
from lpbench.errors import ConfigurationError
from lpbench.estimators import CalibratedScore
from lpbench.estimators.tuning_free.calibrated_score import LEARNERS
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.estimators.tuning_free.score_cells import ScoreCells
from lpbench.privacy import SubsetSelection, subset_reports
from lpbench.privacy.payload import Field, Integers

NAME = "calibrated_score"
#: Bins of the score and leaves of the tree beyond which a device does not answer.
MOST_BINS, MOST_LEAVES = 1 << 10, 1 << 12
#: Largest number in single precision, in which the forests compare.
_LARGEST = float(np.finfo(np.float32).max)


def subset_fields(mechanism: SubsetSelection) -> tuple[Field, ...]:
    """Members of the subset, in increasing order."""
    return (Integers(mechanism.n_categories, mechanism.size),)


class CalibratedScoreClient(Client):
    """A device with one record.

    Parameters
    ----------
    user, token, limit
        See :class:`~lpbench.deployment.client.Client`.
    x : ndarray of shape (d,)
        Features as the score takes them.
    y : object
        Class of the record, one of ``classes``.
    classes : array-like of shape (n_classes,)
        The public list of classes; a broadcast that names others is refused.
    keep : float, optional
        Uniform that decides whether the truth is sent. None: from ``rng``.
    rng : Generator, optional
        Chooses the other members. None: seeded by the operating system.
    ledger
        See :class:`~lpbench.deployment.client.Client`.
    """

    protocol = NAME

    def __init__(
        self,
        user: int,
        token: bytes,
        limit: float,
        x: ArrayLike,
        y: Any,
        classes: ArrayLike,
        keep: float | None = None,
        rng: np.random.Generator | None = None,
        ledger: Ledger | Path | str | None = None,
    ):
        super().__init__(user, token, limit, ledger)
        self._x, self._classes = np.clip(features_of(x), -_LARGEST, _LARGEST), ClassList(classes)
        self._code = self._classes.code_of(y)
        self._rng = fresh_generator() if rng is None else rng
        self._keep = np.array([self._rng.random() if keep is None else keep])

    def _plan(self, broadcast: Broadcast) -> Answer:
        settings, n_classes = broadcast.settings, self._classes.size
        self._classes.check(settings)
        budget = budget_of(settings, "budget")
        bins, leaves = _check_cells(settings, n_classes)
        size = check_whole("size", settings["size"], least=1)
        # Lists are compared as text, so that they can be remembered: the devices of a simulation share one score.
        rows = Broadcast({name: settings[name] for name in ("X_public", "y_public")}).encode()
        learner = check_choice("learner", settings["learner"], LEARNERS)
        seed = check_whole("seed", settings["seed"], most=2**32 - 1)
        spread = check_number("spread", settings["spread"], least=0)
        score, cells = _score_of(rows, self._x.size, n_classes, seed, learner, bins, leaves, spread)
        n_cells = 1 if cells is None else cells.n_cells
        mechanism = SubsetSelection(budget, n_cells * n_classes, size)

        def values() -> np.ndarray:
            cell = 0 if cells is None else int(cells.locate(score.predict_proba(self._x), self._x)[0])
            category = np.array([cell * n_classes + self._code])
            return subset_reports(category, mechanism.n_categories, size, budget, self._keep, self._rng)[0]

        return Answer(budget, subset_fields(mechanism), values)


def _check_cells(settings: dict, n_classes: int) -> tuple[int, int]:
    """Bins and leaves that a score of so many classes can have."""
    leaves = check_whole("leaves", settings["leaves"], least=0, most=MOST_LEAVES)
    bins = check_whole("bins", settings["bins"], least=1, most=MOST_BINS)
    if n_classes > 2:
        check_choice("bins", bins, (1, n_classes, 2 * n_classes))
    return bins, leaves


@lru_cache(maxsize=4)
def _score_of(
    rows: bytes, n_features: int, n_classes: int, seed: int, learner: str, bins: int, leaves: int, spread: float
) -> tuple[PublicScore, ScoreCells | None]:
    """The score and its cells from a public sample, as the curator makes them; ``leaves=0``: a single cell."""
    sample = Broadcast.decode(rows).settings
    X = np.array(sample["X_public"], dtype=np.float64)
    codes = np.array(sample["y_public"])
    if X.ndim != 2 or X.shape[1] != n_features or codes.shape != (len(X),) or codes.dtype.kind != "i":
        raise ProtocolError("the public sample does not fit this device")
    if codes.size == 0 or codes.min() < 0 or codes.max() >= n_classes or np.abs(X).max() > _LARGEST:
        raise ProtocolError("the public sample has impossible values")
    score = PublicScore(X, codes, n_classes, seed, LEARNERS[learner])
    cells = None if leaves == 0 else ScoreCells(score.out_of_bag, X, codes, bins, leaves, seed, spread)
    return score, cells


class CalibratedScoreCurator:
    """The curator: grows the score from the public sample, asks once, counts.

    Parameters
    ----------
    model : CalibratedScore
        Parameters of the method.
    X_public : ndarray of shape (q, d)
    y_public : ndarray of shape (q,)
    classes : array-like
        All classes that a user may have.
    n_users : int
        Number of users who have enrolled; with the budget it settles how many cells are affordable.
    secret : bytes
        Key of the enrolment tokens.
    """

    def __init__(
        self,
        model: CalibratedScore,
        X_public: ArrayLike,
        y_public: ArrayLike,
        classes: ArrayLike,
        n_users: int,
        secret: bytes,
    ):
        check_number("epsilon", model.epsilon, above=0, hint="devices have finite budgets")
        listed, X_public, y_public = ClassList(classes), np.asarray(X_public, dtype=np.float64), np.asarray(y_public)
        if n_users < listed.size or not np.isin(y_public, listed.values).all():
            raise ConfigurationError(
                f"n_users={n_users!r} must be at least the number of classes, and y_public have no other classes"
            )
        self.model, self._secret = clone(model).set_params(classes=listed.values), secret
        # Public rows and all classes in turn stand for the private sample, which the curator does not see.
        places = np.arange(n_users)
        stand_in = X_public[places % len(X_public)], listed.values[places % listed.size]
        self._sample = sample = self.model._sample(*stand_in, None, X_public, y_public)
        self._mechanism = self.model._design(sample)
        cut = self.model._cut(sample)
        bins, leaves, spread = (1, 0, 0.0) if cut is None else cut
        settings = {
            "budget": float(model.epsilon), "size": int(self._mechanism.size), "classes": listed.as_json(),
            "bins": int(bins), "leaves": int(leaves), "spread": float(spread), "seed": int(sample.seed),
            "learner": model.learner, "X_public": sample.X_public.tolist(), "y_public": sample.public_codes.tolist(),
        }  # fmt: skip
        self.first = Broadcast({"protocol": NAME, "round": 1, **settings}).encode()

    def collector(self, shard: int = 0, n_shards: int = 1) -> Collector:
        """Return an empty collector."""
        rules = Round(1, campaign_of(self.first), subset_fields(self._mechanism), keep="counts")
        return Collector(rules, self._secret, shard, n_shards, possible=_is_subset)

    def fit(self, collector: Collector) -> CalibratedScore:
        """Return the fitted model from what a collector has counted."""
        counts = collector.counts().reshape(self._mechanism.size, -1).sum(axis=0)
        return self.model._learned(self._sample, self._mechanism, counts)


def _is_subset(users: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether members are distinct and in increasing order."""
    return np.asarray((np.diff(values, axis=1) > 0).all(axis=1))
