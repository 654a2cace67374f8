"""PGLM: the locally private generalized linear model with one message per user (Wang et al. 2023; LPCT sec. 7.2)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.linalg.blas import dsymv
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from scipy.special import expit
from sklearn.base import clone

from lpbench.checks import check_choice
from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators.base import Task, check_epsilon
from lpbench.estimators.baselines.released import ReleasedMoments
from lpbench.estimators.binary import BinaryClassifier, with_constant
from lpbench.privacy import Device, Gaussian, Records, Users
from lpbench.privacy.device import Answers, proven
from lpbench.seeds import Streams

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
    rows /= np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return rows


def solve(gram: np.ndarray, cross: np.ndarray, deviation: float, n: int) -> tuple[np.ndarray, float]:
    """Return the least-squares coefficients (D,) from noisy sums, and the ridge that was needed.

    The noisy matrix may have negative eigenvalues. The ridge is the smallest one that leaves every eigenvalue at or
    above the standard deviation of an entry's noise (nothing is known below it) and above 1e-9 ``n`` (without noise
    the matrix must have an inverse); it is 0 where none is smaller.
    ``gram`` (D, D) is symmetric and overwritten; ``deviation`` is that of the noise of a sum over ``n`` users.
    """
    ridge = max(0.0, max(deviation, _RELATIVE_FLOOR * n) - smallest_eigenvalue(gram))
    gram[np.diag_indices_from(gram)] += ridge
    return cho_solve(cho_factor(gram.T, overwrite_a=True), cross), ridge


@dataclass(frozen=True)
class MomentQuestion:
    """Ask for the second moments of one record under the noise of ``mechanism``.

    Both fields are known before the fit.
    """

    mechanism: Gaussian
    n_features: int

    #: Both are known before.
    broadcast_bits: ClassVar[float] = 0.0

    @property
    def triangle(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of a matrix on and above the diagonal."""
        return np.triu_indices(self.n_features + 1)

    @property
    def units(self) -> np.ndarray:
        """Factors by which entries are scaled, so that a report's L2 distance is that of the symmetric matrices x x^T.

        Entries above the diagonal stand for two and have the factor sqrt(2).
        """
        rows, columns = self.triangle
        return np.append(np.where(rows < columns, math.sqrt(2.0), 1.0), np.ones(self.n_features + 1))


@proven
class MomentDevice(Device[MomentQuestion]):
    """Send (x x^T, x y), x scaled to length 1, y = -1 or 1, on and above the diagonal, with equal Gaussian noise."""

    def inputs(self, records: Records, question: MomentQuestion) -> np.ndarray:
        """Entries of the moments, shape (n, D (D + 1) / 2 + D)."""
        X, (rows, columns) = unit_rows(records.X), question.triangle
        return np.hstack([X[:, rows] * X[:, columns], X * _signs(records)[:, None]]) * question.units

    def columns(self, question: MomentQuestion) -> int:
        """Return the length of a report.

        W (w + 1) / 2 entries of x x^T and w of x y, where w = d + 1 with the constant.
        """
        width = question.n_features + 1
        return width * (width + 1) // 2 + width

    def estimate(self, sums: np.ndarray, question: MomentQuestion, n: Any) -> np.ndarray:
        """The whole matrix and the vector below it, row by row: shape (..., (D + 1) D)."""
        rows, columns = question.triangle
        width = question.n_features + 1
        moments = np.empty((*sums.shape[:-1], width + 1, width))
        scaled = sums / question.units
        moments[..., rows, columns] = moments[..., columns, rows] = scaled[..., : rows.size]
        moments[..., width, :] = scaled[..., rows.size :]
        return moments.reshape(*sums.shape[:-1], -1)

    def draw_sums(
        self, records: Records, question: MomentQuestion, streams: Streams, by: np.ndarray | None = None
    ) -> np.ndarray:
        """Add all users' noise at once: N(0, sigma^2) made symmetric has the law of that on entries sent."""
        if by is not None:
            return super().draw_sums(records, question, streams, by)
        n, rng = len(records), self.draws(streams, len(records), question)
        unit = records.remembered(("unit noise", streams.seed), lambda: unit_noise(question.n_features + 1, rng))
        moments: np.ndarray = math.sqrt(n) * question.mechanism.sigma * unit
        moments += records.remembered("moments", lambda: true_moments(records))
        return moments.ravel()

    def draw_many(self, records: Records, family: MomentQuestion, answers: Answers) -> np.ndarray:
        """Draw noisy moments for a question of a sweep; questions of other budgets get the same unit noise."""
        return self.draw_sums(records, family, answers("sums"))


def _signs(records: Records) -> np.ndarray:
    """Labels of shape (n,), coded -1 and 1."""
    return 2.0 * records.y - 1.0


def true_moments(records: Records) -> np.ndarray:
    """Sums of x x^T and, in the last row, of x y: ndarray of shape (D + 1, D)."""
    X = unit_rows(records.X)
    moments = np.empty((X.shape[1] + 1, X.shape[1]))
    np.matmul(X.T, X, out=moments[:-1])
    moments[-1] = X.T @ _signs(records)
    return moments


def unit_noise(width: int, rng: np.random.Generator) -> np.ndarray:
    """Noise of the sums at unit scale: of variance 1 on the diagonal and in the last row, 1/2 off it."""
    square, noise = rng.standard_normal((width, width)), np.empty((width + 1, width))
    np.add(square, square.T, out=noise[:-1])
    noise[:-1] /= 2.0
    rng.standard_normal(out=noise[-1])
    return noise


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
    before it reaches 1 there is no root nearby, and c stays there: the second value says whether c solves the equation.
    A step is at most c / 4. ``scores`` are linear scores z of public features.
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


@dataclass(eq=False, repr=False)
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

    Attributes
    ----------
    coef_ : ndarray of shape (d + 1,)
        Least-squares coefficients of the scaled rows, the intercept last.
    ridge_ : float
        Added to the diagonal so that the noisy matrix is positive definite (:func:`solve`).
    scale_ : float
        c; 2, the value at vanishing scores, without public features.
    scale_found_ : bool
        Whether ``scale_`` solves the moment equation.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PGLM
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PGLM(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    1.9999999999999998
    >>> model.predict(X).shape
    (300,)
    """

    uses_public = True

    epsilon: float = 1.0
    delta: float | None = None
    version: str = "text"

    @property
    def exceeds_budget(self) -> bool:  # type: ignore[override]
        """True for the variant ``released``, whose noise is too small for its budget."""
        return self.version == "released"

    def learn(self, users: Users) -> Self:
        """Solve for the coefficients; public features set the scale of the probabilities."""
        self.coef_, self.ridge_ = self._solve(users, users.sums)
        self.scale_, self.scale_found_ = 2.0, False
        if users.public is not None:
            self.scale_, self.scale_found_ = moment_scale(unit_rows(users.public.X) @ self.coef_)
        return self

    def _solve(self, users: Users, ask: Callable[..., np.ndarray]) -> tuple[np.ndarray, float]:
        """Return the coefficients (d + 1,), the intercept last, and the ridge that was added to the diagonal.

        ``ask`` is called with the device and the question and returns the noisy sum of the moments over the users:
        ``users.sums`` in a fit, a simulation in a sweep.
        """
        check_choice("version", self.version, VERSIONS)
        check_epsilon(self.epsilon)
        delta = self._delta(users.n)
        if self.version == "released":
            return self._released(users).solve(self.epsilon, delta), 0.0
        mechanism = self._mechanism(users.n)
        moments = ask(MOMENTS, MomentQuestion(mechanism, users.n_features)).reshape(-1, users.n_features + 1)
        return solve(moments[:-1], moments[-1], math.sqrt(users.n) * mechanism.sigma, users.n)

    def _released(self, users: Users) -> ReleasedMoments:
        """Exact moments and unit noise as the authors' released code uses them, computed once a sample; not private.

        ConfigurationError without public features.
        """
        if users.public is None:
            raise ConfigurationError("version='released' needs public features: pass X_public, or version='text'")
        public, streams, records = users.public.X, self._streams(), users.reveal()
        users.note("features are not bounded and the noise of a user shrinks with n: no budget holds")
        collect = partial(ReleasedMoments, records.X, records.y, public, streams)
        return records.remembered(("released", streams.seed), collect)

    def _mechanism(self, n: int) -> Gaussian:
        return Gaussian.for_budget(self.epsilon, self._delta(n), SENSITIVITY)

    def _delta(self, n: int) -> float:
        if self.delta is None and n < 2:
            raise DataError("delta=None means 1 / n^2, which needs more than 1 sample; pass delta in (0, 1)")
        return 1.0 / n**2 if self.delta is None else self.delta

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return linear scores of X of shape (m, d): ndarray of shape (m,), positive for the second class."""
        X = self._check_predict(X)
        return unit_rows(X) @ self.coef_

    def _scores(self, task: Task, budgets: Sequence[float], points: Sequence[dict]) -> np.ndarray:
        """Score all budgets and grid points on one replication: (n_budgets, n_points); all share sums and noise."""
        model = clone(self).set_params(random_state=task.streams)
        model._meet(task.users)
        test, values = unit_rows(model._to_unit_cube(task.X_test)), np.full((len(budgets), len(points)), np.nan)
        for g, point in enumerate(points):
            for b, epsilon in enumerate(budgets):
                model.set_params(epsilon=epsilon, **point)
                coef, _ = model._solve(task.users, task.simulate)
                values[b, g] = task.score(model.classes_[(test @ coef > 0).astype(int)])
        return values
