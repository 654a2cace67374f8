"""Private selection: training and validating users, their reports, and the choice among candidates.

Training users are divided among the settings that need reports of their own. The others validate: each sends one report
at the whole budget, about one candidate and the first. Nobody is asked for both.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from lpbench.checks import check_number
from lpbench.errors import ConfigurationError, DataError, PrivacyError
from lpbench.estimators.base import LocalClassifier, LocalEstimator, LocalRegressor, check_epsilon
from lpbench.estimators.baselines.tree_growth import tree_depth
from lpbench.estimators.baselines.trees import TreeRegressor
from lpbench.estimators.private_selection.candidates import Candidates, candidates_of
from lpbench.estimators.privatized_labels.numbers import NUMBER, NumberQuestion
from lpbench.privacy import Device, Hybrid, Records, Users
from lpbench.seeds import Streams

#: Points of the unit cube at which two models are compared for the range of their users' loss differences.
N_PUBLIC_POINTS = 512
#: Name -> loss of predictions.
LOSSES: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "squared": lambda predictions, y: (predictions - y) ** 2,
    "wrong": lambda predictions, y: (predictions != y).astype(float),
}


@dataclass(frozen=True, eq=False)
class Division:
    """Users who train each group of candidates and users who validate them, drawn without looking at private values.

    ``training`` has one index array a group, ``validating`` is one; no user is in two of them.
    """

    training: list[np.ndarray]  # users of each group of candidates
    validating: np.ndarray  # in random order


@dataclass(frozen=True, eq=False)
class DifferenceQuestion:
    """Ask for the loss of ``model`` minus that of ``first`` on the own record; both models are public by then.

    ``loss`` names the loss, and ``number`` has its public range and the randomizer.
    """

    model: Any
    first: Any
    loss: str  # a key of LOSSES
    number: NumberQuestion  # the difference of the two losses lies in its range


class DifferenceDevice(Device[DifferenceQuestion]):
    """Send how much larger the loss of one model is than that of another on the own record, clipped and randomized."""

    def mechanism(self, question: DifferenceQuestion) -> Any:
        """Return the randomizer of the difference, mapped to [-1, 1]."""
        return question.number.mechanism

    def inputs(self, records: Records, question: DifferenceQuestion) -> np.ndarray:
        """Clipped differences of the two models' losses on each record, scaled to [-1, 1]: shape (n,)."""
        loss = LOSSES[question.loss]
        predicted, reference = question.model.predict(records.X), question.first.predict(records.X)
        return question.number.unit(loss(predicted, records.y) - loss(reference, records.y))


DIFFERENCE = DifferenceDevice()


def divide(n: int, n_groups: int, share: float, streams: Streams) -> Division:
    """Divide n users at random; without groups to train all of them validate."""
    order = streams.generator("users").permutation(n)
    if n <= n_groups:
        raise DataError(
            f"n_samples = {n}: {n_groups} groups of candidates and a validating user need more; "
            "pass more users or fewer candidates"
        )
    validating = min(round(share * n), n - n_groups) if n_groups else n
    groups = np.array_split(order[validating:], n_groups) if n_groups else []
    return Division([np.sort(users) for users in groups], order[:validating])


def fit_candidates(
    candidates: Candidates, users: Users, division: Division, parameters: Mapping[str, Any], streams: Streams
) -> list[Any]:
    """Fitted candidates in the order of their settings; those of one group learn from the same reports."""

    def learned(point: Mapping[str, Any], trainers: Users, group: int) -> Any:
        model = candidates.build().set_params(**point)
        model.taught(trainers, streams.child("candidates", group=group), **parameters)
        if "classes" in parameters:
            # Devices compare predictions with class numbers, whatever the classes are called.
            model.classes_ = parameters["classes"]
        return model

    fitted: list[Any] = [None] * len(candidates.points)
    for number, (members, trained_by) in enumerate(zip(candidates.groups(), division.training, strict=True)):
        group, model, order = users.take(trained_by), candidates.build(), members
        if isinstance(model, TreeRegressor):  # a tree is read at smaller depths than its own
            order = sorted(members, key=lambda k: -tree_depth(model.get_params() | candidates.points[k]))
        for k in order:
            point, before = candidates.points[k], (fitted[j] for j in members)
            alike = (earlier.resized(point) for earlier in before if isinstance(earlier, TreeRegressor))
            fitted[k] = next(filter(None, alike), None) or learned(point, group, number)
        for k in members:
            if fitted[k].guarantee_.epsilon > fitted[members[0]].guarantee_.epsilon:
                raise PrivacyError(
                    f"candidate {k} asks another question than candidate {members[0]}, whose users it shares; leave "
                    "out of `shared` what decides what is asked"
                )
    if not division.training:
        fitted = [learned(point, users, k) for k, point in enumerate(candidates.points)]
    return fitted


def compare_by_labels(
    fitted: Sequence[Any], users: Users, validating: np.ndarray, y_range: tuple[float, float], epsilon: float
) -> np.ndarray:
    """Estimate each candidate's squared error minus the first's, from one unbiased label report a user."""
    if validating.size == 0:
        return np.zeros(len(fitted))
    question = NumberQuestion(y_range, Hybrid(epsilon))
    readings = question.readings(users.ask(NUMBER, question, validating))
    features = np.nan_to_num(users.public_features[validating], nan=0.0)
    predictions = np.array([model.predict(features) for model in fitted])
    first = predictions[0]
    return np.asarray(((predictions - first) * (predictions + first - 2.0 * readings)).mean(axis=1))


def compare_by_differences(
    fitted: Sequence[Any],
    users: Users,
    validating: np.ndarray,
    epsilon: float,
    loss: str,
    reach: Callable[[Any, Any], float],  # (model, first) -> range to which devices clip the difference
) -> np.ndarray:
    """Estimate each candidate's risk minus the first's, (candidates,), where only users know their own features.

    Each of the ``validating`` users (indices) reports one clipped difference of two candidates' losses on the own
    record. ``reach(model, first)`` is the half-width to which devices clip it.
    """
    differences = np.zeros(len(fitted))
    for k in range(1, len(fitted)):
        members = validating[k - 1 :: len(fitted) - 1]
        if members.size == 0:
            continue
        width = reach(fitted[k], fitted[0])
        number = NumberQuestion((-width, width), Hybrid(epsilon))
        question = DifferenceQuestion(fitted[k], fitted[0], loss, number)
        differences[k] = number.readings(users.ask(DIFFERENCE, question, members)).mean()
    return differences


def squared_reach(model: Any, first: Any, y_range: tuple[float, float], n_features: int) -> float:
    """Largest difference of squared errors for any label of the range, at fixed points of the unit cube."""
    points = Streams(0).generator("public points").random((N_PUBLIC_POINTS, n_features))
    predicted, reference = model.predict(points), first.predict(points)
    farthest = np.maximum(*(np.abs(predicted + reference - 2.0 * end) for end in y_range))
    return float((np.abs(predicted - reference) * farthest).max())


@dataclass(eq=False, repr=False)
class PrivateSelection(LocalEstimator):
    """Base of the two estimators that fit candidate settings on some users and choose by the reports of others.

    No user is asked twice: training users are divided among the settings that need reports of their own, and a
    validating user sends one report at the whole budget. A method that reads the public sample alone trains no private
    user, and all of them validate. Fitted are ``estimator_``, the chosen candidate (of classes: to class numbers), its
    setting ``point_``, and ``differences_``, the estimated risk of each candidate minus that of the first.

    Parameters
    ----------
    epsilon : float
        Budget of one user, who trains or validates and never does both.
    estimator : str or estimator
        A key of :data:`CANDIDATES`, or an estimator, which is cloned.
    candidates : sequence of mappings, optional
        Settings to choose from, the stated one first; None: those listed for the name.
    shared : sequence of str
        Parameters that act on reports which users have sent: candidates that differ in them share users.
    validation_share : float
        Share of the users who validate, in [0, 1).
    """

    uses_public = True

    epsilon: float = 1.0
    estimator: Any = ""  # a key of CANDIDATES, or an estimator, which is cloned
    candidates: Any = None  # settings to choose from, the stated one first; None: those listed for the name
    shared: Any = ()  # parameters that act on reports which users have sent: candidates that differ in them share users
    validation_share: float = 0.2  # of the users, in [0, 1)

    def learn(self, users: Users) -> Self:
        """Train the candidates, validate them and keep the best."""
        epsilon = check_epsilon(self.epsilon)
        share = check_number("validation_share", self.validation_share, least=0, below=1)
        candidates, streams = candidates_of(self.estimator, self.candidates, self.shared), self._streams()
        if not candidates.groups() and users.public is None:
            raise ConfigurationError(
                f"estimator={self.estimator!r} reads the public sample alone: pass X_public and y_public"
            )
        division = divide(users.n, len(candidates.groups()), share, streams)
        fitted = fit_candidates(candidates, users, division, {"epsilon": epsilon, **self._known()}, streams)
        self.differences_ = self._differences(fitted, users, division.validating, epsilon)
        best = int(np.argmin(self.differences_))
        self.estimator_, self.point_ = fitted[best], dict(candidates.points[best])
        note = f"{division.validating.size} users validate {len(fitted) - 1} settings beside the first"
        if division.training:
            least, groups = min(map(len, division.training)), len(division.training)
            note = f"{least} users train each of {groups} groups of settings; {note}"
        users.note(note)
        return self

    @abstractmethod
    def _known(self) -> dict[str, Any]:
        """Return the public facts (range, classes, domain) as parameters for the candidates."""

    @abstractmethod
    def _differences(self, fitted: Sequence[Any], users: Users, validating: np.ndarray, epsilon: float) -> np.ndarray:
        """Estimated risk of each candidate minus that of the first, (candidates,), by one report per validating user.

        ``fitted`` are the candidates, the stated one first; ``validating`` the indices of the users asked.
        """


@dataclass(eq=False, repr=False)
class PrivateSelectionRegressor(PrivateSelection, LocalRegressor):
    """A regressor whose setting is chosen by privatized reports alone.

    Where no validating user protects a feature that the models read, the report is the label, and every report compares
    all candidates; else it is the clipped difference of the squared errors of one candidate and the first.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PrivateSelectionRegressor
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PrivateSelectionRegressor(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    rounding = "sums as wide as the processor's vectors"
    uses_mask = True

    estimator: Any = "par_dt"

    def _known(self) -> dict[str, Any]:
        return {"y_range": self.y_range_, "domain": (0.0, 1.0)}

    def _differences(self, fitted: Sequence[Any], users: Users, validating: np.ndarray, epsilon: float) -> np.ndarray:
        hidden, everything = users.mask[validating], np.arange(users.n_features)
        if all(not hidden[:, getattr(model, "features_", everything)].any() for model in fitted):
            return compare_by_labels(fitted, users, validating, self.y_range_, epsilon)
        reach = partial(squared_reach, y_range=self.y_range_, n_features=users.n_features)
        return compare_by_differences(fitted, users, validating, epsilon, "squared", reach)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete X of shape (m, d), as the chosen candidate does: ndarray of shape (m,)."""
        X = self._check_predict(X)  # fails before fit
        return np.asarray(self.estimator_.predict(X))


@dataclass(eq=False, repr=False)
class PrivateSelectionClassifier(PrivateSelection, LocalClassifier):
    """A classifier whose setting is chosen by privatized reports alone.

    A report says whether one candidate is wrong on the own record minus whether the first is.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PrivateSelectionClassifier
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PrivateSelectionClassifier(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    estimator: Any = "lpct_max_edge"

    def _known(self) -> dict[str, Any]:
        return {"domain": None, "classes": np.arange(self.classes_.size)}

    def _differences(self, fitted: Sequence[Any], users: Users, validating: np.ndarray, epsilon: float) -> np.ndarray:
        return compare_by_differences(fitted, users, validating, epsilon, "wrong", lambda model, first: 1.0)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities by the chosen candidate.

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
        probability = np.zeros((X.shape[0], self.classes_.size))
        probability[:, self.estimator_.classes_] = self.estimator_.predict_proba(X)
        return probability

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict class labels for X of shape (m, d), as the chosen candidate does."""
        X = self._check_predict(X)  # fails before fit
        return self.classes_[self.estimator_.predict(X)]
