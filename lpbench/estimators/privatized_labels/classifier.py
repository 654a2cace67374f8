"""PrivateLabelsClassifier: any classifier on labels that any randomizer of the literature has privatized."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from lpbench.checks import check_choice, check_number
from lpbench.estimators.base import LocalClassifier, check_epsilon
from lpbench.estimators.private_classes import CLASS, ClassQuestion
from lpbench.estimators.privatized_labels.learners import (
    CLASSIFIERS,
    REGRESSORS,
    build_learner,
    fit_learner,
    shown_features,
)
from lpbench.estimators.privatized_labels.numbers import on_simplex
from lpbench.privacy import GRR, BitVector, HadamardResponse, Laplace, Mechanism, SubsetSelection, Users
from lpbench.seeds import Streams

#: Share of the users who report without a prior: for the prior of all, and in the first of two stages.
PRIOR_SHARE, STAGE_SHARE = 0.1, 0.5
#: Name -> mechanism for a budget and a number of classes. The two that take a prior start with plain responses.
CLASS_MECHANISMS: Mapping[str, Callable[[float, int], Mechanism]] = {
    "rr": GRR,
    "subset_selection": SubsetSelection.least_variance,
    "vector_approximation": BitVector,
    "hadamard": HadamardResponse,
    "alibi": lambda epsilon, n_classes: Laplace.for_budget(epsilon, 2.0),
    "rr_with_prior": GRR,
    "two_stages": GRR,
}


def soft_labels(question: ClassQuestion, reports: np.ndarray) -> np.ndarray:
    """Weights of the classes that the curator gives each report, shape (n, n_classes); rows add up to 1.

    The reported class; the members of a subset evenly; of noisy one-hot vectors the posterior probabilities, for the
    prior that the vectors themselves give on average (Malek et al. 2021).
    """
    mechanism: Any = question.mechanism
    if isinstance(mechanism, Laplace):
        if mechanism.scale == 0:
            return reports
        prior = on_simplex(reports.mean(axis=0))
        # Distance of a report to each one-hot vector, up to what all of them share.
        nearer = (np.abs(reports) - np.abs(reports - 1.0)) / mechanism.scale
        with np.errstate(divide="ignore"):
            log_weight = nearer + np.log(prior)
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)
    if isinstance(mechanism, SubsetSelection):
        inside = np.zeros((len(reports), question.n_classes))
        np.put_along_axis(inside, reports, 1.0 / mechanism.size, axis=1)
        return inside
    return np.eye(question.n_classes)[reports]


def shown_given_true(question: ClassQuestion) -> np.ndarray | None:
    """Expected soft label of each true class (row), to correct by; None where authors do not correct."""
    mechanism: Any = question.mechanism
    if question.prior is not None or isinstance(mechanism, (Laplace, BitVector)):
        return None
    if isinstance(mechanism, SubsetSelection):
        keep, stray = mechanism.probabilities
        table = np.where(np.eye(question.n_classes, dtype=bool), keep, stray)
        return table / mechanism.size
    return mechanism.channel()


def class_prior(reports: np.ndarray, mechanism: GRR) -> np.ndarray:
    """Estimate the shares of the classes from plain responses: the unbiased ones, projected on the simplex."""
    if reports.size == 0:
        return np.full(mechanism.n_categories, 1.0 / mechanism.n_categories)
    counts = np.bincount(reports, minlength=mechanism.n_categories)
    return on_simplex(mechanism.estimate(counts, reports.size) / reports.size)


@dataclass(frozen=True, eq=False)
class Model:
    """Fitted learners and how their outputs become class probabilities.

    ``reported`` are the class codes that the outputs stand for, and ``correction`` (n_classes, n_classes) inverts the
    channel: it maps probabilities of reports to those of true classes. None: the outputs are those already.
    """

    learners: list[Any]  # one classifier; or one regressor a class
    reported: np.ndarray  # classes in the order of the classifier's columns
    correction: np.ndarray | None  # inverse of the expected soft labels, (n_classes, n_classes)

    def probabilities(self, X: np.ndarray, n_classes: int) -> np.ndarray:
        """Class probabilities of shape (m, n_classes)."""
        shares = np.zeros((X.shape[0], n_classes))
        if len(self.learners) > 1:
            shares[:] = np.column_stack([np.ravel(learner.predict(X)) for learner in self.learners])
        elif self.learners:
            shares[:, self.reported] = self.learners[0].predict_proba(X)
        else:
            shares[:, self.reported] = 1.0
        if self.correction is not None:
            shares = shares @ self.correction
        best = shares.argmax(axis=1)
        shares = np.maximum(shares, 0.0)
        total = shares.sum(axis=1, keepdims=True)
        # Where nothing positive is left, the largest of what there was.
        return np.where(total > 0, shares / np.where(total > 0, total, 1.0), np.eye(n_classes)[best])


@dataclass(eq=False, repr=False)
class PrivateLabelsClassifier(LocalClassifier):
    """Fit a classifier to privatized labels and the features that users show.

    Every user reports once, at the whole budget.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    randomizer : str
        ``"rr"``: randomized response on all classes. ``"subset_selection"``: a random set of classes. Both correct the
        learned probabilities by the known channel. ``"vector_approximation"`` (Zhao et al. 2025): a bit for each class,
        and a regression on each unbiased bit. ``"hadamard"`` (Acharya et al. 2019): the same, from one short number.
        ``"alibi"`` (Malek et al. 2021): a noisy one-hot vector, read as posterior probabilities. ``"rr_with_prior"``
        (Ghazi et al. 2021): a share of the users gives the prior of the classes, the others answer among the probable
        ones. ``"two_stages"``: the prior of each user in the second stage is what a learner of the first predicts.
    learner : str or estimator
        ``"ridge"`` (logistic regression with a ridge penalty), ``"extra_trees"``, ``"hist_gradient_boosting"``,
        ``"gaussian_process"``, or any classifier with ``predict_proba``, which is cloned; ``vector_approximation``
        and ``hadamard`` take a regressor.
    prior_share : float or None
        Share of the users asked first by ``rr_with_prior`` (None: 0.1) and ``two_stages`` (None: 0.5), in (0, 1).
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`.

    Attributes
    ----------
    model_ : Model
    features_ : int ndarray
        Columns that at least one user shows; entries that the others protect are replaced by the column's mean.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PrivateLabelsClassifier
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PrivateLabelsClassifier(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    uses_mask = True

    epsilon: float = 1.0
    randomizer: str = "rr"
    learner: Any = "ridge"
    prior_share: float | None = None
    domain: Any = field(default=(0.0, 1.0), kw_only=True)

    def learn(self, users: Users) -> Self:
        """Ask every user for a randomized class, and fit the learner to the corrected soft labels."""
        check_epsilon(self.epsilon)
        check_choice("randomizer", self.randomizer, CLASS_MECHANISMS)
        self.features_, visible = shown_features(users.public_features)
        visible = visible if visible.shape[1] else np.zeros((users.n, 1))
        question, share = self._question(), self._share()
        if share == 1:
            self.model_ = self._learn(visible, question, users.ask(CLASS, question), self._streams())
        else:
            self.model_ = self._in_stages(visible, users, question, share)
        return self

    def _question(self) -> ClassQuestion:
        """Return the question to users without a prior: the class under the randomizer at the whole budget."""
        n_classes = int(self.classes_.size)
        return ClassQuestion(CLASS_MECHANISMS[self.randomizer](float(self.epsilon), n_classes), n_classes=n_classes)

    def _share(self) -> float:
        """Share of the users, in (0, 1], who are asked first and without a prior; 1 where no prior is used."""
        usual = {"rr_with_prior": PRIOR_SHARE, "two_stages": STAGE_SHARE}.get(self.randomizer)
        if usual is None:
            return 1.0
        return usual if self.prior_share is None else check_number("prior_share", self.prior_share, above=0, below=1)

    def _in_stages(self, visible: np.ndarray, users: Users, question: ClassQuestion, share: float) -> Model:
        """Ask a ``share`` of the users without a prior and the others with one learned from them; fit on all reports.

        ``visible`` (n, k) are the features that users show, ``question`` is that without a prior.
        """
        streams = self._streams()
        order = streams.generator("prior users").permutation(users.n)
        first, second = np.split(order, [max(1, round(share * users.n))])
        early = users.ask(CLASS, question, first)
        if self.randomizer == "rr_with_prior":
            common = class_prior(early, question.mechanism)  # type: ignore[arg-type]
            prior = np.broadcast_to(common, (second.size, question.n_classes))
        else:
            model = self._learn(visible[first], question, early, streams.child("first stage"))
            prior = model.probabilities(visible[second], question.n_classes)
        informed = replace(question, prior=prior)
        late = users.ask(CLASS, informed, second)
        everybody = np.empty(users.n, dtype=np.int64)
        everybody[first], everybody[second] = early, late
        return self._learn(visible, informed, everybody, streams)

    def _learn(self, X: np.ndarray, question: ClassQuestion, reports: np.ndarray, streams: Streams) -> Model:
        """Fit the learner to ``reports`` (n, ...) of users who show features X (n, k); keep the channel's correction.

        Bits are regressed one class at a time; otherwise the reported classes are learned and corrected by the
        channel's inverse. Where all reports name one class nothing is fitted.
        """
        n_classes = question.n_classes
        if isinstance(question.mechanism, (BitVector, HadamardResponse)):
            learner = build_learner(self.learner, REGRESSORS, streams, len(X))
            bits = question.mechanism.estimate(CLASS.addends(reports, question))
            several = range(n_classes) if n_classes > 1 else ()
            fitted = [fit_learner(build_learner(learner, {}, streams, len(X)), X, bits[:, k], None) for k in several]
            return Model(fitted, np.arange(n_classes), None)
        labels = soft_labels(question, reports)
        rows, classes = np.nonzero(labels)
        weights = labels[rows, classes]
        table = shown_given_true(question)
        correction = None if table is None else np.linalg.pinv(table)
        reported = np.unique(classes)
        if reported.size == 1:
            return Model([], reported, None)
        learner = build_learner(self.learner, CLASSIFIERS, streams, len(X))
        fitted = [fit_learner(learner, X[rows], classes, weights, needed=True)]
        return Model(fitted, reported, correction)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities, corrected for the randomizer, from the features that somebody shows.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Complete rows, in the units of the training rows.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Probabilities in the order of ``classes_``; rows sum to 1.
        """
        X = self._check_predict(X)
        visible = X[:, self.features_] if self.features_.size else np.zeros((X.shape[0], 1))
        return self.model_.probabilities(visible, self.classes_.size)
