"""LPCT as a protocol of one round (LPCT section 3): a table of votes in the cells of the public partition.

Reports of randomised response and of discrete noise add up exactly, so that the curator's model is that of the
per-user simulation to the last bit if both are fed the same draws. A device holds its public list of classes: it
refuses a broadcast that names others, whatever its record.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from lpbench.checks import check_choice
from lpbench.deployment.broadcast import Broadcast, campaign_of
from lpbench.deployment.client import Answer, ClassificationClient, ClassList, budget_of, fresh_generator
from lpbench.deployment.collector import Collector, Round
from lpbench.errors import ConfigurationError
from lpbench.estimators import LPCT
from lpbench.estimators.lpct.tables import Tables
from lpbench.estimators.lpct.votes import VOTE, VoteMechanism, VoteQuestion, regression_function
from lpbench.partitions import TreeCells

NAME = "lpct"
#: Mechanisms of the wire: no report carries continuous noise.
KINDS = ("rr", "discrete")


class LPCTClient(ClassificationClient):
    """A device with one record; ``draws`` is a Generator."""

    protocol = NAME

    def _fresh_draws(self, n_features: int) -> np.random.Generator:
        return fresh_generator()

    def _plan(self, broadcast: Broadcast) -> Answer:
        settings, tree = broadcast.settings, broadcast.partition
        self._classes.check(settings)
        budget, kind = budget_of(settings, "budget"), check_choice("kind", settings["kind"], KINDS)
        question = VoteQuestion(TreeCells(tree), self._classes.size, VoteMechanism(budget, kind))
        return Answer.of(VOTE, self._record, question, self._draws)


class Sums(Protocol):
    """Sums of the reports that were accepted."""

    @property
    def accepted(self) -> int:
        """Number of reports."""
        ...

    def sums(self) -> np.ndarray:
        """Return the sums of all fields: ndarray of shape (n_classes * n_cells,)."""
        ...


class LPCTCurator:
    """The curator: grows the partition from the public sample, asks once, adds up.

    Parameters
    ----------
    model : LPCT
        Parameters of the method; ``depth`` must be given, since the number of users who will answer is not known.
    X_public : ndarray of shape (q, d)
    y_public : ndarray of shape (q,)
    classes : array-like
        All classes that a user may have.
    secret : bytes
        Key of the enrolment tokens.
    """

    def __init__(self, model: LPCT, X_public: ArrayLike, y_public: ArrayLike, classes: ArrayLike, secret: bytes):
        if model.depth is None or model.epsilon == float("inf"):
            raise ConfigurationError("LPCT's protocol needs a depth and a finite epsilon")
        self.model, self._secret = clone(model).set_params(classes=np.unique(classes)), secret
        self.model._check_fixed()
        # One row per class stands for the private sample, which the curator does not see; it only sets the classes.
        places = np.zeros((np.unique(classes).size, np.shape(X_public)[1]))
        samples = self.model._check_samples(places, np.unique(classes), X_public=X_public, y_public=y_public)
        depth, size = int(model.depth), model.min_samples_leaf
        table = Tables(self.model, samples, self.model._streams(), depth, size).at(depth, size)
        leaves = table.tree.leaves(depth)
        self._tree, self._public = table.tree.tree, table.public[:, leaves]
        #: What is asked of every user.
        self.question = self.model._question(self._tree, depth)
        mechanism = self.question.mechanism
        if mechanism.kind not in KINDS:
            raise ConfigurationError("devices send no continuous noise: use noise='discrete' or mechanism='rr'")
        settings = {
            "budget": float(model.epsilon), "kind": mechanism.kind,
            "classes": ClassList(self.model.classes_).as_json(),
        }  # fmt: skip
        self.first = Broadcast({"protocol": NAME, "round": 1, **settings}, self._tree).encode()

    def collector(self, shard: int = 0, n_shards: int = 1) -> Collector:
        """Return an empty collector."""
        return Collector(
            Round(1, campaign_of(self.first), VOTE.fields(self.question), keep="sums"), self._secret, shard, n_shards
        )

    def fit(self, collector: Sums) -> LPCT:
        """Return the fitted model from what a collector (or a stream of simulated users) has added up."""
        votes = VOTE.estimate(collector.sums(), self.question, collector.accepted).reshape(self._public.shape)
        weight = self.model._weight(self.model.public_weight, self._public.shape[1], self.question.mechanism)
        self.model._store_leaves(self._tree, regression_function(votes, self._public, weight))
        return self.model
