"""Events that distinguish two values: cut by trees or by a classifier's score, and described as a rule."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from lpbench.audit.black_box.claims import PrivacyClaim
from lpbench.audit.black_box.interfaces import Cells, Describe, Partition, Witness
from lpbench.audit.black_box.reports import Columns, Encoder, part_of

#: Reports of each value that cells are cut from, and the fewest of both that make up a cell.
_CUT, _FEWEST = 40_000, 40
#: Leaves of the tree whose events make a short rule, and of the one whose events are sharp.
_FEW_CELLS, _MOST_CELLS = 6, 48
#: A later kind of witness must beat an earlier, more readable one by this factor.
_BETTER = 1.03
#: Entries of a report up to which boosted trees are grown on it.
_MOST_ENTRIES = 200
#: Entries of a long report that its sums are joined by, and the quantiles that bound the bins of their histograms.
_MOST_SINGLE, _QUANTILES = 16, np.linspace(0.05, 0.95, 19)
#: Boxes of the features that a rule lists.
_MOST_BOXES = 3

Box = dict[int, tuple[float, float]]


@dataclass(frozen=True)
class Event:
    """A set of reports, chosen on samples that do not test it.

    ``happens(columns)`` marks its reports, ``rule`` describes it, ``direction`` has the positions of the two samples,
    the one under which it is likelier first, and ``bound`` is the loss that it showed where it was chosen.
    """

    direction: tuple[int, int]  # 0 and 1: positions of the two samples, the one under which the event is likelier first
    rule: str
    bound: float  # what the event proved on the samples that it was chosen on; an optimistic number
    happens: Callable[[Columns], np.ndarray]  # columns of n reports -> boolean ndarray of shape (n,)


def find_events(
    first: Columns, second: Columns, claim: PrivacyClaim, failure: float, readable: bool = True
) -> list[Event]:
    """Find the event that proves most in either direction, among unions of cells of several partitions of the reports.

    Cells are cut from half of the reports (at most 40 000 of each value) and chosen on the rest, or the rarest would
    look the most telling. Unless a rule is to be ``readable``, one tree on entries and their sums cuts them: the
    cheapest that sees what several entries tell together.
    """
    n = len(next(iter(first.values())))
    m = min(n // 2, _CUT)
    encoder = Encoder.fit(part_of(first, 0, m), part_of(second, 0, m), digits=readable)
    encoded = encoder(first), encoder(second)
    cut = encoded[0][:m], encoded[1][:m]
    events: dict[tuple[int, int], Event] = {}
    for witness in READABLE if readable else QUICK_PARTITIONS:
        if (partition := witness.cut(*(cut if readable else encoded), encoder)) is None:
            continue
        cells, describe = partition
        where = [cells(encoded_side[m:]) for encoded_side in encoded]
        n_cells = 1 + max(int(w.max(initial=0)) for w in where)
        counts = [np.bincount(w, minlength=n_cells) for w in where]
        for likely, less_likely in ((0, 1), (1, 0)):
            seen, others = counts[likely], counts[less_likely]
            order = np.argsort(-(seen + 0.5) / (others + 0.5), kind="stable")
            bounds = claim.proven(np.cumsum(seen[order]), np.cumsum(others[order]), n - m, failure)
            last = int(np.argmax(bounds))
            chosen, bound, best = order[: last + 1], float(bounds[last]), events.get((likely, less_likely))
            if best is None or bound > _BETTER * best.bound:
                happens = _membership(encoder, cells, chosen)
                events[likely, less_likely] = Event((likely, less_likely), describe(chosen), bound, happens)
    return list(events.values())


def _membership(encoder: Encoder, cells: Cells, chosen: np.ndarray) -> Callable[[Columns], np.ndarray]:
    # A category that the rule does not know is outside.
    return lambda columns: np.isin(cells(encoder(columns)), chosen) & encoder.known(columns)


@dataclass(frozen=True)
class Tree:
    """Classification tree on the entries of reports, and on their digits if it is to look at those."""

    paper: ClassVar[str] = "L. Breiman, J. Friedman, R. Olshen, C. Stone, Classification and regression trees, 1984"
    leaves: int
    digits: bool = False

    def cut(self, first: np.ndarray, second: np.ndarray, encoder: Encoder) -> Partition | None:
        """Grow the tree on features (m, d) of both values' reports; its leaves are the cells."""
        k = len(encoder.names)
        width = first.shape[1] if self.digits else k
        if self.digits and width == k:
            return None
        tree = _grow(single_precision(np.concatenate([first, second])[:, :width]), self.leaves)
        return _leaves(tree, lambda rows: single_precision(rows[:, :width])), _rule_of(tree, encoder)


@dataclass(frozen=True)
class Sums:
    """Tree on entries and three sums of them (:func:`features_of`), which sees what several entries tell together."""

    paper: ClassVar[str] = "R. A. Fisher, The use of multiple measurements in taxonomic problems, 1936"
    alone: bool = False  # True: it gets the reports that the event is chosen on, too, and grows no tree on them

    def cut(self, first: np.ndarray, second: np.ndarray, encoder: Encoder) -> Partition | None:
        """Grow the tree on features (m, d) and their sums; its leaves are the cells."""
        k = first.shape[1] if self.alone else len(encoder.names)
        if k == 1 and not self.alone:
            return None
        m = min(len(first) // 2, _CUT) if self.alone else len(first)
        features = features_of(first[:, :k], second[:, :k])
        tree = _grow(features(np.concatenate([first[:m], second[:m]])[:, :k]), _MOST_CELLS)
        description = f"a tree on {k} entries and their sums says so"
        return _leaves(tree, lambda rows: features(rows[:, :k])), lambda chosen: description


class BoostedTrees:
    """Likelihood ratio of boosted trees, cut at quantiles."""

    paper: ClassVar[str] = "B. Bichsel et al., DP-Sniper: black-box discovery of differential privacy violations, 2021"

    def cut(self, first: np.ndarray, second: np.ndarray, encoder: Encoder) -> Partition | None:
        """Fit boosted trees to features (m, d) of both values' reports; cells lie between quantiles of their score."""
        k = len(encoder.names)
        if not 1 < k <= _MOST_ENTRIES:
            return None
        entries = np.concatenate([first, second])[:, :k]
        model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, early_stopping=False, random_state=0)
        with threadpool_limits(1, "openmp"):  # the same sums in the same order on every machine
            model.fit(entries, np.repeat([1, 0], len(first)))
        edges = np.unique(np.quantile(model.decision_function(entries), np.linspace(0.01, 0.99, _MOST_CELLS)))
        return (
            lambda rows: np.searchsorted(edges, model.decision_function(rows[:, :k])),
            lambda chosen: f"the log-likelihood ratio of boosted trees on {k} entries is extreme",
        )


#: The most readable first, and the one that is quick where no rule is to be read.
READABLE: Sequence[Witness] = (Tree(_FEW_CELLS), Tree(_MOST_CELLS), Tree(_FEW_CELLS, True), Sums(), BoostedTrees())
QUICK_PARTITIONS: Sequence[Witness] = (Sums(alone=True),)


def _grow(features: np.ndarray, n_leaves: int) -> DecisionTreeClassifier:
    """Grow a classification tree on features (2 n, k), the first value's reports (label 1) before the others."""
    labels = np.repeat([1, 0], len(features) // 2)
    tree = DecisionTreeClassifier(
        criterion="entropy", max_leaf_nodes=n_leaves, min_samples_leaf=min(_FEWEST, len(labels) // 4), random_state=0
    )
    return tree.fit(features, labels)


def _leaves(tree: DecisionTreeClassifier, features: Cells) -> Cells:
    return lambda rows: tree.apply(features(rows))


def _rule_of(tree: DecisionTreeClassifier, encoder: Encoder) -> Describe:
    """Return a function of leaf numbers that describes the union of these leaves by conditions on the columns."""

    def describe(chosen: np.ndarray) -> str:
        boxes = sorted(_merge(_boxes(tree.tree_, set(chosen.tolist()), 0, {})), key=len)
        texts = [" and ".join(encoder.condition(feature, *limits) for feature, limits in box.items()) for box in boxes]
        if any(not text for text in texts):
            return "any report"
        more = f" or {len(texts) - _MOST_BOXES} more such boxes" if len(texts) > _MOST_BOXES else ""
        return " or ".join(texts[:_MOST_BOXES]) + more

    return describe


def _boxes(tree, chosen: set[int], node: int, box: Box) -> list[Box]:
    """Boxes of the ``chosen`` leaves below a node; a box maps a feature to (low, high), and begins as ``box``.

    A subtree of chosen leaves is one box.
    """
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    if left < 0:
        return [box] if node in chosen else []
    feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
    low, high = box.get(feature, (-np.inf, np.inf))
    below, above = box | {feature: (low, min(high, threshold))}, box | {feature: (max(low, threshold), high)}
    first, second = _boxes(tree, chosen, left, below), _boxes(tree, chosen, right, above)
    return [box] if first == [below] and second == [above] else first + second


def _merge(boxes: list[Box]) -> list[Box]:
    """Join boxes that all limit the same one feature and are adjacent; others are returned as they are."""
    if len({tuple(box) for box in boxes}) != 1 or len(boxes[0]) != 1:
        return boxes
    (feature,) = boxes[0]
    merged: list[tuple[float, float]] = []
    for low, high in sorted(box[feature] for box in boxes):
        if merged and merged[-1][1] == low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return [{feature: limits} for limits in merged]


def features_of(first: np.ndarray, second: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a map of reports to features: the entries that differ most and, for vectors, three numbers that sum up.

    These are Fisher's discriminant, which also finds noise that two entries share; the direction between the means,
    along which high-dimensional reports differ; and the log-ratio of histograms summed over the entries, which is the
    best statistic if entries are independent.
    """
    k = first.shape[1]
    if k == 1:
        return single_precision
    difference = first.mean(axis=0) - second.mean(axis=0)
    covariance_first, covariance_second = np.cov(first, rowvar=False), np.cov(second, rowvar=False)
    covariance = (covariance_first + covariance_second) / 2.0
    variances = np.diag(covariance) + 1e-300
    scores = np.maximum(
        np.abs(difference) / np.sqrt(variances), np.abs(np.diag(covariance_first - covariance_second)) / variances
    )
    telling = np.sort(np.argsort(-scores, kind="stable")[:_MOST_SINGLE])
    ridge = 1e-9 * (np.trace(covariance) / k + difference @ difference) + 1e-300
    discriminant = np.linalg.solve(covariance + ridge * np.eye(k), difference)
    directions = np.column_stack([_unit(discriminant), _unit(difference)])
    ratio = _histogram_ratio(first[:, telling], second[:, telling])
    return lambda reports: single_precision(
        np.hstack([reports[:, telling], reports @ directions, ratio(reports[:, telling])])
    )


def _histogram_ratio(first: np.ndarray, second: np.ndarray):
    """Return a map of reports (n, k) to the sum over columns of the log-ratios of two samples' histograms, (n, 1)."""
    edges = [np.unique(np.quantile(column, _QUANTILES)) for column in np.concatenate([first, second]).T]

    def bins(reports):
        return [np.searchsorted(e, column, side="right") for e, column in zip(edges, reports.T, strict=True)]

    logs = [
        np.log(np.bincount(a, minlength=e.size + 1) + 1.0) - np.log(np.bincount(b, minlength=e.size + 1) + 1.0)
        for e, a, b in zip(edges, bins(first), bins(second), strict=True)
    ]
    return lambda reports: sum(log[b] for log, b in zip(logs, bins(reports), strict=True))[:, None]


def single_precision(features: np.ndarray) -> np.ndarray:
    """Convert features (m, d) to float32, as scikit-learn's trees take them."""
    return np.clip(features, -1e30, 1e30).astype(np.float32)


def _unit(vector: np.ndarray) -> np.ndarray:
    length = math.sqrt(float(vector @ vector))
    return vector / length if length > 0 else vector
