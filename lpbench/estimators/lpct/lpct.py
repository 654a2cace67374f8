"""LPCT: the locally private classification tree with public data (LPCT sections 3 and 6, eq. (8))."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import Grid, Rows, SweepResult, check_epsilon, expand_grid
from lpbench.estimators.lpct.base import LPCTBase, with_parameters
from lpbench.estimators.lpct.partition import rate_depth
from lpbench.estimators.lpct.sweep import GridAxes, Sweep, by_shared_parameters
from lpbench.estimators.lpct.tables import NodeTable, Samples, Tables
from lpbench.estimators.lpct.votes import (
    MECHANISMS,
    VOTE,
    VoteMechanism,
    VoteQuestion,
    noisy_votes,
    regression_function,
)
from lpbench.partitions import TreeCells, TreePartition
from lpbench.privacy import Records
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams

SOURCES = ("both", "private", "public")
NOISES = ("sum", "per_user", "discrete")


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
        Noise of the votes: Laplace(4 / epsilon), or randomised response with epsilon / 4 per bit (LPCT section 3.3).
    noise : {"sum", "per_user", "discrete"}
        ``per_user`` draws every user's table, ``sum`` the sums by their exact law. Same distribution. ``discrete``:
        Laplace noise on a grid of step 2^-10, which also protects against attacks on floating-point noise, at the same
        exact epsilon (its sums by their law).
    outside : {"route", "zero"}
        Points outside [0, 1]^d are routed by comparison like any other; ``zero`` predicts class 0 there (Theorem 5; the
        authors' code). Private users outside are routed in either case.
    domain : (float, float) or None
        Public range of the features, mapped to [0, 1] without clipping. None: features are scaled already.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    guarantee_ : Guarantee
        ``ldp`` for the private users; public rows are not protected.
    tree_ : TreePartition
    leaf_probability_ : ndarray of shape (n_leaves, n_classes)
        eq. (8), clipped at 0 and normalised.
    leaf_class_ : int ndarray of shape (n_leaves,)
        Index into ``classes_``, from the raw ratio.

    Notes
    -----
    Public are: the public sample, its labels, the set of classes, n, the partition.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        depth: int | None = None,
        public_weight: float | None = None,
        rule: str = "max_edge",
        criterion: str = "gini",
        min_samples_leaf: int = 1,
        search: str = "all",
        source: str = "both",
        mechanism: str = "laplace",
        noise: str = "sum",
        outside: str = "route",
        domain: tuple[float, float] | None = None,
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.depth = depth
        self.public_weight = public_weight
        self.rule = rule
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.search = search
        self.source = source
        self.mechanism = mechanism
        self.noise = noise
        self.outside = outside
        self.domain = domain
        self.classes = classes
        self.random_state = random_state

    def _check_fixed(self) -> None:
        self._check_partition()
        check_choice("source", self.source, SOURCES)
        check_choice("mechanism", self.mechanism, MECHANISMS)
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

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Fit on the private sample and, if given, the public one.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
        y : ndarray of shape (n,)
        mask : ignored
            Every feature is protected.
        X_public : ndarray of shape (q, n_features), optional
        y_public : ndarray of shape (q,), optional

        Returns
        -------
        self
        """
        self._check_fixed()
        self._check_swept([self.epsilon], [self.depth], [self.min_samples_leaf], [self.public_weight])
        samples = self._check_samples(X, y, mask=mask, X_public=X_public, y_public=y_public)
        if samples.n_public == 0 and self.source == "public":
            raise ConfigurationError("source='public' needs a public sample: pass X_public and y_public")
        streams = self._streams()
        depth = self._resolved_depth(self.depth, samples, self.epsilon)
        table = Tables(self, samples, streams, depth, self.min_samples_leaf).at(depth, self.min_samples_leaf)
        leaves = table.tree.leaves(depth)
        mechanism = self._mechanism(self.epsilon)
        private = self._private_votes(table, leaves, samples, self._question(table.tree.tree, depth), streams)
        weight = self._weight(self.public_weight, leaves.size, mechanism)
        eta = regression_function(private, table.public[:, leaves], weight)
        self._store_leaves(table.tree.tree, eta)
        self.guarantee_ = self._guarantee(mechanism, leaves.size)
        return self

    def _mechanism(self, epsilon: float) -> VoteMechanism:
        return VoteMechanism(epsilon, "discrete" if self.noise == "discrete" else self.mechanism)

    def _question(self, tree: TreePartition, depth: int) -> VoteQuestion:
        """What the private users are asked: a vote in the cells of the public partition."""
        cells = TreeCells(tree, depth)
        return VoteQuestion(cells, self.classes_.size, self._mechanism(self.epsilon), {"depth": depth})

    def _resolved_depth(self, depth: int | None, samples: Samples, epsilon: float) -> int:
        if depth is not None:
            return int(depth)
        n_private = 0 if self.source == "public" else samples.n_private
        n_public = 0 if self.source == "private" else samples.n_public
        return rate_depth(n_private, n_public, samples.X.shape[1], epsilon)

    def _private_votes(
        self,
        table: NodeTable,
        leaves: np.ndarray,
        samples: Samples,
        question: VoteQuestion,
        streams: Streams,
    ) -> np.ndarray:
        """The curator's estimate of the private votes of the leaves, shape (n_classes, n_leaves)."""
        votes = table.private[:, leaves]
        if self.source == "public":
            return np.zeros_like(votes)
        if self.noise != "per_user":
            return noisy_votes(votes, samples.n_private, question.mechanism, streams, **question.axes)
        records = Records(samples.X, samples.codes)
        sums = VOTE.added_up(records, question, VOTE.draws(streams, len(records), question))
        return VOTE.estimate(sums, question, len(records)).reshape(votes.shape)

    def _weight(self, weight: float | None, n_cells: Any, mechanism: VoteMechanism) -> Any:
        """The factor of the public votes; ``n_cells`` may be an array."""
        if self.source != "both":
            return 1.0 if self.source == "public" else 0.0
        return self.balanced_weight(n_cells, mechanism) if weight is None else float(weight)

    @staticmethod
    def balanced_weight(n_cells: Any, mechanism: VoteMechanism) -> Any:
        """Lambda that weights both estimates of eta by their inverse variances in a cell of average size (ours).

        V - U/2 has variance U/4 by the labels plus n (1 + 1/4) v by the noise, v that of one entry; with U = n /
        n_cells the private side has 1 + 5 v n_cells times the public variance per vote. For Laplace noise
        v = 32 / epsilon^2. It takes P for Q (gamma = 1) and uses nothing private.
        """
        return 1.0 + 5.0 * mechanism.noise_variance * n_cells

    def _guarantee(self, mechanism: VoteMechanism, n_cells: int) -> Guarantee:
        if self.source == "public":
            return Guarantee("ldp", 0.0, rounds=0, bits_up=0.0, note=self._noted("private users are not asked"))
        n_classes = self.classes_.size
        return Guarantee(
            "ldp",
            mechanism.spent(n_cells, n_classes),
            bits_up=mechanism.bits(n_cells, n_classes),
            bits_down=self._bits_down(n_cells),
            note=self._noted("rows of the public sample are not protected"),
        )

    def sweep_many(
        self, problems: Sequence[Problem], budgets: Sequence[float], grid: Grid, streams: Sequence[Streams]
    ) -> list[SweepResult]:
        """Sweep several replications, each in one pass over all depths, weights and budgets; they grow together.

        Falls back to the loop over fits for ``noise="per_user"`` and for metrics other than accuracy.
        """
        points, pairs = expand_grid(grid), list(zip(problems, streams, strict=True))
        values = np.empty((len(pairs), len(budgets), len(points)))
        sweeps: list[tuple[int, np.ndarray, Sweep]] = []
        for members, shared in by_shared_parameters(points, GridAxes.CHEAP):
            part = [points[i] for i in members]
            axes = GridAxes(part, self)
            for r, (problem, own) in enumerate(pairs):
                if problem.metric != "accuracy" or shared.get("noise", self.noise) == "per_user":
                    values[r][:, members] = self._refit(problem, budgets, part, own)
                else:
                    model = with_parameters(self, random_state=own, **shared)
                    sweeps.append((r, members, Sweep(model, problem, budgets, axes)))
        Tables.grow_together([sweep.tables for _, _, sweep in sweeps])
        while sweeps:  # each is let go once it is scored
            r, members, sweep = sweeps.pop()
            values[r][:, members] = sweep.scores()
        return [SweepResult(of_one) for of_one in values]
