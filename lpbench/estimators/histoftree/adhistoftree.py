"""AdHistOfTree: HistOfTree whose partition is chosen by the bound of the theory (HistOfTree section 4.3, eq. (15))."""

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np

from lpbench.checks import check_number, check_whole
from lpbench.estimators.histoftree.histoftree import CellRegressor
from lpbench.estimators.histoftree.setting import PublicMask, TreeSetting


def mean_inflation(mask: np.ndarray | PublicMask, depths: np.ndarray) -> np.ndarray:
    """delta(p) of HistOfTree eq. (12), (d, len(depths)): how many leaves a user may lie in, on average."""
    n, d = mask.shape
    tree_features = d - np.arange(d)
    share = np.minimum(np.arange(d + 1) / tree_features[:, None], 1.0)
    return np.einsum("sh,shp->sp", PublicMask.of(mask).users_by_hidden / n, np.exp2(share[:, :, None] * depths))


def choose_partition(
    mask: np.ndarray | PublicMask, epsilon: float, constant: float = 1.0, min_depth: int = 1
) -> tuple[int, int, int]:
    """Minimize the bound (15) by brute force: n_grid_features s*, depth p*, bins t* = max(1, round(2^(p*/(d - s*)))).

    The bound is 2^(p (d + s)/(d - s)) log(n) / (n epsilon^2) delta(p) + C 2^(-2 p/(d - s)), over s = 0, ..., d - 1 and
    p = min_depth, ..., ceil(log2 n) ("at most d log n candidates"; the paper does not say where p ends, and no tree has
    more non-empty leaves). ``min_depth=0`` allows an uncut tree. Ties go to the smaller s, then the smaller p.
    """
    public = PublicMask.of(mask)
    key = ("partition", epsilon, constant, min_depth)
    return public.remembered(key, lambda: _minimize_bound(public, epsilon, constant, min_depth))


def _minimize_bound(mask: PublicMask, epsilon: float, constant: float, min_depth: int) -> tuple[int, int, int]:
    """Minimize the paper's error bound over partitions: (grid features s, depth p, bins t), HistOfTree eq. (15).

    ``mask`` has the sample's shape (n, d), ``constant`` is C, the factor of the bound's bias term, and ``min_depth``
    the least p. t is 2^(p / (d - s)), rounded and at least 1.
    """
    n, d = mask.shape
    s, depths = np.arange(d)[:, None], np.arange(min_depth, max(1, min_depth, math.ceil(math.log2(n))) + 1)
    with np.errstate(over="ignore"):
        delta = mask.remembered(("inflation", min_depth), lambda: mean_inflation(mask, depths))
        noise = math.log(n) / n * np.exp2(depths * (d + s) / (d - s)) * delta
        noise = np.zeros_like(noise) if math.isinf(epsilon) else noise / epsilon**2
    bound = noise + constant * np.exp2(-2.0 * depths / (d - s))
    n_grid_features, which = np.unravel_index(np.argmin(bound), bound.shape)
    depth = int(depths[which])
    return int(n_grid_features), depth, max(1, round(2.0 ** (depth / (d - n_grid_features))))


@dataclass(eq=False, repr=False)
class AdHistOfTree(CellRegressor):
    """HistOfTree whose partition is chosen from the mask, the sample size and the budget (HistOfTree eq. (15)).

    The choice reads nothing protected and costs no privacy. At huge budgets it may have more cells than a float can
    count: an error in ``fit``, a skipped point with the reason in ``sweep``.

    Parameters
    ----------
    epsilon : float, default 1.0
        Budget of a user over both rounds; inf means no privacy.
    constant : float, default 1.0
        C, multiplier of the bound's second term (HistOfTree C.1 searches 0.01, 0.1 and 1).
    bins_offset : int, default 0
        Added to t* (HistOfTree C.1 searches -1, 0 and 1); the result is at least 1.
    label_share : float, default 0.5
        Share of the budget spent on the label, rho.
    min_depth : int, default 1
        Smallest depth that the rule may choose. HistOfTree (15) does not say where p begins; 0 allows an uncut tree.
    rule, mechanism, split_score, noise, constants, y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.HistOfTree`, and there for the attributes.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import AdHistOfTree
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = AdHistOfTree(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    1.0
    >>> model.predict(X).shape
    (300,)
    """

    rounding = "sums as wide as the processor's vectors"

    epsilon: float = 1.0
    _: KW_ONLY
    constant: float = 1.0
    bins_offset: int = 0
    label_share: float = 0.5
    min_depth: int = 1
    rule: str = "max_edge"
    mechanism: str = "grr"
    split_score: str = "weighted"
    noise: str = "laplace"
    constants: str = "paper"

    def _setting(self, params: Mapping, mask: np.ndarray | PublicMask, epsilon: float) -> TreeSetting:
        """Return the setting with the partition (s, p, t) that HistOfTree eq. (15) chooses for this mask and budget.

        ``params`` are the estimator's parameters; ``bins_offset`` is added to t.
        """
        constant, offset, min_depth = params["constant"], params["bins_offset"], params["min_depth"]
        check_number("constant", constant, above=0)
        check_whole("bins_offset", offset, least=None)
        check_whole("min_depth", min_depth)
        n_grid_features, depth, bins = choose_partition(mask, epsilon, constant, min_depth)
        names = ("label_share", "rule", "mechanism", "split_score")
        setting = TreeSetting(
            n_grid_features=n_grid_features,
            depth=depth,
            bins=max(1, bins + int(offset)),
            **{name: params[name] for name in names},
        )
        return self._divide(setting, params, mask)
