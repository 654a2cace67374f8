"""Pairs of neighboring tables on which a model may lose more than it claims, within public ranges of its columns."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from lpbench.audit.learner.training import Learner, Protects
from lpbench.seeds import Streams

Table = tuple[np.ndarray, np.ndarray]
#: Ranges of columns that are tried: most have an end at 0, where a wrong bound makes a sensitivity vanish.
RANGES = ((0.0, 1.0), (0.0, 100.0), (-1.0, 1.0), (-1.0, 10.0))
#: Names of constructor parameters that state a public range or norm, and of those that state it for the label.
_PUBLIC, _LABEL = re.compile("bound|range|norm|clip|domain"), re.compile("(^|_)(y|labels?|targets?)(_|$)")
#: Records of a table, its features, how many ranges away a record is that ignores the range.
_ROWS, _FEATURES, _BEYOND = (1, 10, 60), (1, 3), 1000.0
#: Features of the other records; the first four are those of labels, too.
_OTHERS = ("lowest", "highest", "zero", "anywhere", "collinear", "close together")
#: The record that differs: (feature, label) of one table and of its neighbor, in units of the range.
_MOVES = {
    "opposite ends": ((0, 0), (1, 1)),
    "crossed ends": ((0, 1), (1, 0)),
    "another feature": ((0, 1), (1, 1)),
    "another label": ((1, 0), (1, 1)),
    "label beyond its range": ((1, 0), (1, _BEYOND)),
    "beyond the range": ((0, 0), (_BEYOND, _BEYOND)),
}


@dataclass(frozen=True)
class Ranges:
    """Public constructor parameters of a model, and the ranges of features and labels that they state."""

    public: Mapping[str, Any]
    features: tuple[Any, Any]  # numbers, or one for each feature
    labels: tuple[Any, Any]

    def rows(self, n: int, d: int, unit: np.ndarray) -> np.ndarray:
        """Return ``n`` rows of ``d`` features, (n, d), from positions ``unit`` (n, d) in units of the range."""
        low, high = (np.broadcast_to(end, d) for end in self.features)
        return np.broadcast_to(low + unit * (high - low), (n, d))


@dataclass(frozen=True)
class Neighbors:
    """Two tables that differ in one record, and the public parameters that a model is given for both.

    ``tables`` are (X, y), (n, d) and (n,); ``queries`` the rows to predict, and ``refits`` is True if the model is
    fitted to the first table before.
    """

    title: str
    ranges: Ranges
    tables: tuple[Table, Table]  # each (X of shape (n, d), y of shape (n,))
    queries: np.ndarray  # from the lower to the upper ends of all features, shape (33, d)
    refits: bool  # True: the model was fitted to the first table before, by another seed


def stated_ranges(learner: Learner, epsilon: float) -> list[Ranges]:
    """Return the ranges that a model states by default, then others that its constructor takes."""
    model = learner(epsilon, 0)
    names = _names(learner, model)
    given = [next(filter(None, (_pair(getattr(model, n, None)) for n in of)), None) for of in names]
    defaults = {n: getattr(model, n, None) for of in names for n in of if n in learner.taken}
    # a default may be replaced by a range of numbers, or by a norm
    takes = {n: value for n, value in defaults.items() if value is None or (_pair(value) and np.ndim(value) < 2)}
    classes = {"classes": [0, 1]} if "classes" in learner.taken else {}
    ranges = [Ranges(classes, *(stated or RANGES[0] for stated in given))] if None not in takes.values() else []
    for low, high in RANGES if takes or not any(given) else ():
        public = {n: high if np.isscalar(value) else (low, high) for n, value in takes.items()}
        of_both = zip(given, names, strict=True)
        ends = [stated if stated and not set(of) & public.keys() else (low, high) for stated, of in of_both]
        ranges.append(Ranges(public | classes, *ends))
    return ranges


def _names(learner: Learner, model: Any) -> tuple[list[str], list[str]]:
    """Names of the learner's parameters and the model's attributes that state ranges: of features, of the label."""
    names = [n for n in dict.fromkeys([*learner.taken, *vars(model)]) if _PUBLIC.search(n) and n[-1] != "_"]
    return [n for n in names if not _LABEL.search(n)], [n for n in names if _LABEL.search(n)]


def protects_by_default(learner: Learner, epsilon: float) -> Protects:
    """Return "record" of a model that is told bounds or norms of features, else "label"."""
    features, _ = _names(learner, learner(epsilon, 0))
    return "record" if re.search("bound|norm", " ".join(features)) else "label"


def neighbors(learner: Learner, epsilon: float, protects: Protects, seed: int) -> Iterator[Neighbors]:
    """Yield pairs of neighboring tables, in an order that the seed decides."""
    model = learner(epsilon, 0)
    classifies = isinstance(model, ClassifierMixin) or hasattr(model, "predict_proba") or "classes" in learner.taken
    two_classes = classifies and "classes" not in learner.taken  # one class may be refused, and these are not public
    binary = classifies or not _names(learner, model)[1]  # labels that no range is stated of are 0 and 1
    moves = [name for name in _MOVES if protects == "record" or "label" in name]
    sets = list(product(stated_ranges(learner, epsilon), _ROWS, _FEATURES, _OTHERS, _OTHERS[:4], moves, range(4)))
    rng = Streams(seed).generator("neighbors")
    for k in rng.permutation(len(sets)):
        ranges, n, d, features, labels, move, refits = sets[k]
        d = max(d, *map(np.size, ranges.features))
        if (two_classes and n < 4) or (binary and move == "label beyond its range"):
            continue
        if binary:
            ranges = replace(ranges, labels=(0, 1))
        X, y = _positions(features, n, d, ranges.features, rng), _positions(labels, n, 1, ranges.labels, rng)[:, 0]
        low, high = map(np.asarray, ranges.labels)
        tables = []
        for feature, label in _MOVES[move]:
            X[-1], y[-1] = feature, label
            values = low + (np.clip(np.round(y), 0, 1) if binary else y) * (high - low)
            values[:2] = (0, 1) if two_classes else values[:2]
            tables.append((ranges.rows(n, d, X).copy(), values))
        public = "".join(f", {name}={value}" for name, value in ranges.public.items())
        again = not refits and learner.seed_name in (None, *vars(model))
        title = f"{n} records of {d} features, the others {features} with labels {labels}; one: {move}{public}"
        queries = ranges.rows(33, d, np.linspace(0, 1, 33)[:, None])
        yield Neighbors(title + ", fitted again" * again, ranges, (tables[0], tables[1]), queries, again)


def _positions(kind: str, n: int, d: int, ends: tuple[Any, Any], rng: np.random.Generator) -> np.ndarray:
    """Positions of n records in units of the range, shape (n, d), in [0, 1].

    ``kind`` names the layout ("lowest", "zero", "anywhere", "collinear" ...), ``ends`` are the range's (low, high).
    """
    low, high = (float(np.min(end)) for end in ends)
    anywhere = rng.random((n, d))
    positions = {
        "lowest": 0.0,
        "highest": 1.0,
        "zero": np.clip(-low / (high - low), 0, 1),
        "anywhere": anywhere,
        "collinear": anywhere[:, :1],
        "close together": 0.01 * anywhere,
    }
    return np.broadcast_to(positions[kind], (n, d)).copy()


def _pair(value: Any) -> tuple[Any, Any] | None:
    """Ends of a range, from a pair or from a norm; None if it is neither."""
    if isinstance(value, (bool, str, type(None))):
        return None
    try:
        ends = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if ends.ndim == 0:
        ends = np.array([-ends, ends])
    if len(ends) != 2 or not np.isfinite(ends).all():
        return None
    low, high = ends if (ends[0] < ends[1]).all() else ends.T
    return (low, high) if np.all(low < high) else None
