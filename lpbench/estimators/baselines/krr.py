"""KRR: k-ary randomised response on the protected features, then a tree (HistOfTree sec. 5, App. C.1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lpbench.checks import check_choice, check_whole
from lpbench.estimators.baselines.trees import TreeRegressor
from lpbench.estimators.private_labels import noisy_labels, public_message_bits
from lpbench.partitions import grid_digits
from lpbench.privacy import GRR, Device, Records, grr_reports
from lpbench.privacy.guarantee import Guarantee
from lpbench.privacy.payload import Field, Integers
from lpbench.seeds import Seed, Streams

BUDGETS = ("composed", "halves", "per_attribute")


@dataclass(frozen=True, eq=False)
class FeatureQuestion:
    """What the curator asks of a protected feature.

    Attributes
    ----------
    column, n_features : int
        The feature, and how many there are.
    bins : int
        k equal bins.
    epsilon : float
        Budget of a user.
    split : int or ndarray of shape (n,)
        Number of messages among which each user divides the budget (public).
    users : int ndarray of shape (n,)
        Who is asked: those who protect the feature.
    """

    column: int
    n_features: int
    bins: int
    epsilon: float
    split: int | np.ndarray
    users: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))


class FeatureDevice(Device[FeatureQuestion]):
    """Send the bin of one protected feature by k-ary randomised response."""

    def draws(self, streams: Streams, n: int, question: FeatureQuestion) -> np.ndarray:
        """Uniforms of all features, shape (2, n, d); they depend on neither k nor the budget."""
        return streams.generator("features").random((2, n, question.n_features))

    def report(self, records: Records, question: FeatureQuestion, draws: np.ndarray) -> np.ndarray:
        """Reported bins, shape (n,)."""
        u_keep, u_other = draws[:, :, question.column]
        budgets = question.epsilon / np.broadcast_to(question.split, len(records))
        return grr_reports(self._bins(records, question), question.bins, budgets, u_keep, u_other)

    def law(self, question: FeatureQuestion, records: Records) -> tuple[GRR, np.ndarray]:
        """K-ary randomised response; ``split`` is the same for all records."""
        return GRR(self.budget(question), question.bins), self._bins(records, question)

    def fields(self, question: FeatureQuestion) -> tuple[Field, ...]:
        """One bin."""
        return (Integers(question.bins),)

    def budget(self, question: FeatureQuestion) -> float:
        """epsilon / split of the user who divides least."""
        return float(question.epsilon / np.min(question.split))

    @staticmethod
    def _bins(records: Records, question: FeatureQuestion) -> np.ndarray:
        return grid_digits(records.X[:, question.column], question.bins)


FEATURE = FeatureDevice()


class KRR(TreeRegressor):
    """Obfuscate each protected feature by k-ary randomised response, the label by Laplace noise, and grow a tree.

    A protected X_i^l is cut into ``bins`` equal bins, its bin goes through generalised randomised response, and the
    curator reads the centre of the reported bin. Unprotected features, and those of test rows, stay as they are.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise (features are still binned).
    bins : int
        k >= 2.
    budget : {"composed", "halves", "per_attribute"}
        The paper does not say how epsilon is divided. ``composed``: the label and each of the s_i features that user i
        protects get epsilon / (s_i + 1), which is epsilon-semi-feature LDP by composition, and so is ``halves``: every
        label gets epsilon / 2, each protected feature epsilon / (2 s_i). ``per_attribute``: each gets the whole
        epsilon, which is *not*; ``guarantee_`` then states (1 + max s_i) epsilon.
    max_depth : int or None
    min_samples_leaf : int
        As in scikit-learn.
    y_range : (float, float)
        Public range of the label.
    clip : bool
        Clip predictions to ``y_range``.
    domain : (float, float)
        Public range of every feature.
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    tree_ : CutTree
    guarantee_ : Guarantee
    """

    uses_mask = True

    def __init__(
        self,
        epsilon: float = 1.0,
        bins: int = 2,
        budget: str = "composed",
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.bins = bins
        self.budget = budget
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def _messages(self, X: np.ndarray, y: np.ndarray, mask: np.ndarray, streams: Streams) -> Any:
        check_choice("budget", self.budget, BUDGETS)
        check_whole("bins", self.bins, least=2)
        of_label, of_feature = self._divide(mask.sum(axis=1))
        labels = noisy_labels(y, self._label_question(of_label), streams)
        return self._obfuscated(X, mask, of_feature, streams), labels, self._guarantee(mask)

    def _divide(self, protected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much epsilon is divided for the label and for a feature of users who protect that many features."""
        one = np.ones_like(protected)
        return {
            "composed": (1 + protected, 1 + protected),
            "halves": (2 * one, 2 * np.maximum(protected, 1)),
            "per_attribute": (one, one),
        }[self.budget]

    def _obfuscated(self, X: np.ndarray, mask: np.ndarray, split: np.ndarray, streams: Streams) -> np.ndarray:
        """Replace protected entries by the centre of the reported bin; one question for each protected feature."""
        records, shown = Records(X, np.empty(len(X)), mask), X.copy()
        draws = FEATURE.draws(streams, len(X), self._feature_question(0, np.empty(0, dtype=int), split, X.shape[1]))
        for column in np.flatnonzero(mask.any(axis=0)):
            users = np.flatnonzero(mask[:, column])
            question = self._feature_question(int(column), users, split[users], X.shape[1])
            reports = FEATURE.report(records.take(users), question, draws[:, users])
            shown[users, column] = (reports + 0.5) / self.bins
        return shown

    def _feature_question(self, column: int, users: np.ndarray, split: Any, n_features: int) -> FeatureQuestion:
        """What the users who protect a feature are asked of it."""
        return FeatureQuestion(column, n_features, self.bins, self.epsilon, split, users)

    def _guarantee(self, mask: np.ndarray) -> Guarantee:
        epsilon, note = float(self.epsilon), self._leak_note
        if self.budget == "halves" and not mask.any():
            epsilon /= 2
        if self.budget == "per_attribute":
            epsilon *= 1.0 + float(mask.sum(axis=1).max())
            spent = f"each attribute gets the whole {float(self.epsilon):g}; the sum over a user's attributes is stated"
            note = "; ".join(filter(None, (note, spent)))
        reports = float(mask.sum(axis=1).mean()) * np.log2(self.bins)
        bits = public_message_bits(mask) + reports
        return Guarantee("semi_feature_ldp", epsilon, bits_up=float(bits), note=note)
