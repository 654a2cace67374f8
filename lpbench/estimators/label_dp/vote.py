"""Votes in cubes: label-LDP, label-CDP and full-CDP classification and their reference (label-DP Theorems 2, 4, 13)."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from lpbench.checks import check_choice
from lpbench.estimators.base import check_epsilon
from lpbench.estimators.label_dp import releases
from lpbench.estimators.label_dp.cubes import CubeClassifier, Cubes
from lpbench.estimators.private_classes import CLASS, ClassQuestion
from lpbench.estimators.privatized_labels.numbers import on_simplex
from lpbench.privacy import GRR, BitVector, Exponential, Users, grr_probabilities

LABEL_MECHANISMS: dict[str, type[BitVector] | type[GRR]] = {"bit_vector": BitVector, "krr": GRR}
#: Factor of epsilon n_lj in the exponent of the full-CDP vote: as printed in (33), and the largest one allowed.
CDP_COEFFICIENT = {"paper": 0.25, "tight": 0.5}


@dataclass(eq=False, repr=False)
class CubeVote(CubeClassifier):
    """Majority vote in cubes without any protection: the reference N^(-beta (gamma + 1) / (2 beta + d)).

    Parameters
    ----------
    bins : int, optional
        Bins per axis; None: those of :class:`LabelLDPVote` at epsilon = inf.

    Attributes
    ----------
    cubes_ : Cubes
    counts_ : ndarray of shape (cubes, K)
        Samples of each class.
    scores_ : ndarray of shape (cubes, K)
        Class frequencies.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import CubeVote
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = CubeVote(classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    inf
    >>> model.predict(X).shape
    (300,)
    """

    uses_epsilon = False

    def learn(self, users: Users) -> Self:
        """Count the classes of each cube, by randomized reports or a curator, and keep their shares."""
        d, variance = users.n_features, self._variance() * log_classes(self.classes_.size)
        self.cubes_ = Cubes(self._bins_of(self.bins, users.n, d, variance), d)
        self.counts_, sizes = self._counted(users)
        self.scores_ = on_simplex(self.counts_ / np.maximum(sizes[:, None], 1))
        return self

    def _counted(self, users: Users) -> tuple[np.ndarray, np.ndarray]:
        """Samples of each class in each cube, shape (cubes, K), and samples of each cube, (cubes,): exact here.

        Subclasses return unbiased estimates of the former.
        """
        records = users.reveal()
        counts = releases.class_counts(self.cubes_.locate(records.X), records.y, self.cubes_.size, self.classes_.size)
        return counts, counts.sum(axis=1)

    def _variance(self) -> float:
        return 1.0


@dataclass(eq=False, repr=False)
class LabelLDPVote(CubeVote):
    """Each user randomizes the class; the class reported most often in a cube wins (label-DP eqs. (13)-(15)).

    Features are public, each label leaves its owner once, randomized at the whole ``epsilon``. Only the sums of the
    reports are used, and they are drawn from their exact law given the true counts.

    Parameters
    ----------
    epsilon : float
        Budget of a label.
    mechanism : {"bit_vector", "krr"}
        One bit per class (13), or plain K-ary randomized response.
    bins : int, optional
        Bins per axis. None: h = (v ln K / (L^2 N))^(1 / (2 beta + d)) of Theorem 2, where v = 1 + 2 p q / (p - q)^2
        (bit vector; (p + q) / (p - q)^2 for krr) bounds the variance of one user's unbiased difference of two classes:
        v is of order (eps^2 ∧ 1)^-1.

    Attributes
    ----------
    cubes_ : Cubes
    counts_ : ndarray of shape (cubes, K)
        Unbiased estimates from the sums S_lj of the reports (14).
    scores_ : ndarray of shape (cubes, K)
        Estimated class frequencies projected on the simplex; their largest entry is that of S_lj.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import LabelLDPVote
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = LabelLDPVote(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0
    mechanism: str = "bit_vector"

    uses_epsilon = True
    protects = "label"

    def _counted(self, users: Users) -> tuple[np.ndarray, np.ndarray]:
        cells = self.cubes_.locate(users.public_features)
        question = ClassQuestion(self._randomizer())
        counts, occupied = np.zeros((self.cubes_.size, self.classes_.size)), users.sums(CLASS, question, by=cells)
        counts[: len(occupied)] = occupied
        return counts, np.bincount(cells, minlength=self.cubes_.size)

    def _variance(self) -> float:
        return difference_variance(self._randomizer())

    def _randomizer(self) -> BitVector | GRR:
        check_choice("mechanism", self.mechanism, LABEL_MECHANISMS)
        return LABEL_MECHANISMS[self.mechanism](check_epsilon(self.epsilon), self.classes_.size)


@dataclass(eq=False, repr=False)
class LabelCDPVote(CubeClassifier):
    """A trusted curator draws the class of each cube by the exponential mechanism exp(eps n_lj / 2) (eq. (19)).

    A changed label moves one count up and another one down in one cube, which costs exactly epsilon (a supremum,
    approached where one class holds nearly all the probability). The features are public.

    Parameters
    ----------
    epsilon : float
        Budget of a label.
    bins : int, optional
        Bins per axis. None: h = (ln K / (L^2 N))^(1 / (2 beta + d)) or (ln K / (c L N))^(1 / (beta + d)), whichever is
        larger, where c is the factor of n_lj in the exponent (Theorem 4; the sum there is at most twice the larger).

    Attributes
    ----------
    cubes_ : Cubes
    choice_ : integer ndarray of shape (cubes,)
        The released class of each cube, an index into ``classes_``.
    scores_ : ndarray of shape (cubes, K)
        One-hot: nothing but the choice is released.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import LabelCDPVote
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = LabelCDPVote(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0

    protects = "label"

    def learn(self, users: Users) -> Self:
        """Let a trusted curator release one class for each cube by the exponential mechanism."""
        n, d, log_K = users.n, users.n_features, log_classes(self.classes_.size)
        self.cubes_ = Cubes(self._bins_of(self.bins, n, d, log_K, log_K / (self._coefficient() * n)), d)
        self.choice_ = users.release(releases.CLASS_RELEASE, self._question(users))
        self.scores_ = np.eye(self.classes_.size)[self.choice_]
        return self

    def _coefficient(self) -> float:
        """Factor c by which the exponential mechanism multiplies the class counts in its exponent."""
        return Exponential.for_budget(check_epsilon(self.epsilon)).coefficient

    def _question(self, users: Users) -> releases.CubeClassQuestion:
        cells, mechanism = self.cubes_.locate(users.public_features), Exponential(self._coefficient())
        return releases.CubeClassQuestion(self.cubes_, cells, self.classes_.size, mechanism)


@dataclass(eq=False, repr=False)
class CDPVote(LabelCDPVote):
    """The same draw, hiding whole records (label-DP Theorem 13, (33)).

    A record that moves takes one count from a cube and adds one to another; adding or removing one count costs c in
    exp(c n_lj), half of what the change of a label costs. So the total is 2c, and (33) with c = eps / 4 spends
    eps / 2. The width is public: it depends on N alone.

    Parameters
    ----------
    epsilon : float
        Budget of a record.
    constants : {"paper", "tight"}
        c = eps / 4 as printed, or c = eps / 2, which spends epsilon exactly (full CDP then costs no more than label
        CDP).

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import CDPVote
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = CDPVote(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    1.0
    >>> model.predict(X).shape
    (300,)
    """

    constants: str = "paper"

    protects = "record"

    def _coefficient(self) -> float:
        check_choice("constants", self.constants, CDP_COEFFICIENT)
        return check_epsilon(self.epsilon) * CDP_COEFFICIENT[self.constants]

    def _question(self, users: Users) -> releases.CubeClassQuestion:
        if self.constants == "paper":
            users.note("the constant of (33) spends half of the stated budget")
        mechanism = Exponential(self._coefficient(), range_sensitivity=1.0)
        return releases.CubeClassQuestion(self.cubes_, None, self.classes_.size, mechanism)


def difference_variance(randomizer: BitVector | GRR) -> float:
    """Bound v of the variance of one user's unbiased estimate of 1{Y = a} - 1{Y = b} for two likely classes a, b."""
    if isinstance(randomizer, BitVector):
        p, q = randomizer.response.keep, randomizer.response.flip
        return 1.0 + 2.0 * p * q / (p - q) ** 2
    p, q = map(float, grr_probabilities(randomizer.n_categories, randomizer.budget))
    return (p + q) / (p - q) ** 2


def log_classes(K: int) -> float:
    """Return ln K, with ln 2 for a single class (nothing is to be learned there)."""
    return math.log(max(K, 2))
