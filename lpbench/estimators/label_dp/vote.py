"""Votes in cubes: label-LDP, label-CDP and full-CDP classification and their reference (label-DP Theorems 2, 4, 13)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lpbench.checks import check_choice
from lpbench.estimators.base import check_epsilon
from lpbench.estimators.label_dp.cubes import CubeClassifier, Cubes
from lpbench.estimators.label_dp.releases import CLASS_RELEASE, ClassReleaseQuestion
from lpbench.estimators.label_dp.rules import bins_for_width, noise_width, sampling_width
from lpbench.estimators.private_classes import CLASS, ClassQuestion
from lpbench.privacy import GRR, BitVector, Exponential, Records, grr_probabilities
from lpbench.privacy.guarantee import Guarantee
from lpbench.seeds import Seed, Streams

MECHANISMS: dict[str, type[BitVector] | type[GRR]] = {"bit_vector": BitVector, "krr": GRR}
#: Factor of epsilon n_lj in the exponent of the full-CDP vote: as printed in (33), and the largest one allowed.
CDP_COEFFICIENT = {"paper": 0.25, "tight": 0.5}


class LabelLDPVote(CubeClassifier):
    """Each user randomises the class; the class reported most often in a cube wins (label-DP eqs. (13)-(15)).

    Features are public, each label leaves its owner once, randomised at the whole ``epsilon``. Only the sums of the
    reports are used, and they are drawn from their exact law given the true counts.

    Parameters
    ----------
    epsilon : float
        Budget of a label.
    mechanism : {"bit_vector", "krr"}
        One bit per class (13), or plain K-ary randomised response.
    beta : float in (0, 1]
        Hölder exponent of the class probabilities (public).
    holder : float
        Constant L: the gap between the best two classes varies by about L h^beta in a cube of side h (public).
    bins : int, optional
        Bins per axis. None: h = (v ln K / (L^2 N))^(1 / (2 beta + d)) of Theorem 2, where v = 1 + 2 p q / (p - q)^2
        (bit vector; (p + q) / (p - q)^2 for krr) bounds the variance of one user's unbiased difference of two classes:
        v is of order (eps^2 ∧ 1)^-1.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    domain : (float, float) or None
        Public range of the features; None: [0, 1] without clipping first.
    random_state : int, Generator, Streams or None

    Attributes
    ----------
    cubes_ : Cubes
    counts_ : ndarray of shape (cubes, K)
        Sums S_lj of the reports (14).
    scores_ : ndarray of shape (cubes, K)
        Unbiased class frequencies projected on the simplex; their largest entry is that of S_lj.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        mechanism: str = "bit_vector",
        beta: float = 1.0,
        holder: float = 1.0,
        bins: int | None = None,
        classes: Sequence | None = None,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.beta = beta
        self.holder = holder
        self.bins = bins
        self.classes = classes
        self.domain = domain
        self.random_state = random_state

    def _learn(self, X: np.ndarray, codes: np.ndarray, note: str) -> None:
        check_choice("mechanism", self.mechanism, MECHANISMS)
        randomizer = self._randomizer()
        self.cubes_ = Cubes(self._bins(X, difference_variance(randomizer)), X.shape[1])
        counts = class_counts(self.cubes_, X, codes, self.classes_.size)
        self.counts_ = CLASS.sum_of_reports(counts, self._question(), self._streams())
        users = counts.sum(axis=1, keepdims=True)
        self.scores_ = project_on_simplex(randomizer.estimate(self.counts_, users) / np.maximum(users, 1))
        self.guarantee_ = Guarantee("label_ldp", randomizer.epsilon, bits_up=randomizer.bits, note=note)

    def _randomizer(self) -> BitVector | GRR:
        return MECHANISMS[self.mechanism](check_epsilon(self.epsilon), self.classes_.size)

    def _question(self) -> ClassQuestion:
        """What every user is asked; the features are public."""
        return ClassQuestion(self._randomizer(), "label", {"bins": int(self.cubes_.bins)})

    def _bins(self, X: np.ndarray, variance: float) -> int:
        if self.bins is not None:
            return self.bins
        rule = {"beta": self.beta, "holder": self.holder}
        n, d = X.shape
        return bins_for_width(sampling_width(n, d, variance * log_classes(self.classes_.size), **rule))


class CubeVote(LabelLDPVote):
    """Majority vote in cubes without any protection: the reference N^(-beta (gamma + 1) / (2 beta + d)).

    Parameters
    ----------
    beta, holder, bins, classes, domain, random_state
        See :class:`LabelLDPVote` at epsilon = inf.
    """

    uses_epsilon = False

    def __init__(
        self,
        beta: float = 1.0,
        holder: float = 1.0,
        bins: int | None = None,
        classes: Sequence | None = None,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        super().__init__(math.inf, "bit_vector", beta, holder, bins, classes, domain, random_state)

    def _learn(self, X: np.ndarray, codes: np.ndarray, note: str) -> None:
        super()._learn(X, codes, note)
        self.guarantee_ = Guarantee("none", math.inf)


class LabelCDPVote(CubeClassifier):
    """A trusted curator draws the class of each cube by the exponential mechanism exp(eps n_lj / 2) (eq. (19)).

    A changed label moves one count up and another one down in one cube, which costs exactly epsilon (a supremum,
    approached where one class holds nearly all the probability). The features are public.

    Parameters
    ----------
    epsilon : float
        Budget of a label.
    beta, holder, classes, domain, random_state
        See :class:`LabelLDPVote`.
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
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        beta: float = 1.0,
        holder: float = 1.0,
        bins: int | None = None,
        classes: Sequence | None = None,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.beta = beta
        self.holder = holder
        self.bins = bins
        self.classes = classes
        self.domain = domain
        self.random_state = random_state

    def _coefficient(self) -> float:
        """Factor c of the counts in the exponent."""
        return Exponential.for_budget(check_epsilon(self.epsilon)).coefficient

    def _learn(self, X: np.ndarray, codes: np.ndarray, note: str) -> None:
        K, coefficient = self.classes_.size, self._coefficient()
        self.cubes_ = Cubes(self._bins(X, K, coefficient), X.shape[1])
        counts, question = class_counts(self.cubes_, X, codes, K), self._question()
        draws = CLASS_RELEASE.draws(self._streams(), len(counts), question)
        self.choice_ = CLASS_RELEASE.report(Records(counts, np.empty(len(counts))), question, draws)
        self.scores_ = np.eye(K)[self.choice_]
        self.guarantee_ = self._promise(coefficient, K, note)

    def _question(self) -> ClassReleaseQuestion:
        """What the curator releases of every cube."""
        return ClassReleaseQuestion(Exponential(self._coefficient()), self.classes_.size, int(self.cubes_.bins))

    def _promise(self, coefficient: float, K: int, note: str) -> Guarantee:
        return Guarantee("label_cdp", Exponential(coefficient).epsilon if K > 1 else 0.0, note=note)

    def _bins(self, X: np.ndarray, K: int, coefficient: float) -> int:
        if self.bins is not None:
            return self.bins
        n, d = X.shape
        rule = {"beta": self.beta, "holder": self.holder}
        widths = [
            sampling_width(n, d, log_classes(K), **rule),
            noise_width(log_classes(K) / (coefficient * n), d, **rule),
        ]
        return bins_for_width(max(widths))


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
    beta, holder, bins, classes, domain, random_state
        See :class:`LabelCDPVote`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        constants: str = "paper",
        beta: float = 1.0,
        holder: float = 1.0,
        bins: int | None = None,
        classes: Sequence | None = None,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        super().__init__(epsilon, beta, holder, bins, classes, domain, random_state)
        self.constants = constants

    def _coefficient(self) -> float:
        check_choice("constants", self.constants, CDP_COEFFICIENT)
        return check_epsilon(self.epsilon) * CDP_COEFFICIENT[self.constants]

    def _question(self) -> ClassReleaseQuestion:
        # A record takes a count from one cube and adds one to another.
        mechanism = Exponential(self._coefficient(), range_sensitivity=1.0)
        return ClassReleaseQuestion(mechanism, self.classes_.size, int(self.cubes_.bins), cubes_per_record=2)

    def _promise(self, coefficient: float, K: int, note: str) -> Guarantee:
        if self.constants == "paper":
            note = "; ".join(filter(None, [note, "the constant of (33) spends half of the stated budget"]))
        # Two cubes, each with one count more or less.
        spent = 2 * Exponential(coefficient, range_sensitivity=1.0).epsilon if K > 1 else 0.0
        return Guarantee("cdp", spent, note=note)


def class_counts(cubes: Cubes, X: np.ndarray, codes: np.ndarray, K: int) -> np.ndarray:
    """Number n_lj of samples of class j in cube l, shape (cubes, K)."""
    return np.bincount(cubes.locate(X) * K + codes, minlength=cubes.size * K).reshape(cubes.size, K)


def difference_variance(randomizer: BitVector | GRR) -> float:
    """Bound v of the variance of one user's unbiased estimate of 1{Y = a} - 1{Y = b} for two likely classes a, b."""
    if isinstance(randomizer, BitVector):
        p, q = randomizer.response.keep, randomizer.response.flip
        return 1.0 + 2.0 * p * q / (p - q) ** 2
    p, q = map(float, grr_probabilities(randomizer.n_categories, randomizer.budget))
    return (p + q) / (p - q) ** 2


def log_classes(K: int) -> float:
    """ln K, with ln 2 for a single class (nothing is to be learnt there)."""
    return math.log(max(K, 2))


def project_on_simplex(values: np.ndarray) -> np.ndarray:
    """Euclidean projection of each row on the probability simplex; it keeps the order of the entries.

    Known as "norm-sub" for frequencies estimated from private reports (Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li
    2020).
    """
    ordered = -np.sort(-values, axis=-1)
    rank = np.arange(1, values.shape[-1] + 1)
    shift = (np.cumsum(ordered, axis=-1) - 1.0) / rank
    support = (ordered > shift).sum(axis=-1, keepdims=True)
    return np.maximum(values - np.take_along_axis(shift, support - 1, axis=-1), 0.0)
