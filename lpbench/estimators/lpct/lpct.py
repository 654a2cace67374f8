"""LPCT: the locally private classification tree with public data (LPCT sections 3 and 6, eq. (8))."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import Task, check_epsilon, grouped
from lpbench.estimators.lpct.base import LPCTBase, with_parameters
from lpbench.estimators.lpct.partition import rate_depth
from lpbench.estimators.lpct.sweep import CHEAP, Sweep, axes_of
from lpbench.estimators.lpct.tables import Tables, n_rows
from lpbench.estimators.lpct.votes import (
    SLOW_VOTE,
    VOTE,
    VOTE_MECHANISMS,
    VoteMechanism,
    VoteQuestion,
    regression_function,
)
from lpbench.partitions import TreeCells, TreePartition
from lpbench.privacy import Users

SOURCES = ("both", "private", "public")
NOISES = ("sum", "per_user", "discrete")


@dataclass(eq=False, repr=False)
class LPCT(LPCTBase):
    """Locally private classification tree with public data (LPCT; with ``source`` also LPCT-P, LPDT and LPCT-Q).

    The partition is grown from the public sample. Each private user sends one noisy table of votes
    (:mod:`lpbench.estimators.lpct.votes`), the curator adds the tables up and predicts eq. (8),

        eta(cell) = (V_P + lambda V_Q) / (U_P + lambda U_Q),   class 1 iff eta > 1/2.

    Parameters
    ----------
    epsilon : float
        Budget of one private user; inf: no noise.
    depth : int or None
        Greatest depth p of the partition. None: the rate-optimal depth of Theorem 4, from sample sizes and budget
        (:func:`lpbench.estimators.lpct.partition.rate_depth`).
    public_weight : float or None
        Lambda >= 0. None: inverse-variance weight, see :meth:`balanced_weight`.
    rule : {"max_edge", "cart", "random"}
        How the partition is grown; ``random`` is LPCT-R.
    criterion : {"gini", "entropy"}
        Impurity of the public labels. The paper's text says Gini, the code behind its figures uses entropy.
    min_samples_leaf : int
        Fewest public samples in a cell.
    search : {"all", "released"}
        Candidates for a cut. ``all``: every threshold (CART), the best longest edge (max-edge). ``released``: those of
        the authors' code, ten thresholds a feature, and the next of the best features where the best one would leave
        too few rows (:class:`~lpbench.partitions.candidates.CandidateCuts`).
    source : {"both", "private", "public"}
        ``private``: lambda = 0 (LPCT-P; LPDT in the paper's tables). ``public``: public votes alone, nothing is asked
        of the private users and nothing spent (LPCT-Q).
    mechanism : {"laplace", "rr"}
        Noise of the votes: Laplace(4 / epsilon), or randomized response with epsilon / 4 per bit (LPCT section 3.3).
    noise : {"sum", "per_user", "discrete"}
        ``per_user`` draws every user's table, ``sum`` the sums by their exact law. Same distribution. ``discrete``:
        Laplace noise on a grid of step 2^-10, at the same exact epsilon (its sums by their law); fewer bits a report.
    outside : {"route", "zero"}
        Points outside [0, 1]^d are routed by comparison like any other; ``zero`` predicts class 0 there (Theorem 5; the
        authors' code). Private users outside are routed in either case.
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`; the domain is mapped to [0, 1] without clipping.

    Attributes
    ----------
    guarantee_ : Guarantee
        ``ldp`` for the private users; public rows are not protected.
    tree_ : TreePartition
    leaf_probability_ : ndarray of shape (n_leaves, n_classes)
        eq. (8), clipped at 0 and normalized.
    leaf_class_ : int ndarray of shape (n_leaves,)
        Index into ``classes_``, from the raw ratio.

    Notes
    -----
    Public are: the public sample, its labels, the set of classes, n, the partition.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import LPCT
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = LPCT(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0
    depth: int | None = None
    public_weight: float | None = None
    rule: str = "max_edge"
    criterion: str = "gini"
    min_samples_leaf: int = 1
    search: str = "all"
    source: str = "both"
    mechanism: str = "laplace"
    noise: str = "sum"
    outside: str = "route"

    def _check_fixed(self) -> None:
        """Check the parameters that a sweep keeps fixed; ConfigurationError names a wrong one."""
        self._check_partition()
        check_choice("source", self.source, SOURCES)
        check_choice("mechanism", self.mechanism, VOTE_MECHANISMS)
        check_choice("noise", self.noise, NOISES)
        if self.noise == "discrete" and self.mechanism != "laplace":
            raise ConfigurationError(
                f"noise='discrete' is Laplace noise on a grid; mechanism={self.mechanism!r} has none"
            )

    @staticmethod
    def _check_swept(budgets: Sequence[float], depths: Sequence, sizes: Sequence, weights: Sequence) -> None:
        """Check every value that a sweep gives to the parameters which are cheap to vary."""
        for epsilon in budgets:
            check_epsilon(epsilon)
        for depth in depths:
            check_whole("depth", depth, none="rate-optimal")
        for size in sizes:
            check_whole("min_samples_leaf", size)
        for weight in weights:
            if weight is not None:
                check_number("public_weight", weight, least=0, hint="None: inverse-variance weight")

    def learn(self, users: Users) -> Self:
        """Grow the partition from the public sample, ask for votes in it and weight them with the public ones."""
        self._check_fixed()
        self._check_swept([self.epsilon], [self.depth], [self.min_samples_leaf], [self.public_weight])
        if users.public is None and self.source == "public":
            raise ConfigurationError("source='public' needs a public sample: pass X_public and y_public")
        depth = self._resolved_depth(self.depth, users, self.epsilon)
        tables = Tables(self, users.public, self._streams(), depth, self.min_samples_leaf)
        table = tables.at(depth, self.min_samples_leaf)
        public = table.public[:, table.tree.leaves(depth)]
        private = self._private_votes(users, table.tree.tree, depth).reshape(public.shape)
        weight = self._weight(self.public_weight, public.shape[1], self._mechanism(self.epsilon))
        self._store_leaves(table.tree.tree, regression_function(private, public, weight))
        asks_users = self.source != "public"
        users.note("rows of the public sample are not protected" if asks_users else "private users are not asked")
        return self

    def _mechanism(self, epsilon: float) -> VoteMechanism:
        return VoteMechanism(epsilon, "discrete" if self.noise == "discrete" else self.mechanism)

    def _private_votes(self, users: Users, tree: TreePartition, depth: int) -> np.ndarray:
        """The curator's estimate of the private votes of the leaves, shape (n_classes * n_leaves,), class by class.

        Zeros, and nothing asked, with ``source="public"``.
        """
        cells = TreeCells(tree, depth)
        if self.source == "public":
            return np.zeros(self.classes_.size * cells.size)
        question = VoteQuestion(cells, self.classes_.size, self._mechanism(self.epsilon), {"depth": depth})
        return users.sums(SLOW_VOTE if self.noise == "per_user" else VOTE, question)

    def _resolved_depth(self, depth: int | None, users: Users, epsilon: float) -> int:
        if depth is not None:
            return int(depth)
        n_private = 0 if self.source == "public" else users.n
        n_public = 0 if self.source == "private" else n_rows(users.public)
        return rate_depth(n_private, n_public, users.n_features, epsilon)

    def _weight(self, weight: float | None, n_cells: Any, mechanism: VoteMechanism) -> Any:
        """Factor lambda of the public votes: ``weight``, or if None the inverse-variance weight for ``n_cells`` cells.

        It is 1 without private and 0 without public votes (``source``); ``n_cells`` may be an array.
        """
        if self.source != "both":
            return 1.0 if self.source == "public" else 0.0
        return self.balanced_weight(n_cells, mechanism) if weight is None else float(weight)

    @staticmethod
    def balanced_weight(n_cells: Any, mechanism: VoteMechanism) -> Any:
        """Return the weight lambda of a public vote that weights both estimates of eta by inverse variances (ours).

        Parameters
        ----------
        n_cells : int or ndarray
            Cells of the partition.
        mechanism : VoteMechanism
            Randomizer of the private votes.

        Returns
        -------
        float or ndarray
            Lambda = 1 + 5 v n_cells, the number of private votes that a public one is worth.
        """
        return 1.0 + 5.0 * mechanism.noise_variance * n_cells

    def _sweeps(
        self, points: Sequence[dict], budgets: Sequence[float]
    ) -> Iterator[tuple[Sequence[int], Callable[[Task], Sweep] | None]]:
        """All depths, leaf sizes, weights and budgets in one pass: yield pairs (indices of points, sweep of a task).

        The sweep is None for ``noise="per_user"``, where fits do it.
        """
        for shared, members in grouped(points, CHEAP):
            by_fits = shared.get("noise", self.noise) == "per_user"
            axes = axes_of(self, [points[i] for i in members])
            yield members, None if by_fits else partial(self._sweep, budgets, axes, shared)

    def _sweep(self, budgets: Sequence[float], axes: Any, shared: dict[str, Any], task: Task) -> Sweep:
        return Sweep(with_parameters(self, random_state=task.streams, **shared), task, budgets, axes)
