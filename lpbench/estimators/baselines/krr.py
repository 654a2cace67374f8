"""KRR: k-ary randomised response on the protected features, then a tree (HistOfTree sec. 5, App. C.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lpbench.checks import check_choice, check_whole
from lpbench.estimators.baselines.trees import TreeRegressor
from lpbench.estimators.private_labels import noisy_labels, public_message_bits
from lpbench.partitions import grid_digits
from lpbench.privacy import grr_reports
from lpbench.privacy.guarantee import Guarantee
from lpbench.seeds import Seed, Streams

BUDGETS = ("composed", "halves", "per_attribute")


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
        return self._obfuscate(X, mask, self.epsilon / of_feature, streams), labels, self._guarantee(mask)

    def _divide(self, protected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much epsilon is divided for the label and for a feature of users who protect that many features."""
        one = np.ones_like(protected)
        return {
            "composed": (1 + protected, 1 + protected),
            "halves": (2 * one, 2 * np.maximum(protected, 1)),
            "per_attribute": (one, one),
        }[self.budget]

    def _obfuscate(self, X: np.ndarray, mask: np.ndarray, epsilon: np.ndarray, streams: Streams) -> np.ndarray:
        """Replace protected entries by the centre of the reported bin; ``epsilon`` (n,) is what each entry gets.

        The uniforms depend on neither k nor the budget.
        """
        rng = streams.generator("features")
        u_keep, u_other = rng.random(X.shape), rng.random(X.shape)
        users, _ = np.nonzero(mask)
        truth = grid_digits(X[mask], self.bins)
        reported = grr_reports(truth, self.bins, epsilon[users], u_keep[mask], u_other[mask])
        shown = X.copy()
        shown[mask] = (reported + 0.5) / self.bins
        return shown

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
