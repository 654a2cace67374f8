"""PHIST: the locally private histogram classifier on private data alone (Berrett & Butucea 2019; LPCT sec. 7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice, check_whole
from lpbench.estimators.base import Grid, LocalClassifier, Rows, SweepResult, check_epsilon, expand_grid
from lpbench.estimators.baselines.hist import NOISES, GridSums, NoisyGrid, grid_bits, noisy_sums
from lpbench.estimators.lpct.votes import (
    VOTE,
    VoteMechanism,
    VoteQuestion,
    decide,
    probabilities,
    regression_function,
)
from lpbench.partitions import GridCells
from lpbench.privacy import DiscreteLaplace, Laplace
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams


class PHIST(LocalClassifier):
    """Histogram classification under LDP: LPCT's votes (LPCT eqs. (5)-(7)) in the cells of an equal grid.

    Each user sends a one-hot vector of its cell and, for each class but the first, the same vector if it is of that
    class, all with Laplace noise of scale 4 / epsilon: epsilon / 2 for the cell and epsilon / 2 for the classes,
    whatever their number. Class 1 iff eta = V / U > 1/2 (0/0 = 0; more classes: the largest estimated share).

    Only cells that are looked up are drawn (:class:`.hist.GridSums`), so that the grids of thousands
    of features, on which the paper's implementation ran out of memory, can be run.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    bins : int
        1 / h, bins per axis of [0, 1]; points outside belong to the outermost bins.
    domain : (float, float) or None
        Public range of the features, clipped and mapped to [0, 1]. None: features are scaled already.
    noise : {"laplace", "discrete"}
        ``discrete``: Laplace noise on a grid of step 2^-10, which also protects against attacks on floating-point
        noise, at the same exact epsilon.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    histogram_ : NoisyGrid
        The curator's noisy histogram.
    guarantee_ : Guarantee
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        bins: int = 2,
        domain: tuple[float, float] | None = None,
        noise: str = "laplace",
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.bins = bins
        self.domain = domain
        self.noise = noise
        self.classes = classes
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Sum the users' votes.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Class labels; the set of classes is public.
        mask, X_public : ignored
            Every feature is protected.
        y_public : ndarray, optional
            Only its classes are read.

        Returns
        -------
        self
        """
        check_whole("bins", self.bins, least=1)
        check_choice("noise", self.noise, NOISES)
        check_epsilon(self.epsilon)
        X, codes, _, _ = self._check_fit(X, y, mask, X_public, y_public)
        n_classes = self.classes_.size
        self.histogram_ = self._histogram(X, codes, self._streams())
        spent = VOTE.budget(self._question(X.shape[1]))
        self.guarantee_ = Guarantee(
            "ldp", spent, bits_up=grid_bits(self.bins, X.shape[1], n_classes), note=self._noted()
        )
        return self

    def _histogram(self, X: np.ndarray, codes: np.ndarray, streams: Streams) -> NoisyGrid:
        """Noisy votes of all cells, by the law of the sums of the users' reports."""
        half = VoteMechanism(self.epsilon, self.noise).half
        assert isinstance(half, (Laplace, DiscreteLaplace))
        votes = (codes == np.arange(self.classes_.size)[:, None]).astype(np.float64)
        votes[0] = 1.0
        return NoisyGrid(GridSums(X, self.bins, votes, streams), [half] * self.classes_.size)

    def _question(self, n_features: int) -> VoteQuestion:
        """What the users are asked: a vote in the cells of the grid."""
        mechanism = VoteMechanism(self.epsilon, self.noise)
        return VoteQuestion(GridCells(self.bins, n_features), self.classes_.size, mechanism, {"bins": int(self.bins)})

    def _shares(self, X: np.ndarray) -> np.ndarray:
        """Shares of the classes k >= 1 in the cells of X (m, d), shape (n_classes - 1, m)."""
        votes = self.histogram_.at(X)
        return regression_function(votes, np.zeros_like(votes), 0.0)

    def _eta(self, sums: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Shares of the classes k >= 1 in the queried cells, shape (n_classes - 1, m)."""
        votes = self._swept(sums, noise)
        return regression_function(votes, np.zeros_like(votes), 0.0)

    def _swept(self, sums: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Noisy votes of a sweep, whose budgets share the look-up of true votes and unit noise."""
        half = VoteMechanism(self.epsilon).half
        assert isinstance(half, Laplace)
        return noisy_sums(sums, noise, [half] * len(sums))

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for X of shape (m, d), clipped at 0 and normalised: (m, n_classes)."""
        X = self._check_predict(X)
        return probabilities(self._shares(X))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict class labels for X of shape (m, d), from the raw shares."""
        X = self._check_predict(X)
        return self.classes_[decide(self._shares(X))]

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score the grid; budgets share the look-ups, unless noise on a grid is drawn anew for each of them."""
        points = expand_grid(grid)
        if any(point.get("noise", self.noise) == "discrete" for point in points):
            return super().sweep(problem, budgets, points, streams)
        values = np.full((len(budgets), len(points)), np.nan)
        for g, point in enumerate(points):
            model = clone(self).set_params(random_state=streams, **point)
            model.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
            cells = model.histogram_.source.lookup(model._prepare(problem.X_test))
            for b, epsilon in enumerate(budgets):
                codes = decide(model.set_params(epsilon=epsilon)._eta(*cells))
                values[b, g] = problem.score(model.classes_[codes])
        return SweepResult(values)
