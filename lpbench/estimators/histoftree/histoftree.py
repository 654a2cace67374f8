"""HistOfTree: a histogram on the protected features times a tree on the public ones (HistOfTree sections 3.2, 3.3).

Two rounds. First every user sends a label with Laplace noise, together with the public features; the curator grows a
tree from them. Then every user sends a randomised cell of grid x tree; a cell predicts the ratio of its estimated label
sum and its estimated count, HistOfTree eqs. (6) and (9).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import LocalRegressor, Rows, SweepResult, check_epsilon, expand_grid
from lpbench.estimators.histoftree.public_mask import PublicMask, protection_order
from lpbench.estimators.histoftree.rounds import (
    Rounds,
    Setting,
    Split,
    TooManyCellsError,
    predict_cells,
    sensitive_count,
)
from lpbench.estimators.histoftree.sweep import Job, sweep_cells
from lpbench.estimators.histoftree.user_cells import UserGrid, UserLeaves
from lpbench.estimators.private_labels import LabelQuestion
from lpbench.partitions import TreePartition
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams

CONSTANTS = ("paper", "tight")


class CellRegressor(LocalRegressor):
    """Base of HistOfTree and AdHistOfTree, which differ in the choice of the setting alone."""

    uses_mask = True

    #: Parameters whose values a sweep does not share; a grid that has one of them is run point by point.
    _apart = frozenset({"epsilon", "noise", "y_range", "clip", "domain", "random_state"})

    @abstractmethod
    def _setting(self, params: Mapping, mask: np.ndarray | PublicMask, epsilon: float) -> Setting:
        """Resolve constructor parameters into a setting; uses the mask and the sample size only."""

    def _divide(self, setting: Setting, params: Mapping, mask: np.ndarray | PublicMask) -> Setting:
        """Give the label the whole budget if the constants are tight and the mask shows that every cell is public."""
        if params["constants"] not in CONSTANTS:
            raise ConfigurationError(f"constants={params['constants']!r} must be one of {CONSTANTS}")
        if params["constants"] == "paper":
            return setting
        public = PublicMask.of(mask)
        hidden = public.array[:, public.order[setting.n_grid_features :]]
        # Neither max-edge nor CART cuts a feature that nobody shows: it would leave empty children.
        uncertain = hidden.any(axis=0) & (~hidden.all(axis=0) | (setting.rule == "random"))
        one_bin = setting.bins == 1 or setting.n_grid_features == 0
        one_leaf = setting.depth == 0 or not uncertain.any()
        return replace(setting, label_share=1.0) if one_bin and one_leaf else setting

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Run both rounds.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features in ``domain`` (clipped to it).
        y : array-like of shape (n,)
            Labels in ``y_range``.
        mask : boolean array of shape (n, d), optional
            True = protected. None: every feature is protected. The mask itself is public.
        X_public, y_public : ignored
            Present for the common interface.

        Returns
        -------
        self

        Raises
        ------
        ConfigurationError
            A parameter has an impossible value, or ``label_share=1`` although some cells must be randomised.
        """
        epsilon = check_epsilon(self.epsilon)
        X, y, mask = self._check_fit(X, y, mask)
        setting = self._setting(self.get_params(deep=False), mask, epsilon)
        rounds = Rounds(X, y, mask, self._streams())

        label_budget, cell_budget = setting.budgets(epsilon)
        labels = rounds.labels(self._label_question(label_budget))
        split = rounds.split(protection_order(mask), setting.n_grid_features)
        least = setting.min_samples_leaf
        [(tree, depths)] = split.trees(setting.rule, setting.split_score, labels, [setting.depth], least)
        [leaves] = split.leaves(tree, depths, setting.rule)
        grid = split.grid(setting.bins)
        grid, reports = rounds.close(grid, leaves, labels, setting.mechanism, cell_budget)
        self._assemble(setting, split, tree, (grid, leaves), labels, reports)
        self.guarantee_ = _guarantee(setting, epsilon, mask, grid.choices * leaves.choices, tree, self._leak_note)
        return self

    def _label_question(self, budget: float) -> LabelQuestion:
        """What round 1 asks of every user."""
        return LabelQuestion(self.y_range_, budget, noise=self.noise)

    def _assemble(
        self,
        setting: Setting,
        split: Split,
        tree: TreePartition,
        cells: tuple[UserGrid, UserLeaves],
        labels: np.ndarray,
        reports: Any,
    ) -> None:
        """Keep what prediction needs, all of it the curator's; ``cells`` is the pair of UserGrid and UserLeaves."""
        grid, leaves = cells
        self.tree_, self.grid_columns_, self.tree_columns_ = tree, split.grid_columns, split.tree_columns
        self.n_grid_features_, self.depth_, self.bins_ = setting.n_grid_features, setting.depth, setting.bins
        self._grid, self._leaf_means, self._reports = grid.for_curator(), leaves.means(labels), reports

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for complete features X of shape (m, d)."""
        X = self._check_predict(X)
        leaves = self.tree_.leaf_index()[self.tree_.apply(X[:, self.tree_columns_])]
        query = self._grid.locate(X[:, self.grid_columns_])
        return self._finish(predict_cells(self._reports, query, leaves, self._leaf_means))

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Any, streams: Streams) -> SweepResult:
        """Score the whole grid in one pass: one tree per (budget, label share, n_grid_features) serves every depth.

        A point whose partition has too many cells is skipped with the reason; see the base class for the rest.
        """
        points, params = expand_grid(grid), self.get_params(deep=False)
        if any(not params.keys() >= point.keys() or self._apart & point.keys() for point in points):
            return super().sweep(problem, budgets, grid, streams)
        model = clone(self)
        X, y, mask = model._check_fit(problem.X_train, problem.y_train, problem.mask)
        X_test = model._to_unit_cube(np.asarray(problem.X_test, dtype=np.float64))

        result, public = SweepResult(np.full((len(budgets), len(points)), np.nan)), PublicMask(mask)
        jobs = []
        for b, epsilon in enumerate(map(check_epsilon, budgets)):
            for g, point in enumerate(points):
                try:
                    jobs.append(Job(b, g, model._setting({**params, **point}, public, epsilon)))
                except TooManyCellsError as error:
                    result.reasons[b, g] = ("skipped", str(error))
        rounds = Rounds(X, y, mask, streams)
        for same, predictions in sweep_cells(rounds, public, X_test, budgets, jobs, model._label_question):
            score = problem.score(model._finish(predictions))
            for job in same:
                result.values[job.budget, job.point] = score
        return result


class HistOfTree(CellRegressor):
    """HistOfTree under semi-feature LDP with public masks (HistOfTree eqs. (6) and (9)).

    The ``n_grid_features`` most protected features (ranked by the number of users who protect them, ties by index) are
    cut into ``bins`` equal bins each, the others by a tree of depth ``depth`` that is grown from privatised labels and
    public features. ``epsilon`` is divided into ``label_share * epsilon`` for the label and the rest for the cell.

    The paper leaves two points open. Predictions are clipped to ``y_range``. A cell whose estimated count is not
    positive predicts the mean privatised label of its leaf (each user shared evenly among its compatible leaves), or
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
        Share of the budget spent on the label, rho. 1 is possible only where no cell needs randomising.
    rule : {"max_edge", "cart", "random"}, default "max_edge"
        How the tree cuts. ``random`` uses no data, so that the mask need not be released (HistOfTree section 3.4 (ii)).
    mechanism : {"grr", "rr"}, default "grr"
        Generalised randomised response (appendix A.1, the experiments) or randomised response on bits (main text).
    split_score : {"weighted", "algorithm1"}, default "weighted"
        Score of max-edge cuts, see :func:`lpbench.partitions.grow_max_edge`.
    min_samples_leaf : int, default 1
        Fewest users in a cell of the tree (``random``, which looks at none, does not heed it). The paper has none.
    noise : {"laplace", "discrete"}, default "laplace"
        Noise of the labels: continuous, as in the paper, or discrete on a public grid of about a thousandth of the
        range, which no floating-point artefact can give away (the labels are rounded to it; the exact epsilon is the
        same). Devices send discrete noise only.
    constants : {"paper", "tight"}, default "paper"
        ``tight``: where the mask shows before round 1 that no cell needs randomising (one bin, and in the tree no
        feature that some protect and others show), the label gets the whole budget, whatever ``label_share``; the
        paper leaves the rest unspent.
    y_range : (float, float), optional
        Public range of the labels.
    clip : bool, default True
        Clip predictions to ``y_range``.
    domain : (float, float), default (0, 1)
        Public range of every feature.
    random_state : int, RandomState, Generator, Streams or None

    Attributes
    ----------
    n_grid_features_, depth_, bins_ : int
        The setting that was used.
    grid_columns_, tree_columns_ : int ndarrays
        Features in the grid (most protected first) and in the tree.
    tree_ : TreePartition
        Partition of the tree features.
    y_range_ : (float, float)
    guarantee_ : Guarantee
        Exact budget of the user who spends most: ``label_share * epsilon`` if every cell is known from public features
        (``bins=1`` and a tree of public features; with tight constants ``epsilon``), else ``epsilon``.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        n_grid_features: int | str | None = None,
        bins: int = 2,
        depth: int = 2,
        label_share: float = 0.7,
        rule: str = "max_edge",
        mechanism: str = "grr",
        split_score: str = "weighted",
        min_samples_leaf: int = 1,
        noise: str = "laplace",
        constants: str = "paper",
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.n_grid_features = n_grid_features
        self.bins = bins
        self.depth = depth
        self.label_share = label_share
        self.rule = rule
        self.mechanism = mechanism
        self.split_score = split_score
        self.min_samples_leaf = min_samples_leaf
        self.noise = noise
        self.constants = constants
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

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

    def _setting(self, params: Mapping, mask: np.ndarray | PublicMask, epsilon: float) -> Setting:
        count, d = params["n_grid_features"], mask.shape[1]
        if count is None:
            count = PublicMask.of(mask).protected_by_all
        elif count == "s*":
            count = sensitive_count(d)
        else:
            hint = "as many as everybody protects; 's*': ceil ln sqrt d"
            check_whole("n_grid_features", count, most=d, none=hint)
        names = ("bins", "depth", "label_share", "rule", "mechanism", "split_score", "min_samples_leaf")
        setting = Setting(n_grid_features=int(count), **{name: params[name] for name in names})
        return self._divide(setting, params, mask)


def _guarantee(
    setting: Setting, epsilon: float, mask: np.ndarray, sizes: np.ndarray, tree: TreePartition, note: str
) -> Guarantee:
    """Guarantee of the user who spends and sends most; ``sizes`` is |V| of every user."""
    randomised = bool(sizes.max() > 1)
    if mask.all():
        model = "ldp"
    else:
        model = "semi_feature_ldp" if mask.any() else "label_ldp"
    released = 0 if setting.rule == "random" else (~mask).sum(axis=1).max()
    cell_bits = float(np.log2(sizes.max()) if setting.mechanism == "grr" else sizes.max()) if randomised else 0.0
    n_cuts = int((tree.feature >= 0).sum())
    return Guarantee(
        model,
        epsilon if randomised else setting.budgets(epsilon)[0],
        rounds=2,
        bits_up=64.0 * (1 + released) + cell_bits,
        bits_down=n_cuts * (64.0 + math.ceil(math.log2(max(tree.n_features, 2)))),
        note=note,
    )
