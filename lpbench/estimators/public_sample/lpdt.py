"""LPDT for regression: a tree grown from a public sample, its cells filled by privatised labels and cells.

The reports are those of HistOfTree with a grid of no feature: a label with Laplace noise, and the cell hidden among
those that the shown features of the user allow. Under local privacy of the whole record every cell is possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from lpbench.checks import check_number, check_whole
from lpbench.estimators.base import LocalEstimator, Rows, SweepResult, check_epsilon
from lpbench.estimators.histoftree.histoftree import CellRegressor, _guarantee
from lpbench.estimators.histoftree.public_mask import PublicMask
from lpbench.estimators.histoftree.rounds import Rounds, Setting
from lpbench.estimators.public_sample.public_rows import NOTE, public_rows
from lpbench.partitions import TreePartition, grow_cart, grow_max_edge
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams


class LPDTRegressor(CellRegressor):
    """Locally private decision tree with public data (Ma, Zhang, Cai & Yang, NeurIPS 2023).

    The tree is grown from the public sample. Every user sends the label with Laplace noise and the cell, one bit for
    each cell (``mechanism="rr"``, the released code) or one category (``"grr"``). A cell predicts the ratio of its
    estimated label sum and count; where the count is too small, the mean of its public labels.

    With a mask a user hides among the cells that the shown features allow: HistOfTree with a tree of public labels.

    Parameters
    ----------
    epsilon : float, default 1.0
        Budget of a user; inf: no noise.
    depth : int, default 2
    min_samples_leaf : int, default 10
        Fewest public rows in a leaf.
    label_share : float, default 0.5
        Share of the budget spent on the label, in (0, 1].
    rule : {"max_edge", "cart"}, default "max_edge"
    mechanism : {"rr", "grr"}, default "rr"
    least_share : float, default 0.0
        Share of the users whom a cell must be estimated to hold more of than this.
    noise : {"laplace", "discrete"}, default "laplace"
        Noise of the labels.
    y_range : (float, float), optional
        Public range of the labels; labels of the public sample are clipped to it.
    clip : bool, default True
        Clip predictions to ``y_range``.
    domain : (float, float), default (0, 1)
        Public range of every feature.
    random_state : int, RandomState, Generator, Streams or None

    Attributes
    ----------
    tree_ : TreePartition
    guarantee_ : Guarantee
        ``label_share * epsilon`` if every cell is known from what users show, else ``epsilon``.

    Notes
    -----
    Without a public sample nothing tells cuts apart: max-edge halves the longest edges, and an empty cell predicts the
    middle of ``y_range``.
    """

    uses_public = True

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        depth: int = 2,
        min_samples_leaf: int = 10,
        label_share: float = 0.5,
        rule: str = "max_edge",
        mechanism: str = "rr",
        least_share: float = 0.0,
        noise: str = "laplace",
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.depth = depth
        self.min_samples_leaf = min_samples_leaf
        self.label_share = label_share
        self.rule = rule
        self.mechanism = mechanism
        self.least_share = least_share
        self.noise = noise
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def _setting(self, params: Mapping, mask: np.ndarray | PublicMask, epsilon: float) -> Setting:
        names = ("depth", "label_share", "rule", "mechanism")
        return Setting(n_grid_features=0, bins=1, split_score="weighted", **{name: params[name] for name in names})

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Grow the tree from the public sample and fill its cells.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Labels within ``y_range``.
        mask : boolean ndarray of shape (n, d), optional
            True = protected. None: every feature is protected.
        X_public : ndarray of shape (q, d), optional
        y_public : ndarray of shape (q,), optional

        Returns
        -------
        self
        """
        epsilon = check_epsilon(self.epsilon)
        X, y, mask = self._check_fit(X, y, mask)
        public, streams = public_rows(self, X_public, y_public), self._streams()
        setting = self._setting(self.get_params(deep=False), mask, epsilon)
        check_whole("min_samples_leaf", self.min_samples_leaf, least=1)
        tree = self._grow(public, X.shape[1], streams)

        label_budget, cell_budget = setting.budgets(epsilon)
        rounds = Rounds(X, y, mask, streams)
        labels = rounds.labels(self._label_question(label_budget))
        split = rounds.split(np.arange(X.shape[1]), 0)
        [leaves] = split.leaves(tree, [setting.depth], setting.rule)
        grid, reports = rounds.close(split.grid(1), leaves, labels, setting.mechanism, cell_budget)
        self._assemble(setting, split, tree, (grid, leaves), labels, reports)
        self._leaf_means = self._public_means(public, tree)
        self._least_count = check_number("least_share", self.least_share, least=0, below=1) * y.size
        note = self._noted(NOTE if public is not None else "")
        self.guarantee_ = _guarantee(setting, epsilon, mask, grid.choices * leaves.choices, tree, note)
        return self

    def _grow(self, public: tuple[np.ndarray, np.ndarray] | None, d: int, streams: Streams) -> TreePartition:
        """The partition; nothing but the public sample decides it."""
        X, y = (np.zeros((0, d)), np.zeros(0)) if public is None else public
        if self.rule == "cart":
            seed = streams.integer("tree")
            return grow_cart(X, y, self.depth, min_samples_leaf=self.min_samples_leaf, seed=seed)
        rng = streams.generator("tree") if self.rule == "random" else None
        return grow_max_edge(X, y, self.depth, min_samples_leaf=self.min_samples_leaf, rule=self.rule, rng=rng)

    def _public_means(self, public: tuple[np.ndarray, np.ndarray] | None, tree: TreePartition) -> np.ndarray:
        """Mean public label of every leaf; leaves without public rows get the overall mean."""
        if public is None:
            return np.full(tree.n_leaves(), sum(self.y_range_) / 2.0)
        X, y = public
        leaf = tree.leaf_index()[tree.apply(X)]
        count = np.bincount(leaf, minlength=tree.n_leaves())
        total = np.bincount(leaf, weights=y, minlength=tree.n_leaves())
        return np.where(count > 0, total / np.maximum(count, 1), y.mean())

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete features X of shape (m, d)."""
        X = self._check_predict(X)
        leaves = self.tree_.leaf_index()[self.tree_.apply(X)]
        count, total = self._reports.estimate(self._grid.locate(X[:, :0]), leaves)
        filled = count > self._least_count
        return self._finish(np.where(filled, total / np.where(filled, count, 1.0), self._leaf_means[leaves]))

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Any, streams: Streams) -> SweepResult:
        """Score the grid by the loop over fits."""
        return LocalEstimator.sweep(self, problem, budgets, grid, streams)
