"""PGLM: the locally private generalised linear model with one message per user (Wang et al. 2023; LPCT sec. 7.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.linalg.blas import dsymv
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from scipy.special import expit
from sklearn.base import clone

from lpbench.checks import check_choice
from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators.base import Grid, Rows, SweepResult, check_epsilon, expand_grid
from lpbench.estimators.baselines.pglm_released import ReleasedMoments
from lpbench.estimators.binary import BinaryClassifier, with_constant
from lpbench.privacy import Device, Gaussian, Records
from lpbench.privacy.guarantee import Guarantee
from lpbench.privacy.payload import Field, Reals
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams

#: Largest L2 distance between the vectors (x x^T, x y) of two users with |x| = 1, y = +-1. With c = <x, x'> its square
#: is (2 - 2 c^2) + (2 - 2 y y' c), at most 4.5, attained at c = 1/2, y y' = -1.
SENSITIVITY = math.sqrt(4.5)

#: Smallest eigenvalue left to the moment matrix, relative to the number of users, where there is no noise to speak of.
_RELATIVE_FLOOR = 1e-9

#: Width of the moment matrix beyond which its smallest eigenvalue is found by products with vectors.
_WIDE = 500

VERSIONS = ("text", "released")


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Append the intercept's constant and scale every row to length 1, which moves no point across a hyperplane."""
    rows = with_constant(X)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@dataclass
class Moments:
    """Sums of the users' vectors (x x^T, x y) and their noise at unit scale.

    Attributes
    ----------
    gram, noise_gram : ndarrays of shape (D, D)
    cross, noise_cross : ndarrays of shape (D,)
    n : int
        Number of users.
    """

    gram: np.ndarray
    cross: np.ndarray
    noise_gram: np.ndarray
    noise_cross: np.ndarray
    n: int

    @classmethod
    def collect(cls, X: np.ndarray, signs: np.ndarray, streams: Streams) -> Moments:
        """Add up the vectors of the users and draw one unit noise for all budgets.

        A user adds N(0, sigma^2) to the D^2 + D entries of its vector; the sum of n users' noise is N(0, n sigma^2).
        The curator makes the matrix symmetric, which halves the variance off the diagonal and costs no privacy.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Rows of length 1.
        signs : ndarray of shape (n,)
            Labels -1 and 1.
        """
        rng = streams.generator("moments")
        n, width = X.shape
        square = rng.standard_normal((width, width))
        return cls(X.T @ X, X.T @ signs, (square + square.T) / 2.0, rng.standard_normal((width,)), n)

    def noisy(self, mechanism: Gaussian) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums that the curator sees: arrays of shapes (D, D) and (D,)."""
        scale = math.sqrt(self.n) * mechanism.sigma
        return self.gram + scale * self.noise_gram, self.cross + scale * self.noise_cross

    def solve(self, mechanism: Gaussian) -> tuple[np.ndarray, float]:
        """Return the least-squares coefficients (D,) from noisy sums, and the ridge that was needed.

        The noisy matrix may have negative eigenvalues. The ridge is the smallest one that leaves every eigenvalue at or
        above the standard deviation of an entry's noise (nothing is known below it), 0 where none is smaller.
        """
        scale = math.sqrt(self.n) * mechanism.sigma
        gram, cross = self.noisy(mechanism)
        ridge = max(0.0, max(scale, _RELATIVE_FLOOR * self.n) - smallest_eigenvalue(gram))
        gram[np.diag_indices_from(gram)] += ridge
        return cho_solve(cho_factor(gram.T, overwrite_a=True), cross), ridge


def moment_vectors(X: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The vectors (x x^T, x y) of users, for rows X (n, D) and labels -1 and 1: ndarray of shape (n, D + 1, D)."""
    return np.concatenate([X[:, :, None] * X[:, None, :], (X * signs[:, None])[:, None, :]], axis=1)


def above_diagonal(gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Make matrices (..., D, D) symmetric and list them on and above the diagonal, then ``cross`` (..., D)."""
    rows, columns = np.triu_indices(gram.shape[-1])
    symmetric = (gram + gram.swapaxes(-1, -2)) / 2.0
    return np.concatenate([symmetric[..., rows, columns], cross], axis=-1)


@dataclass(frozen=True)
class MomentQuestion:
    """What the curator asks: the noise, and the number of features."""

    mechanism: Gaussian
    n_features: int


class MomentDevice(Device[MomentQuestion]):
    """Send (x x^T, x y) of the own row, scaled to length 1, with Gaussian noise on every entry.

    The device makes the noisy matrix symmetric and sends it on and above the diagonal.
    """

    def draws(self, streams: Streams, n: int, question: MomentQuestion) -> np.random.Generator:
        """The generator of the users' noise, which is one draw for each of D^2 + D entries."""
        return streams.generator("moments")

    def report(self, records: Records, question: MomentQuestion, draws: np.random.Generator) -> np.ndarray:
        """Noisy moments of shape (n, D (D + 1) / 2 + D)."""
        noisy = question.mechanism.randomize(self._vectors(records), draws)
        return above_diagonal(noisy[:, :-1], noisy[:, -1])

    def law(self, question: MomentQuestion, records: Records) -> tuple[Gaussian, np.ndarray]:
        """Gaussian noise on the whole vector, before it is made symmetric."""
        return question.mechanism, self._vectors(records).reshape(len(records), -1)

    def fields(self, question: MomentQuestion) -> tuple[Field, ...]:
        """Real numbers."""
        width = question.n_features + 1
        return (Reals(width * (width + 1) // 2 + width),)

    def budget(self, question: MomentQuestion) -> float:
        """Epsilon at the delta of the mechanism."""
        return question.mechanism.epsilon

    def sums(self, records: Records, question: MomentQuestion, streams: Streams) -> np.ndarray:
        """Draw the sums of all users' reports by their law, as fit and sweep do."""
        moments = Moments.collect(unit_rows(records.X), 2.0 * records.y - 1.0, streams)
        return above_diagonal(*moments.noisy(question.mechanism))

    @staticmethod
    def _vectors(records: Records) -> np.ndarray:
        return moment_vectors(unit_rows(records.X), 2.0 * records.y - 1.0)


MOMENTS = MomentDevice()


def smallest_eigenvalue(matrix: np.ndarray) -> float:
    """Return the smallest eigenvalue of a symmetric matrix of shape (D, D), in C order.

    Noise spreads the eigenvalues, and some two hundred steps of Lanczos' method find the smallest one of thousands to
    12 digits, in a sixth of the time of a reduction to a tridiagonal matrix. Without noise the small ones crowd at 0,
    where Lanczos' method stalls: it is given up after 20 restarts.
    """
    width = matrix.shape[0]
    if width > _WIDE:
        # BLAS expects columns; of a symmetric matrix the transpose is the matrix, and is not copied
        product = LinearOperator(matrix.shape, matvec=lambda v: dsymv(1.0, matrix.T, v), dtype=matrix.dtype)
        options = {"tol": 1e-12, "ncv": 40, "maxiter": 20, "return_eigenvectors": False}
        try:
            return float(eigsh(product, k=1, which="SA", v0=np.ones(width), **options)[0])
        except ArpackNoConvergence:
            pass
    return float(eigh(matrix, eigvals_only=True, subset_by_index=[0, 0])[0])


def moment_scale(scores: np.ndarray) -> tuple[float, bool]:
    """Solve the moment equation 2 c mean(s'(c z)) = 1 for the scale c of logistic coefficients (s: logistic function).

    With labels -1 and 1, E[Y | x] = 2 s(x w) - 1, and w is about c times the least-squares coefficients (Stein's
    lemma). Newton's method starts at c = 2, a lower bound of every root, and climbs; where the left side stops growing
    before it reaches 1 there is no root nearby, and c stays there. A step is at most c / 4.

    Parameters
    ----------
    scores : ndarray of shape (q,)
        Linear scores z of public features.

    Returns
    -------
    c : float
    found : bool
        Whether c solves the equation.
    """
    c = 2.0
    for _ in range(200):
        s = expit(c * scores)
        slope = s * (1.0 - s)
        gap = 2.0 * c * slope.mean() - 1.0
        growth = 2.0 * (slope * (1.0 + c * scores * (1.0 - 2.0 * s))).mean()
        if abs(gap) < 1e-12:
            return c, True
        if growth <= 0.0:
            break
        c += min(-gap / growth, c / 4.0)
    return c, False


class PGLM(BinaryClassifier):
    """Logistic regression from noisy second moments: (epsilon, delta)-LDP, non-interactive.

    Each user scales (x, 1) to length 1 and sends x x^T and x y, y = -1 or 1, once, as one vector with Gaussian noise at
    its joint L2 sensitivity (analytic Gaussian mechanism). The curator solves least squares; class 1 iff the score is
    positive. The scale of the logistic model (:func:`moment_scale`) is read from public features and cannot change the
    class.

    The authors of LPCT take rows as they are, code the labels 0 and 1 and cut at 1/2, and multiply the variance of a
    user's noise by sqrt(n) instead of n: ``version="released"``, for comparison.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    delta : float, optional
        Failure probability. None: 1 / n^2 (LPCT sec. 7.2).
    version : {"text", "released"}
        ``released``: the authors' public code, which is *not* private; ``guarantee_`` says so. Needs public features.
    domain : (float, float) or None
        Public range of the features, clipped and mapped to [0, 1]. None: features are used as they are.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (d + 1,)
        Least-squares coefficients of the scaled rows, the intercept last.
    ridge_ : float
        Added to the diagonal so that the noisy matrix is positive definite (:meth:`Moments.solve`).
    scale_ : float
        c; 2, the value at vanishing scores, without public features.
    scale_found_ : bool
        Whether ``scale_`` solves the moment equation.
    guarantee_ : Guarantee
    """

    uses_public = True

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        version: str = "text",
        domain: tuple[float, float] | None = None,
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.version = version
        self.domain = domain
        self.classes = classes
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Solve for the coefficients.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Labels of two classes.
        mask : ignored
            Every feature is protected.
        X_public : ndarray of shape (q, d), optional
            Sets the scale of the probabilities.
        y_public : ndarray of shape (q,), optional
            Only its classes are read.

        Returns
        -------
        self
        """
        moments, X_public = self._collect(X, y, mask, X_public, y_public)
        self.coef_, self.ridge_ = self._solve(moments)
        self.scale_, self.scale_found_ = 2.0, False
        if X_public is not None:
            self.scale_, self.scale_found_ = moment_scale(unit_rows(X_public) @ self.coef_)
        if isinstance(moments, ReleasedMoments):
            note = self._noted("features are not bounded and the noise of a user shrinks with n: no budget holds")
            self.guarantee_ = Guarantee("none", math.inf, note=note)
            return self
        mechanism, width = self._mechanism(moments.n), self.coef_.size
        bits = mechanism.bits * (width * (width + 1) / 2 + width)
        self.guarantee_ = Guarantee("ldp", float(self.epsilon), mechanism.delta, bits_up=bits, note=self._noted())
        return self

    def _collect(
        self, X: np.ndarray, y: np.ndarray, mask: Rows, X_public: Rows, y_public: Rows
    ) -> tuple[Moments | ReleasedMoments, np.ndarray | None]:
        check_choice("version", self.version, VERSIONS)
        X, codes, X_public, _ = self._check_fit(X, y, mask, X_public, y_public)
        if self.version == "released":
            if X_public is None:
                raise ConfigurationError("version='released' needs public features: pass X_public, or version='text'")
            return ReleasedMoments.collect(X, codes, X_public, self._streams()), X_public
        return Moments.collect(unit_rows(X), 2.0 * codes - 1.0, self._streams()), X_public

    def _solve(self, moments: Moments | ReleasedMoments) -> tuple[np.ndarray, float]:
        """Coefficients and ridge under this budget."""
        if isinstance(moments, ReleasedMoments):
            return moments.solve(check_epsilon(self.epsilon), self._delta(moments.n)), 0.0
        return moments.solve(self._mechanism(moments.n))

    def _mechanism(self, n: int) -> Gaussian:
        return Gaussian.for_budget(check_epsilon(self.epsilon), self._delta(n), SENSITIVITY)

    def _delta(self, n: int) -> float:
        if self.delta is None and n < 2:
            raise DataError("delta=None means 1 / n^2, which needs more than 1 sample; pass delta in (0, 1)")
        return 1.0 / n**2 if self.delta is None else self.delta

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return linear scores of X of shape (m, d): ndarray of shape (m,), positive for the second class."""
        X = self._check_predict(X)
        return unit_rows(X) @ self.coef_

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for X of shape (m, d): ndarray of shape (m, 2)."""
        scores = self.decision_function(X)
        positive = expit(self.scale_ * scores)
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict class labels for X of shape (m, d): the second class iff the score is positive."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int)]

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score the grid; all points and budgets share sums and unit noise."""
        points = expand_grid(grid)
        values = np.full((len(budgets), len(points)), np.nan)
        model = clone(self).set_params(random_state=streams)
        moments, _ = model._collect(problem.X_train, problem.y_train, **problem.fit_arguments)
        test = unit_rows(model._prepare(problem.X_test))
        for g, point in enumerate(points):
            for b, epsilon in enumerate(budgets):
                model.set_params(epsilon=epsilon, **point)
                coef, _ = model._solve(moments)
                values[b, g] = problem.score(model.classes_[(test @ coef > 0).astype(int)])
        return SweepResult(values)
