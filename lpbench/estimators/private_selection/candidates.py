"""Candidate settings that private selection compares, and which of them share the reports of users."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.base import clone

from lpbench.errors import check_known
from lpbench.estimators.base import LocalEstimator, expand_grid
from lpbench.estimators.baselines.ct import CT
from lpbench.estimators.baselines.hist import Hist
from lpbench.estimators.baselines.krr import KRR
from lpbench.estimators.baselines.phist import PHIST
from lpbench.estimators.baselines.trees import ParDT
from lpbench.estimators.histoftree.histoftree import HistOfTree
from lpbench.estimators.lpct.lpct import LPCT

Point = dict[str, Any]


@dataclass(frozen=True)
class Candidates:
    """A method and the settings that private selection compares.

    ``build`` makes the estimator, ``points`` are its settings as dictionaries, and ``shared`` names the parameters that
    act on reports which users have sent: candidates that differ in them alone share training users.
    """

    build: Callable[[], LocalEstimator]
    points: Sequence[Point]  # the others are compared with the first
    # Parameters that act on reports which users have sent: settings that differ in them alone share their users.
    shared: frozenset[str] = frozenset()

    def groups(self) -> list[list[int]]:
        """Numbers of the settings that share their users, one list a group; no group if private users are not asked."""
        if not self.build().uses_epsilon:
            return []
        numbers_of: dict[str, list[int]] = {}
        for number, point in enumerate(self.points):
            reports = repr(sorted((k, v) for k, v in point.items() if k not in self.shared))
            numbers_of.setdefault(reports, []).append(number)
        return list(numbers_of.values())


# A setting that needs reports of its own costs the others users, so that there are few of them: the setting stated
# without tuning first, then a coarser and a finer one.
_TREE_POINTS = (
    {"depth": 2, "bins": 2, "label_share": 0.7},
    {"depth": 1, "bins": 1, "label_share": 0.9},
    {"depth": 4, "bins": 2, "label_share": 0.7},
)
_SIZES = frozenset({"max_depth", "min_samples_leaf"})
_WEIGHT_POINTS = tuple({"depth": None, "public_weight": w, "min_samples_leaf": 1} for w in (None, 1.0, 100.0, 2000.0))
_PUBLIC_WEIGHT = frozenset({"public_weight"})


#: Name of a registered method -> what is compared.
CANDIDATES: Mapping[str, Candidates] = {
    "histoftree_max_edge": Candidates(partial(HistOfTree, rule="max_edge"), _TREE_POINTS),
    "histoftree_cart": Candidates(partial(HistOfTree, rule="cart"), _TREE_POINTS),
    # the grid but for leaves of a single noisy label: a tree of any size is grown from the same reports
    "par_dt": Candidates(
        ParDT,
        sorted(
            expand_grid({"max_depth": [1, 2, 4, 6, 8], "min_samples_leaf": [10, 100]}),
            key=lambda point: point != {"max_depth": 4, "min_samples_leaf": 10},
        ),
        _SIZES,
    ),
    "krr": Candidates(
        KRR, tuple({"bins": 2, "max_depth": depth, "min_samples_leaf": 10} for depth in (4, 1, 2, 8)), _SIZES
    ),
    "hist": Candidates(partial(Hist, clip=False), tuple({"bins": bins, "threshold": 0.05} for bins in (2, 1, 3))),
    "lpct_max_edge": Candidates(LPCT, _WEIGHT_POINTS, _PUBLIC_WEIGHT),
    "lpct_cart": Candidates(partial(LPCT, rule="cart"), _WEIGHT_POINTS, _PUBLIC_WEIGHT),
    "lpdt": Candidates(
        partial(LPCT, source="private"), tuple({"depth": depth, "min_samples_leaf": 1} for depth in (None, 2, 4))
    ),
    "phist": Candidates(PHIST, tuple({"bins": bins} for bins in (2, 1, 3))),
    "ct_q": Candidates(partial(CT, sample="public"), tuple({"max_depth": depth} for depth in (8, 2, 4, 16))),
}


def candidates_of(estimator: str | LocalEstimator, points: Sequence[Point] | None, shared: Sequence[str]) -> Candidates:
    """Return the candidates of a name, or of an estimator with given settings."""
    if isinstance(estimator, str):
        check_known("unknown estimator of private selection", [estimator], CANDIDATES)
        registered = CANDIDATES[estimator]
    else:
        registered = Candidates(partial(clone, estimator), ({},))
    return Candidates(registered.build, list(points or registered.points), registered.shared | set(shared))
