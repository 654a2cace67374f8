"""PHIST: the locally private histogram classifier on private data alone (Berrett & Butucea 2019; LPCT sec. 7.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice, check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import LocalClassifier, Task, check_epsilon
from lpbench.estimators.baselines.grid_sums import NOISES, GridDevice, NamedCells, NoisyGrid
from lpbench.estimators.baselines.released import MOST_CELLS, ReleasedHistogram
from lpbench.estimators.lpct.votes import (
    VoteDevice,
    VoteMechanism,
    VoteQuestion,
    decide,
    probabilities,
    regression_function,
)
from lpbench.partitions import GridCells
from lpbench.privacy import DiscreteLaplace, Laplace, Records, Users
from lpbench.privacy.device import proven


@proven
class GridVoteDevice(GridDevice, VoteDevice):
    """LPCT's votes in the cells of an equal grid, whose sums are drawn cell by cell."""

    def statistics(self, question: VoteQuestion) -> list[Laplace | DiscreteLaplace]:
        """Users in the cell, and those of each class but the first."""
        half = question.mechanism.half
        assert isinstance(half, (Laplace, DiscreteLaplace))
        return [half] * question.n_classes

    def numbers(self, records: Records, question: VoteQuestion) -> np.ndarray:
        """1 for the cell, and 1 for the own class."""
        votes = (records.y == np.arange(question.n_classes)[:, None]).astype(np.float64)
        votes[0] = 1.0
        return votes


VOTE = GridVoteDevice()
VERSIONS = ("text", "released")


@dataclass(eq=False, repr=False)
class PHIST(LocalClassifier):
    """Histogram classification under LDP: LPCT's votes (LPCT eqs. (5)-(7)) in the cells of an equal grid.

    Each user sends a one-hot vector of its cell and, for each class but the first, the same vector if it is of that
    class, all with Laplace noise of scale 4 / epsilon: epsilon / 2 for the cell and epsilon / 2 for the classes,
    whatever their number. Class 1 iff eta = V / U > 1/2 (0/0 = 0; more classes: the largest estimated share).

    Of more than a few thousand cells only those that are looked up are drawn (:mod:`.grid_sums`), so that the grids of
    thousands of features, on which the paper's implementation ran out of memory, can be run.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    bins : int
        1 / h, bins per axis of [0, 1]; points outside belong to the outermost bins.
    noise : {"laplace", "discrete"}
        ``discrete``: Laplace noise on a grid of step 2^-10, at the same exact epsilon; a report has fewer bits.
    version : {"text", "released"}
        ``released``: the authors' public code, which sets its seed inside ``fit`` and is *not* private; ``guarantee_``
        says so. Two classes.

    Attributes
    ----------
    histogram_ : NoisyGrid or ReleasedHistogram
        The curator's noisy histogram.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PHIST
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PHIST(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0
    bins: int = 2
    noise: str = "laplace"
    version: str = "text"

    protects = "record"

    @property
    def exceeds_budget(self) -> bool:  # type: ignore[override]
        """True for the variant ``released``, whose noise is too small for its budget."""
        return self.version == "released"

    def learn(self, users: Users) -> Self:
        """Ask users for noisy votes (cell, class) and add them up."""
        if check_choice("version", self.version, VERSIONS) == "released":
            self.histogram_: NoisyGrid | ReleasedHistogram = self._released(users)
            return self
        question = self._question(users.n_features)
        self.histogram_ = NoisyGrid(GridCells(self.bins, users.n_features), users.n, users.sums(VOTE, question))
        return self

    def _released(self, users: Users) -> ReleasedHistogram:
        """Exact counts and the noise of one known seed, as the authors' released code has them; not private.

        ConfigurationError for more than two classes or too many cells.
        """
        check_whole("bins", self.bins, least=1)
        if self.bins**users.n_features > MOST_CELLS or self.classes_.size > 2:
            raise ConfigurationError(f"version='released' needs two classes and at most {MOST_CELLS} cells")
        records = users.reveal()
        users.note("the noise is that of one seed, known to everybody: no budget holds")
        return ReleasedHistogram(records.X, records.y, self.bins)

    def _question(self, n_features: int) -> VoteQuestion:
        """Return the one question of a fit: a vote for (cell, class) in the cells of the grid."""
        check_whole("bins", self.bins, least=1)
        mechanism = VoteMechanism(check_epsilon(self.epsilon), check_choice("noise", self.noise, NOISES))
        return VoteQuestion(GridCells(self.bins, n_features), self.classes_.size, mechanism, {"bins": int(self.bins)})

    def _shares(self, X: np.ndarray) -> np.ndarray:
        """Shares of the classes k >= 1 in the cells of X (m, d), shape (n_classes - 1, m)."""
        if isinstance(self.histogram_, ReleasedHistogram):
            return self.histogram_.shares(X, [self.epsilon])
        return _shares(self.histogram_.at(X))

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate the class probabilities of each row's cell, clipped at 0 and normalized.

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
        return probabilities(self._shares(X))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict class labels for X of shape (m, d), from the raw shares."""
        X = self._check_predict(X)
        return self.classes_[decide(self._shares(X))]

    def _scores(self, task: Task, budgets: Sequence[float], points: Sequence[dict]) -> np.ndarray:
        """Scores (n_budgets, n_points) on one replication; NaN where the released code has too many cells.

        Budgets share the look-ups.
        """
        test, values = self._to_unit_cube(task.X_test), []
        for point in points:
            model = clone(self).set_params(**point)
            model._meet(task.users)
            if model.version == "released":
                scores = np.full(len(budgets), np.nan)  # where there are too many cells
                if model.bins**task.users.n_features <= MOST_CELLS:
                    shares = model._released(task.users).shares(test, list(budgets))
                    scores = task.score(model.classes_[(shares > 0.5).astype(int)])
                values.append(scores)
                continue
            questions = [[model.set_params(epsilon=epsilon)._question(task.users.n_features)] for epsilon in budgets]
            votes = task.simulate(VOTE, NamedCells(questions, test))
            values.append(task.score(model.classes_[decide(_shares(votes))]))
        return np.column_stack(values)


def _shares(votes: np.ndarray) -> np.ndarray:
    """Estimated shares of the classes k >= 1 from votes (..., n_classes, m), shape (..., n_classes - 1, m).

    Row 0 of the votes counts all users of a cell, row k those of class k.
    """
    return regression_function(votes, np.zeros_like(votes), 0.0)
