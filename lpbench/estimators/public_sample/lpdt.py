"""LPDT with masks: a tree grown from a public sample, its cells filled by privatized labels and cells.

The reports are those of HistOfTree with a grid of no feature: a label with Laplace noise, and the cell hidden among
those that the shown features of the user allow. Under local privacy of the whole record every cell is possible.
"""

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from lpbench.checks import check_number, check_whole
from lpbench.estimators.base import SweepResult, Task, check_epsilon
from lpbench.estimators.histoftree.cell_device import TREE_CELL
from lpbench.estimators.histoftree.cell_shortcut import CellFamily
from lpbench.estimators.histoftree.histoftree import CellRegressor
from lpbench.estimators.histoftree.rounds import Split, public_features
from lpbench.estimators.histoftree.setting import PublicMask, TreeSetting
from lpbench.estimators.histoftree.user_cells import UserCells
from lpbench.estimators.private_labels import LABEL
from lpbench.estimators.relabeled import Indicator, RelabeledUsers
from lpbench.estimators.tuning_free.indicators import IndicatorClassifier
from lpbench.estimators.tuning_free.public_score import NOTE
from lpbench.partitions import TreePartition, grow_cart, grow_max_edge
from lpbench.privacy import PublicSample, Users
from lpbench.seeds import Streams


@dataclass(eq=False, repr=False)
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
        Greatest depth of the tree.
    min_samples_leaf : int, default 10
        Fewest public rows in a leaf.
    label_share : float, default 0.5
        Share of the budget spent on the label, in (0, 1].
    rule : {"max_edge", "cart"}, default "max_edge"
        Growth of the tree from the public sample.
    mechanism : {"rr", "grr"}, default "rr"
        Randomizer of the cell: a bit for each cell, or one category.
    least_share : float, default 0.0
        Share of the users whom a cell must be estimated to hold more of than this.
    noise : {"laplace", "discrete"}, default "laplace"
        Noise of the labels.
    y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`; labels of the public sample are clipped to ``y_range``.

    Attributes
    ----------
    tree_ : TreePartition
    guarantee_ : Guarantee
        ``label_share * epsilon`` if every cell is known from what users show, else ``epsilon``.

    Notes
    -----
    Without a public sample nothing tells cuts apart: max-edge halves the longest edges, and an empty cell predicts the
    middle of ``y_range``.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import LPDTRegressor
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = LPDTRegressor(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    rounding = "sums as wide as the processor's vectors"
    uses_public = True

    epsilon: float = 1.0
    _: KW_ONLY
    depth: int = 2
    min_samples_leaf: int = 10
    label_share: float = 0.5
    rule: str = "max_edge"
    mechanism: str = "rr"
    least_share: float = 0.0
    noise: str = "laplace"

    def _setting(self, params: Mapping, mask: np.ndarray | PublicMask, epsilon: float) -> TreeSetting:
        names = ("depth", "label_share", "rule", "mechanism")
        return TreeSetting(n_grid_features=0, bins=1, split_score="weighted", **{name: params[name] for name in names})

    def learn(self, users: Users) -> Self:
        """Grow the tree from the public sample and fill its cells."""
        epsilon = check_epsilon(self.epsilon)
        if users.public is not None:
            users.note(NOTE)
        setting = self._setting(self.get_params(deep=False), users.mask, epsilon)
        split = self._split(users)
        tree = self._public_tree(users)
        label_budget, cell_budget = setting.budgets(epsilon)
        labels = users.ask(LABEL, self._label_question(label_budget))
        [leaves] = split.leaves([tree], [setting.depth], setting.rule)
        question = setting.question(tree, split.grid_columns, split.tree_columns, cell_budget)
        self._second_round(users, question, UserCells(split.grid(1), leaves), labels)
        self._leaf_means = self._public_means(users, tree)
        return self

    def _swept(self, task: Task, budgets: Sequence[float], points: Sequence[Mapping]) -> SweepResult:
        """Scores of all budgets and grid points on one replication.

        Grid points are dictionaries of parameters. They share the division of features, and the budgets of a point its
        tree and the cells in which users lie.
        """
        users, X_test = task.users, self._to_unit_cube(task.X_test)
        split, result = self._split(users), SweepResult(np.full((len(budgets), len(points)), np.nan))
        grid, columns = split.grid(1), (split.grid_columns, split.tree_columns)
        query = grid.locate(X_test[:, :0])
        for g, params in enumerate(points):
            model = copy(self)
            model.__dict__.update(params, random_state=task.streams)
            model._meet(users)
            setting = model._setting(params, users.mask, math.inf)
            tree = model._public_tree(users)
            [leaves] = split.leaves([tree], [setting.depth], setting.rule)
            model._leaf_means, rows = model._public_means(users, tree), tree.leaf_index()[tree.apply(X_test)]
            shares = [setting.budgets(check_epsilon(epsilon)) for epsilon in budgets]
            labels = task.simulate(LABEL, [model._label_question(budget) for budget, _ in shares])
            levels = setting.depth, setting.depth, setting.rule != "cart"
            for b, (y, (_, budget)) in enumerate(zip(labels, shares, strict=True)):
                requests = [(grid, query, setting.mechanism)]
                family = CellFamily([tree], *levels, *columns, [budget], y, leaves, rows, requests)
                [sums] = task.simulate.after()(TREE_CELL, family)
                result.values[b, g] = task.score(model._filled(sums, rows))
        return result

    def _split(self, users: Users) -> Split:
        """Return the division of features that puts all of them into the tree and none into the grid."""
        return Split(public_features(users), users.mask, np.arange(users.n_features), 0, self._streams())

    def _public_tree(self, users: Users) -> TreePartition:
        """Check parameters, and grow the partition from the public sample alone (without one: without rows)."""
        check_whole("min_samples_leaf", self.min_samples_leaf, least=1)
        self._least_count = check_number("least_share", self.least_share, least=0, below=1) * users.n
        X, y = self._public_rows(users) or (np.zeros((0, users.n_features)), np.zeros(0))
        streams = self._streams()
        if self.rule == "cart":
            seed = streams.integer("tree")
            return grow_cart(X, y, self.depth, min_samples_leaf=self.min_samples_leaf, seed=seed)
        rng = streams.generator("tree") if self.rule == "random" else None
        return grow_max_edge(X, y, self.depth, min_samples_leaf=self.min_samples_leaf, rule=self.rule, rng=rng)

    def _public_rows(self, users: Users) -> tuple[np.ndarray, np.ndarray] | None:
        """Features (q, d) and labels (q,) of the public sample, labels clipped to ``y_range_``; None if absent."""
        return None if users.public is None else (users.public.X, np.clip(users.public.y, *self.y_range_))

    def _public_means(self, users: Users, tree: TreePartition) -> np.ndarray:
        """Mean public label of every leaf, (n_leaves,); leaves without public rows get the overall mean.

        Without a public sample it is the middle of the range.
        """
        public = self._public_rows(users)
        if public is None:
            return np.full(tree.n_leaves(), sum(self.y_range_) / 2.0)
        X, y = public
        leaf = tree.leaf_index()[tree.apply(X)]
        count = np.bincount(leaf, minlength=tree.n_leaves())
        total = np.bincount(leaf, weights=y, minlength=tree.n_leaves())
        return np.where(count > 0, total / np.maximum(count, 1), y.mean())

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict estimated label sum over count of each row's leaf, or its public mean where the count is small."""
        X = self._check_predict(X)
        leaves = self.tree_.leaf_index()[self.tree_.apply(X)]
        return self._filled(self._reports.estimate(self._grid.locate(X[:, :0]), leaves), leaves)

    def _filled(self, sums: tuple[np.ndarray, np.ndarray], leaves: np.ndarray) -> np.ndarray:
        """Predictions (m,): label sum over count, or the leaf's public mean where at most the least count is estimated.

        ``sums`` are estimated (counts, label sums) at m rows, (m,) each, and ``leaves`` (m,) the rows' leaves.
        """
        count, total = sums
        filled = count > self._least_count
        return self._finish(np.where(filled, total / np.where(filled, count, 1.0), self._leaf_means[leaves]))


#: Parameters of the regressor.
_TREE = ("epsilon", "depth", "min_samples_leaf", "label_share", "rule", "mechanism")


@dataclass(eq=False, repr=False)
class PublicTreeClassifier(IndicatorClassifier):
    """HistOfTree with a tree of public labels, for classes: :class:`lpbench.estimators.LPDTRegressor` on indicators.

    Parameters
    ----------
    epsilon, depth, min_samples_leaf, label_share, rule, mechanism
        See :class:`lpbench.estimators.LPDTRegressor`.
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`.

    Attributes
    ----------
    models_ : list of LPDTRegressor

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import PublicTreeClassifier
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = PublicTreeClassifier(epsilon=2.0, classes=(0, 1), random_state=0)
    >>> model = model.fit(X, (X[:, 0] > 0.5).astype(int), mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    rounding = "sums as wide as the processor's vectors"

    epsilon: float = 1.0
    depth: int = field(default=2, kw_only=True)
    min_samples_leaf: int = field(default=10, kw_only=True)
    label_share: float = field(default=0.5, kw_only=True)
    rule: str = field(default="max_edge", kw_only=True)
    mechanism: str = field(default="grr", kw_only=True)
    domain: Any = field(default=(0.0, 1.0), kw_only=True)

    def learn(self, users: Users) -> Self:
        """Ask the users, and keep a model of the second of two classes, else of each."""
        streams, n_classes = self._streams(), self.classes_.size
        if users.public is not None:
            users.note(NOTE)
        if n_classes == 2:
            self.models_ = [self._regress(users, 1, streams)]
            return self
        # Of more classes the users are divided evenly at random, so that each answers for one at the whole budget.
        order = streams.generator("class groups").permutation(users.n)
        groups = np.array_split(order, n_classes) if n_classes > 2 else []
        self.models_ = [
            self._regress(users.take(group), k, streams.child("class", number=k)) for k, group in enumerate(groups)
        ]
        return self

    def _regress(self, users: Users, k: int, streams: Streams) -> LPDTRegressor:
        """Return a regressor that has learned users' indicators of class k; ``streams`` is the curator's."""
        rows = users.public
        labels = None if rows is None else PublicSample(rows.X, (rows.y == k).astype(float))
        relabeled = RelabeledUsers(users, Indicator(k), (0.0, 1.0), labels)
        return LPDTRegressor().taught(relabeled, streams, **{name: getattr(self, name) for name in _TREE})

    def _estimate(self, k: int, X: np.ndarray, model: LPDTRegressor) -> np.ndarray:
        return model.predict(X)
