"""CalibratedScore as a protocol of one round: a cell of the public score and a class, hidden in a subset.

The score is a function of the public sample, which is broadcast: the device grows the same forests as the curator and
finds its cell in them. Fed the same draws, the curator's model is that of ``fit`` to the last bit.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.deployment.broadcast import Broadcast, campaign_of
from lpbench.deployment.client import Answer, ClassificationClient, ClassList, budget_of, fresh_generator
from lpbench.deployment.collector import Collector, ProtocolError, Round
from lpbench.errors import ConfigurationError
from lpbench.estimators import CalibratedScore
from lpbench.estimators.tuning_free.calibrated_score import LEARNERS
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.estimators.tuning_free.score_cells import ScoreCells
from lpbench.estimators.tuning_free.subset_device import SUBSET, SubsetQuestion
from lpbench.privacy import Records, SubsetSelection

NAME = "calibrated_score"
#: Bins of the score and leaves of the tree beyond which a device does not answer.
MOST_BINS, MOST_LEAVES = 1 << 10, 1 << 12
#: Largest number in single precision, in which the forests compare.
_LARGEST = float(np.finfo(np.float32).max)


class CalibratedScoreClient(ClassificationClient):
    """A device with one record; ``draws``: a uniform of shape (1,) for the truth, a Generator for the other members."""

    protocol = NAME

    def _fresh_draws(self, n_features: int) -> tuple[np.ndarray, np.random.Generator]:
        rng = fresh_generator()
        return rng.random(1), rng

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
        score, cells = _score_of(rows, self._record.X.size, n_classes, seed, learner, bins, leaves, spread)
        mechanism = SubsetSelection(budget, (1 if cells is None else cells.n_cells) * n_classes, size)
        record = Records(np.clip(self._record.X, -_LARGEST, _LARGEST), self._record.y)
        return Answer.of(SUBSET, record, SubsetQuestion(score, cells, n_classes, mechanism), self._draws)


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
        fields = SUBSET.fields(self.model._question(self._mechanism))
        rules = Round(1, campaign_of(self.first), fields, keep="counts")
        return Collector(rules, self._secret, shard, n_shards, possible=_is_subset)

    def fit(self, collector: Collector) -> CalibratedScore:
        """Return the fitted model from what a collector has counted."""
        counts = collector.counts().reshape(self._mechanism.size, -1).sum(axis=0)
        return self.model._learned(self._sample, self._mechanism, counts)


def _is_subset(users: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether members are distinct and in increasing order."""
    return np.asarray((np.diff(values, axis=1) > 0).all(axis=1))
