"""Mechanisms known to break their promise, each as shipped somewhere, and mechanisms known to keep it.

The auditor must catch every one of :data:`KNOWN_BAD` and none of :data:`KNOWN_GOOD`: an auditor that cries wolf is as
useless as a blind one. Several errors are those of released code (:mod:`lpbench.papers.lpct.deviations`), rebuilt
here from their description.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from lpbench.audit.randomizers import Message, Randomizer, message, repeat
from lpbench.audit.recorded import randomizer_of
from lpbench.audit.samples import N
from lpbench.estimators import KRR, LPCT, PGLM
from lpbench.estimators.lpct.votes import VoteMechanism, one_hot_votes
from lpbench.estimators.privatized_labels.numbers import levels_channel
from lpbench.partitions import grow_max_edge
from lpbench.privacy import (
    GRR,
    BitVector,
    CategoryMechanism,
    Channel,
    Gaussian,
    Hybrid,
    Laplace,
    Piecewise,
    PriorResponse,
    PrivUnitG,
    Staircase,
    SubsetSelection,
    optimal_unbiased,
    privunit_reports,
    rr_on_bins,
)
from lpbench.privacy.domain import Directions
from lpbench.seeds import Streams

#: Device that claims a given epsilon.
Maker = Callable[[float], Randomizer]
#: Labels in [-1, 1], and a prior on four bins of them.
_LABELS, _PRIOR = np.array([-1.0, 0.0, 1.0]), np.array([0.3, 0.2, 0.2, 0.3])
#: Values of a label with two classes and a cell of four.
_CELLS, _CODES = np.divmod(np.arange(8), 2)


def _of(model: str, epsilon: float, *messages: Message) -> Randomizer:
    return Randomizer(model, epsilon, messages, len(messages[0].inputs))


def _of_labels(mechanism: Callable[[float], object], inputs: np.ndarray = _LABELS) -> Maker:
    return lambda epsilon: _of("label_ldp", epsilon, message(mechanism(epsilon), inputs))


def _of_category(model: str, mechanism: Callable[[float], CategoryMechanism]) -> Maker:
    def maker(epsilon: float) -> Randomizer:
        made = mechanism(epsilon)
        return _of(model, epsilon, message(made, np.arange(made.n_categories), "report", round=1))

    return maker


def _own_direction(mechanism: PrivUnitG, vectors: np.ndarray, tensor: int = 0) -> Message:
    """Message of PrivUnitG for each of some unit ``vectors``, drawn by its component along the vector.

    ``tensor`` tells the noise of several messages apart.
    """

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        rng = streams.generator("report", tensor=tensor)
        gradients = repeat(vectors[value], n)
        along = mechanism.along(rng.random(n), rng.random(n))
        return privunit_reports(gradients, along, mechanism.spread, rng.standard_normal(gradients.shape))

    return Message(mechanism, vectors, send)


def _directions(kind: type[PrivUnitG], *vectors: Sequence[float]) -> Maker:
    return lambda epsilon: _of("ldp", epsilon, _own_direction(kind(epsilon, 2), np.array(vectors)))


def _per_tensor(*sizes: int) -> Maker:
    """Return a function of epsilon: the randomizer of a model's weights, with a report for each tensor.

    Every report has the whole budget, which is the fault; ``sizes`` are the tensors' numbers of entries.
    """
    ends = [np.stack([np.eye(d)[0], -np.eye(d)[0]]) for d in sizes]
    return lambda epsilon: _of(
        "ldp", epsilon, *(_own_direction(PrivUnitG(epsilon, g.shape[1]), g, k) for k, g in enumerate(ends))
    )


class ShortPrivUnitG(PrivUnitG):
    """PrivUnitG fed with vectors that are not of length 1, as its formula happens to treat them.

    The component of a report along a vector of length r is r alpha + (1 - r^2) z. For 0 < r < 1 its tails are those of
    a Gaussian of variance 1 - r^2 + r^4 < 1, lighter than for unit vectors: the density ratio is unbounded.
    """

    @property
    def domain(self) -> Directions:
        """Domain of vectors of any length, for which the mechanism is not made."""
        return Directions(self.dimension, unit=False)

    def _loss(self, value, second) -> float:
        """Exact loss between two users' vectors ``value`` and ``second``: infinite if their tails differ."""
        r, s = np.linalg.norm(value), np.linalg.norm(second)
        if math.isclose(r**2 - r**4, s**2 - s**4, abs_tol=1e-12):
            return super()._loss(value, second)
        return math.inf


def _label_and_cell(epsilon: float, scale: float, cell_budget: float) -> Randomizer:
    """HistOfTree's two messages: a label of two values, Laplace noise ``scale`` / epsilon, and one of four cells."""
    label = message(Laplace(scale / epsilon), _CODES.astype(float))
    return _of("ldp", epsilon, label, message(GRR(cell_budget, 4), _CELLS, "report", round=2))


def _pglm_root_n(epsilon: float) -> Randomizer:
    """PGLM's moments with noise of variance sigma^2 / sqrt(n) per user instead of sigma^2, at the stated epsilon."""
    correct = randomizer_of(PGLM(), epsilon)
    mechanism, inputs = correct.messages[0].mechanism, correct.messages[0].inputs
    weak = Gaussian(mechanism.sigma * N**-0.25, correct.delta, mechanism.sensitivity)  # type: ignore[attr-defined]
    return replace(correct, messages=[message(weak, inputs, "moments")])


def _tree_on_raw_labels(epsilon: float) -> Randomizer:
    """The released LPCT of the last commit: the partition is a function of the private sample. Central view."""
    X = np.array([[0.1, 0.1], [0.1, 0.9], [0.9, 0.1], [0.9, 0.9]])
    data = np.array([[0, 1, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1]])
    trees = [grow_max_edge(X, y, 1, criterion="gini", n_classes=2, min_samples_leaf=1) for y in data]
    cells = [tree.leaf_index()[tree.apply(X)] for tree in trees]
    tables = np.array([one_hot_votes(c, y, 2, 2).sum(axis=0).ravel() for c, y in zip(cells, data, strict=True)])
    cut = message(Laplace(0.0), np.array([tree.feature[0] for tree in trees], dtype=np.float64), "cut")
    neighbors = (data[:, None] != data).sum(axis=2) == 1
    votes = message(VoteMechanism(epsilon).half, tables.astype(float), "counts")
    return replace(_of("label_ldp", epsilon, cut, votes), neighbors=neighbors)


def _shared_noise(epsilon: float) -> Randomizer:
    """Build two users' messages with the same noise, so that their difference shows the first one's label."""
    labels, mechanism = np.array([0.0, 1.0]), Laplace(1.0 / epsilon)

    def second(value: int, n: int, streams: Streams) -> np.ndarray:
        return mechanism.randomize(np.full(n, 0.5), streams.generator("label"))

    # Given the first report, the second tells the noise and with it the label.
    return _of("label_ldp", epsilon, message(mechanism, labels), Message(Laplace(0.0), labels, second))


def _prior_response_outside(epsilon: float) -> Channel:
    """Classes that the prior does not list report themselves."""
    table = PriorResponse(epsilon, 3, (0, 1)).channel()
    table[2] = [0.0, 0.0, 1.0]
    return Channel(table)


#: Name -> (what is wrong, function of the claimed epsilon).
KNOWN_BAD: dict[str, tuple[str, Maker]] = {
    "halved_noise": (
        "Laplace noise of half the scale that the sensitivity requires",
        _of_labels(lambda epsilon: Laplace(1.0 / epsilon), np.array([-1.0, 1.0])),
    ),
    "spent_twice": (
        "the whole budget spent on the label and again on the cell",
        lambda epsilon: _label_and_cell(epsilon, 1.0, epsilon),
    ),
    "krr_per_attribute": (
        "KRR: the whole budget spent on each attribute",
        lambda epsilon: replace(randomizer_of(KRR(budget="per_attribute"), epsilon), claimed=epsilon),
    ),
    "sgd_per_tensor_linear": (
        "private SGD, linear model: epsilon spent on each of 2 parameter tensors",
        _per_tensor(3, 1),
    ),
    "sgd_per_tensor_network": (
        "private SGD, one hidden layer: epsilon spent on each of 4 parameter tensors",
        _per_tensor(6, 2, 2, 1),
    ),
    "short_gradients": (
        "PrivUnitG with gradients shorter than 1, although its proof needs length 1",
        _directions(ShortPrivUnitG, [1.0, 0.0], [-1.0, 0.0], [0.7, 0.0], [-0.7, 0.0]),
    ),
    "pglm_root_n": ("PGLM: the variance of the summed noise grows with sqrt(n) instead of n", _pglm_root_n),
    "bits_at_epsilon": (
        "bit vector: epsilon instead of epsilon / 2 per bit",
        _of_category("label_ldp", lambda epsilon: BitVector(2 * epsilon, 3)),
    ),
    "grr_truth_squared": (
        "GRR: weight e^(2 epsilon) instead of e^epsilon for the true value",
        _of_category("ldp", lambda epsilon: GRR(2 * epsilon, 4)),
    ),
    "tree_on_raw_labels": ("a tree grown on raw labels, with private votes in its leaves", _tree_on_raw_labels),
    "shared_noise": ("noise shared by all users (fixed seed); each report alone is private", _shared_noise),
    "staircase_half_a_step": (
        "staircase noise for half the range of the labels",
        _of_labels(lambda epsilon: Staircase(epsilon, 1.0)),
    ),
    "piecewise_without_halving": (
        "piecewise mechanism: epsilon instead of epsilon / 2",
        _of_labels(lambda epsilon: Piecewise(2.0 * epsilon)),
    ),
    "hybrid_without_halving": (
        "hybrid mechanism: epsilon instead of epsilon / 2",
        _of_labels(lambda epsilon: Hybrid(2.0 * epsilon)),
    ),
    "levels_truth_squared": (
        "randomized levels: weight e^(2 epsilon) instead of e^epsilon for the true level",
        _of_labels(lambda epsilon: levels_channel(2.0 * epsilon)),
    ),
    "bins_truth_squared": (
        "RR-on-bins: weight e^(2 epsilon) instead of e^epsilon for the true bin",
        _of_labels(lambda epsilon: rr_on_bins(2.0 * epsilon, _PRIOR)),
    ),
    "unbiased_between_neighbors": (
        "unbiased randomizer whose probability ratio is bounded for neighboring labels only",
        _of_labels(lambda epsilon: optimal_unbiased(2.0 * epsilon, _PRIOR)),
    ),
    "prior_response_outside": (
        "RRWithPrior: a class outside the list is reported without noise",
        _of_labels(_prior_response_outside, np.arange(3)),
    ),
    "one_hot_of_sensitivity_one": (
        "noisy one-hot vector: noise for sensitivity 1 instead of 2",
        _of_labels(lambda epsilon: Laplace(1.0 / epsilon, 2.0), np.eye(3)),
    ),
    "subset_truth_squared": (
        "subset selection: weight e^(2 epsilon) instead of e^epsilon for the true value",
        _of_labels(lambda epsilon: SubsetSelection(2.0 * epsilon, 4, 2), np.arange(4)),
    ),
}
#: Name -> (what is spent, function of the claimed epsilon).
KNOWN_GOOD: dict[str, tuple[str, Maker]] = {
    "doubled_noise": (
        "half: noise of twice the required scale",
        _of_labels(lambda epsilon: Laplace(2.0 / epsilon), np.array([0.0, 1.0])),
    ),
    "careful_bits": (
        "half: epsilon / 4 instead of epsilon / 2 per bit",
        _of_category("label_ldp", lambda epsilon: BitVector(epsilon / 2, 3)),
    ),
    "unspent_share": (
        "three quarters: epsilon / 4 on the label and epsilon / 2 on the cell",
        lambda epsilon: _label_and_cell(epsilon, 4.0, epsilon / 2),
    ),
    "pure_noise": ("nothing: pure noise", lambda epsilon: _of("ldp", epsilon, message(Laplace(1.0), np.zeros(2)))),
    "unit_gradients": ("all: PrivUnitG on unit vectors", _directions(PrivUnitG, [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0])),
    "honest_votes": (
        "all: LPCT's table of votes",
        lambda epsilon: randomizer_of(LPCT(depth=1, noise="per_user"), epsilon),
    ),
}
