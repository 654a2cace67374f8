"""HistOfTree: a histogram on the protected features times a tree on the public ones (HistOfTree sections 3.2, 3.3).

Two rounds. First every user sends a label with Laplace noise, together with the public features; the curator grows a
tree from them. Then every user sends a randomized cell of grid x tree; a cell predicts the ratio of its estimated label
sum and its estimated count, HistOfTree eqs. (6) and (9).
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from lpbench.checks import check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import LocalRegressor, SweepResult, Task, check_epsilon, expand_grid
from lpbench.estimators.histoftree.cell_device import CellQuestion
from lpbench.estimators.histoftree.cell_reports import predict_cells
from lpbench.estimators.histoftree.rounds import Split, ask_cells, public_features
from lpbench.estimators.histoftree.setting import (
    PublicMask,
    TooManyCellsError,
    TreeSetting,
    protection_order,
    sensitive_count,
    setting_of,
)
from lpbench.estimators.histoftree.sweep import GridPoint, sweep_cells
from lpbench.estimators.histoftree.user_cells import UserCells
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.privacy import Users
from lpbench.problem import Problem

BUDGET_CONSTANTS = ("paper", "tight")


class CellRegressor(LocalRegressor):
    """Base of HistOfTree and AdHistOfTree, which differ in the choice of the setting alone."""

    uses_mask = True

    #: Parameters whose values a sweep does not share; a grid that has one of them is run point by point.
    _apart = frozenset({"epsilon", "noise", "y_range", "clip", "domain", "random_state"})

    @abstractmethod
    def _setting(self, params: Mapping, mask: np.ndarray | PublicMask, epsilon: float) -> TreeSetting:
        """Resolve constructor parameters into a setting (numbers of grid features, depth, bins, label share ...).

        It uses the mask (n, d) and the budget only, nothing protected. TooManyCellsError if cells cannot be counted.
        """

    def _divide(self, setting: TreeSetting, params: Mapping, mask: np.ndarray | PublicMask) -> TreeSetting:
        """Return the setting, with the whole budget for the label where every user's cell is public.

        That happens only with tight constants, and is decided by the public mask.
        """
        if params["constants"] not in BUDGET_CONSTANTS:
            raise ConfigurationError(f"constants={params['constants']!r} must be one of {BUDGET_CONSTANTS}")
        if params["constants"] == "paper":
            return setting
        public = PublicMask.of(mask)
        hidden = public.array[:, public.order[setting.n_grid_features :]]
        # Neither max-edge nor CART cuts a feature that nobody shows: it would leave empty children.
        uncertain = hidden.any(axis=0) & (~hidden.all(axis=0) | (setting.rule == "random"))
        one_bin = setting.bins == 1 or setting.n_grid_features == 0
        one_leaf = setting.depth == 0 or not uncertain.any()
        return replace(setting, label_share=1.0) if one_bin and one_leaf else setting

    def learn(self, users: Users) -> Self:
        """Ask for noisy labels, grow the tree on them and the public features, then ask for randomized cells."""
        epsilon, mask = check_epsilon(self.epsilon), users.mask
        setting = self._setting(self.get_params(deep=False), mask, epsilon)
        label_budget, cell_budget = setting.budgets(epsilon)
        labels = users.ask(LABEL, self._label_question(label_budget))
        order = protection_order(mask)
        split = Split(public_features(users), mask, order, setting.n_grid_features, self._streams())
        least, depths = setting.min_samples_leaf, [setting.depth]
        [[(tree, _)]] = split.forests(setting.rule, setting.split_score, [labels], depths, least)
        [leaves] = split.leaves([tree], depths, setting.rule)
        question = setting.question(tree, split.grid_columns, split.tree_columns, cell_budget)
        cells = UserCells(split.grid(setting.bins), leaves)
        del split, leaves, mask, order  # copies of what users show, which round 2 does not read
        self._second_round(users, question, cells, labels)
        return self

    def _label_question(self, budget: float) -> LabelQuestion:
        """Return round 1's question to every user: the label, with noise at the label's budget."""
        return LabelQuestion(self.y_range_, budget, noise=self.noise)

    def _second_round(self, users: Users, question: CellQuestion, cells: UserCells, labels: np.ndarray) -> None:
        """Ask users for their cells, and keep what prediction needs as attributes.

        ``cells`` are those compatible with what each user shows, ``labels`` (n,) the privatized labels of round 1.
        """
        self._reports = ask_cells(users, question, cells, labels)
        self._grid, self._leaf_means = cells.grid.without_users(), cells.leaves.means(labels)
        self.tree_, self.grid_columns_, self.tree_columns_ = question.tree, question.grid_columns, question.tree_columns
        self.n_grid_features_, self.depth_, self.bins_ = len(question.grid_columns), question.depth, question.bins

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict estimated label sum over estimated count of each row's cell.

        Its leaf's mean if the count is not positive.
        """
        X = self._check_predict(X)
        leaves = self.tree_.leaf_index()[self.tree_.apply(X[:, self.tree_columns_])]
        query = self._grid.locate(X[:, self.grid_columns_])
        return self._finish(predict_cells(self._reports.estimate(query, leaves), leaves, self._leaf_means))

    def learn_grid(self, tasks: Sequence[Task], budgets: Sequence[float], grid: Any) -> list[SweepResult]:
        """Score the grid in one pass, one tree for every depth; points with too many cells are skipped."""
        points, params = expand_grid(grid), self.get_params(deep=False)
        if any(not params.keys() >= point.keys() or self._apart & point.keys() for point in points):
            return super().learn_grid(tasks, budgets, points)
        return [copy(self)._swept(task, budgets, [{**params, **point} for point in points]) for task in tasks]

    def _swept(self, task: Task, budgets: Sequence[float], points: Sequence[Mapping]) -> SweepResult:
        """Score all budgets and grid points on one replication, where points share trees and reports.

        A point with too many cells is skipped: its score is NaN, with the reason in the result.
        """
        self._meet(task.users)
        public = PublicMask(task.users.mask)
        result, jobs = SweepResult(np.full((len(budgets), len(points)), np.nan)), []
        for b, epsilon in enumerate(map(check_epsilon, budgets)):
            for g, params in enumerate(points):
                try:
                    jobs.append(GridPoint(b, g, self._setting(params, public, epsilon)))
                except TooManyCellsError as error:
                    result.reasons[b, g] = ("skipped", str(error))
        X_test = self._to_unit_cube(task.X_test)
        for same, predictions in sweep_cells(task, public, X_test, budgets, jobs, self._label_question):
            for jobs, score in zip(same, task.score(self._finish(predictions)), strict=True):
                for job in jobs:
                    result.values[job.budget, job.point] = score
        return result


@dataclass(eq=False, repr=False)
class HistOfTree(CellRegressor):
    """HistOfTree under semi-feature LDP with public masks (HistOfTree eqs. (6) and (9)).

    The ``n_grid_features`` most protected features (ranked by the number of users who protect them, ties by index) are
    cut into ``bins`` equal bins each, the others by a tree of depth ``depth`` that is grown from privatized labels and
    public features. ``epsilon`` is divided into ``label_share * epsilon`` for the label and the rest for the cell.

    The paper leaves two points open. Predictions are clipped to ``y_range``. A cell whose estimated count is not
    positive predicts the mean privatized label of its leaf (each user shared evenly among its compatible leaves), or
    the overall mean where nobody may lie in the leaf.

    Parameters
    ----------
    epsilon : float, default 1.0
        Budget of a user over both rounds; inf means no privacy, HistOfTree eq. (3).
    n_grid_features : int, "s*" or None, default None
        Features in the grid, s. None: as many as are protected by *everybody*, which is s* for an aligned mask and d
        without a mask. ``"s*"``: ceil(ln sqrt d), whatever the mask.
    bins : int, default 2
        Bins per grid feature, t.
    depth : int, default 2
        Depth of the tree, p.
    label_share : float, default 0.7
        Share of the budget spent on the label, rho. 1 is possible only where no cell needs randomizing.
    rule : {"max_edge", "cart", "random"}, default "max_edge"
        How the tree cuts. ``random`` uses no data, so that the mask need not be released (HistOfTree section 3.4 (ii)).
    mechanism : {"grr", "rr"}, default "grr"
        Generalized randomized response (appendix A.1, the experiments) or randomized response on bits (main text), for
        at most 65,536 cells in ``fit``; a sweep simulates the bits of the cells that test rows look up, of any number.
    split_score : {"weighted", "algorithm1"}, default "weighted"
        Score of max-edge cuts, see :func:`lpbench.partitions.grow_max_edge`.
    min_samples_leaf : int, default 1
        Fewest users in a cell of the tree (``random``, which looks at none, does not heed it). The paper has none.
    noise : {"laplace", "discrete"}, default "laplace"
        Noise of the labels: Laplace noise, as in the paper, or discrete noise on a public grid of about a thousandth of
        the range (the labels are rounded to it; the exact epsilon is the same), whose reports have fewer bits.
    constants : {"paper", "tight"}, default "paper"
        ``tight``: where the mask shows before round 1 that no cell needs randomizing (one bin, and in the tree no
        feature that some protect and others show), the label gets the whole budget, whatever ``label_share``; the
        paper leaves the rest unspent.

    Attributes
    ----------
    n_grid_features_, depth_, bins_ : int
        The setting that was used.
    grid_columns_, tree_columns_ : int ndarrays
        Features in the grid (most protected first) and in the tree.
    tree_ : TreePartition
        Partition of the tree features.
    guarantee_ : Guarantee
        ``label_share * epsilon`` if every cell is known from public features (``bins=1`` and a tree of public features;
        with tight constants ``epsilon``), else ``epsilon``.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import HistOfTree
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = HistOfTree(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    rounding = "sums as wide as the processor's vectors"

    epsilon: float = 1.0
    _: KW_ONLY
    n_grid_features: int | str | None = None
    bins: int = 2
    depth: int = 2
    label_share: float = 0.7
    rule: str = "max_edge"
    mechanism: str = "grr"
    split_score: str = "weighted"
    min_samples_leaf: int = 1
    noise: str = "laplace"
    constants: str = "paper"

    def resolve_grid(self, grid: Any, problem: Problem) -> Any:
        """Replace ``n_grid_features: "all"`` by 0, ..., min(d - 1, 2 s*), the values of the personalised tables.

        The paper does not say which s it searched.
        """
        if not isinstance(grid, Mapping) or "all" not in grid.get("n_grid_features", ()):
            return grid
        d = problem.X_train.shape[1]
        everything = list(range(min(d - 1, 2 * sensitive_count(d)) + 1))
        named = [s for s in grid["n_grid_features"] if s != "all" and s not in everything]
        return {**grid, "n_grid_features": everything + named}

    def _setting(self, params: Mapping, mask: np.ndarray | PublicMask, epsilon: float) -> TreeSetting:
        """Return the setting that the parameters name, with the number of grid features resolved from the mask (n, d).

        None stands for the number of features that everybody protects, "s*" for ceil(ln sqrt d).
        """
        count, d = params["n_grid_features"], mask.shape[1]
        if count is None:
            count = PublicMask.of(mask).protected_by_all
        elif count == "s*":
            count = sensitive_count(d)
        else:
            hint = "as many as everybody protects; 's*': ceil ln sqrt d"
            check_whole("n_grid_features", count, most=d, none=hint)
        names = ("bins", "depth", "label_share", "rule", "mechanism", "split_score", "min_samples_leaf")
        setting = setting_of(n_grid_features=int(count), **{name: params[name] for name in names})
        return self._divide(setting, params, mask)
