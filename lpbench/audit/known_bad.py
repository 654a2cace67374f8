"""Mechanisms known to break their promise, each as shipped somewhere, and mechanisms known to keep it.

The auditor must catch every one of :data:`KNOWN_BAD` and none of :data:`KNOWN_GOOD`: an auditor that cries wolf is as
useless as a blind one. Several errors are those of released code (:mod:`lpbench.papers.lpct.deviations`), rebuilt
here from their description.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from lpbench.audit.known_bad_labels import BAD_LABELS
from lpbench.audit.randomizers import Message, Randomizer
from lpbench.audit.recorded import randomizer_of
from lpbench.audit.world import real_message, repeat
from lpbench.audit.worlds import N
from lpbench.estimators import KRR, LPCT, PGLM
from lpbench.estimators.lpct.votes import VoteMechanism, one_hot_votes
from lpbench.partitions import grow_max_edge
from lpbench.privacy import GRR, BitVector, CategoryMechanism, Gaussian, Laplace, PrivUnitG, privunit_reports
from lpbench.seeds import Streams

#: Device that claims a given epsilon, and a note with it.
Maker = Callable[[float], Randomizer]
Subject = tuple[str, Maker]

#: Name -> (what is wrong, function of the claimed epsilon).
KNOWN_BAD: dict[str, Subject] = {}
#: Name -> (what is spent, function of the claimed epsilon).
KNOWN_GOOD: dict[str, Subject] = {}


def _register(table: dict[str, Subject], note: str) -> Callable[[Maker], Maker]:
    def register(function: Maker) -> Maker:
        table[function.__name__] = (note, lambda epsilon: replace(function(epsilon), name=function.__name__))
        return function

    return register


def _own_label(mechanism: Laplace, values: ArrayLike) -> Message:
    values = np.asarray(values, dtype=np.float64)
    return real_message(
        mechanism, values, lambda v, n, streams: mechanism.randomize(np.full(n, values[v]), streams.generator("label"))
    )


def _own_category(mechanism: CategoryMechanism, categories: ArrayLike, round: int = 1) -> Message:
    categories = np.asarray(categories)

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        return mechanism.randomize(np.full(n, categories[value]), streams.generator("report", round=round))

    return Message(mechanism, categories, send, (), round)


def _own_direction(mechanism: PrivUnitG, vectors: np.ndarray, tensor: int = 0) -> Message:
    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        rng = streams.generator("report", tensor=tensor)
        gradients = repeat(vectors[value], n)
        along = mechanism.along(rng.random(n), rng.random(n))
        return privunit_reports(gradients, along, mechanism.spread, rng.standard_normal(gradients.shape))

    return Message(mechanism, vectors, send)


@_register(KNOWN_BAD, "Laplace noise of half the scale that the sensitivity needs")
def halved_noise(epsilon: float) -> Randomizer:
    """A centred label in [-M, M] treated as if its sensitivity were M."""
    return Randomizer("", "label_ldp", epsilon, [_own_label(Laplace(1.0 / epsilon), [-1.0, 1.0])], 2)


@_register(KNOWN_BAD, "the whole budget spent on the label and again on the cell")
def spent_twice(epsilon: float) -> Randomizer:
    """HistOfTree's two messages without dividing epsilon."""
    cells, labels = np.divmod(np.arange(8), 2)
    messages = [_own_label(Laplace(1.0 / epsilon), labels), _own_category(GRR(epsilon, 4), cells, round=2)]
    return Randomizer("", "ldp", epsilon, messages, 8)


@_register(KNOWN_BAD, "KRR per attribute: every attribute gets the whole budget")
def krr_per_attribute(epsilon: float) -> Randomizer:
    """The client code of KRR itself, held to the epsilon that the name of the parameter suggests."""
    return replace(randomizer_of(KRR(budget="per_attribute"), epsilon), claimed=epsilon)


@_register(KNOWN_BAD, "private SGD, linear model: epsilon once for each of 2 parameter tensors")
def sgd_per_tensor_linear(epsilon: float) -> Randomizer:
    """Weights and constant of a linear model as two reports."""
    return _per_tensor(epsilon, [3, 1])


@_register(KNOWN_BAD, "private SGD, one hidden layer: epsilon once for each of 4 parameter tensors")
def sgd_per_tensor_network(epsilon: float) -> Randomizer:
    """Weights and constants of two layers as four reports."""
    return _per_tensor(epsilon, [6, 2, 2, 1])


def _per_tensor(epsilon: float, sizes: list[int]) -> Randomizer:
    gradients = [np.stack([np.eye(d)[0], -np.eye(d)[0]]) for d in sizes]
    messages = [_own_direction(PrivUnitG(epsilon, g.shape[1]), g, tensor) for tensor, g in enumerate(gradients)]
    return Randomizer("", "ldp", epsilon, messages, 2)


class ShortPrivUnitG(PrivUnitG):
    """PrivUnitG fed with vectors that are not of length 1, as its formula happens to treat them.

    The component of a report along a vector of length r is r alpha + (1 - r^2) z. For 0 < r < 1 its tails are those of
    a Gaussian of variance 1 - r^2 + r^4 < 1, lighter than for unit vectors: the density ratio is unbounded.
    """

    def log_density_ratio_sup(self, value, other) -> float:
        """Infinite where the tails differ."""
        r, s = np.linalg.norm(value), np.linalg.norm(other)
        if math.isclose(r**2 - r**4, s**2 - s**4, abs_tol=1e-12):
            return super().log_density_ratio_sup(value, other)
        return math.inf


@_register(KNOWN_BAD, "gradients shorter than 1 into PrivUnitG, which proves nothing for them")
def short_gradients(epsilon: float) -> Randomizer:
    """Gradients of length 1 and 0.7, either way."""
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0], [0.7, 0.0], [-0.7, 0.0]])
    return Randomizer("", "ldp", epsilon, [_own_direction(ShortPrivUnitG(epsilon, 2), vectors)], len(vectors))


@_register(KNOWN_BAD, "PGLM: the variance of the summed noise grows with sqrt(n) instead of n")
def pglm_root_n(epsilon: float) -> Randomizer:
    """PGLM's moments with noise of variance sigma^2 / sqrt(n) per user."""
    correct = randomizer_of(PGLM(), epsilon)
    mechanism, inputs = correct.messages[0].mechanism, correct.messages[0].inputs
    weak = Gaussian(mechanism.sigma * N**-0.25, correct.delta, mechanism.sensitivity)  # type: ignore[attr-defined]
    message = real_message(weak, inputs, lambda v, n, s: weak.randomize(repeat(inputs[v], n), s.generator("moments")))
    return replace(correct, messages=[message])


@_register(KNOWN_BAD, "bit vector with epsilon instead of epsilon / 2 per bit")
def bits_at_epsilon(epsilon: float) -> Randomizer:
    """One-hot vectors differ in two bits."""
    return Randomizer("", "label_ldp", epsilon, [_own_category(BitVector(2 * epsilon, 3), np.arange(3))], 3)


@_register(KNOWN_BAD, "GRR with weight e^(2 epsilon) for the truth")
def grr_truth_squared(epsilon: float) -> Randomizer:
    """The exponent of a mechanism whose scores have sensitivity 1, without the 1/2."""
    return Randomizer("", "ldp", epsilon, [_own_category(GRR(2 * epsilon, 4), np.arange(4))], 4)


@_register(KNOWN_BAD, "a tree grown from raw labels, with private votes in its leaves")
def tree_on_raw_labels(epsilon: float) -> Randomizer:
    """The released LPCT of the last commit: the partition is a function of the private sample. Central view."""
    X = np.array([[0.1, 0.1], [0.1, 0.9], [0.9, 0.1], [0.9, 0.9]])
    data = np.array([[0, 1, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1]])
    trees = [grow_max_edge(X, y, 1, criterion="gini", n_classes=2, min_samples_leaf=1) for y in data]
    cuts = np.array([tree.feature[0] for tree in trees], dtype=np.float64)
    cells = [tree.leaf_index()[tree.apply(X)] for tree in trees]
    tables = np.array([one_hot_votes(c, y, 2, 2).sum(axis=0).ravel() for c, y in zip(cells, data, strict=True)])
    noise = VoteMechanism(epsilon).half

    def votes(value: int, n: int, streams: Streams) -> np.ndarray:
        return noise.randomize(repeat(tables[value], n), streams.generator("counts"))

    messages = [
        real_message(Laplace(0.0), cuts, lambda v, n, streams: np.full(n, cuts[v])),
        real_message(noise, tables.astype(float), votes),
    ]
    neighbours = (data[:, None] != data).sum(axis=2) == 1
    return Randomizer("", "label_ldp", epsilon, messages, len(data), neighbours=neighbours)


@_register(KNOWN_BAD, "noise reused across users by a fixed seed; every report alone is private")
def shared_noise(epsilon: float) -> Randomizer:
    """What two users send, of whom only the first one's label varies: the difference is noiseless."""
    labels = np.array([0.0, 1.0])
    mechanism = Laplace(1.0 / epsilon)

    def first(value: int, n: int, streams: Streams) -> np.ndarray:
        return labels[value] + mechanism.scale * streams.generator("label").laplace(size=n)

    def second(value: int, n: int, streams: Streams) -> np.ndarray:
        return 0.5 + mechanism.scale * streams.generator("label").laplace(size=n)

    # Given the first report, the second tells the noise and with it the label.
    messages = [real_message(mechanism, labels, first), real_message(Laplace(0.0), labels, second)]
    return Randomizer("", "label_ldp", epsilon, messages, 2)


for _note, _maker in BAD_LABELS.values():
    _register(KNOWN_BAD, _note)(_maker)


@_register(KNOWN_GOOD, "half: noise of twice the scale")
def doubled_noise(epsilon: float) -> Randomizer:
    """Spends epsilon / 2."""
    return Randomizer("", "label_ldp", epsilon, [_own_label(Laplace(2.0 / epsilon), [0.0, 1.0])], 2)


@_register(KNOWN_GOOD, "half: per-bit budget epsilon / 4")
def careful_bits(epsilon: float) -> Randomizer:
    """A bit vector that counts its changed bits twice."""
    return Randomizer("", "label_ldp", epsilon, [_own_category(BitVector(epsilon / 2, 3), np.arange(3))], 3)


@_register(KNOWN_GOOD, "three quarters: a label and a cell at epsilon / 4 and epsilon / 2")
def unspent_share(epsilon: float) -> Randomizer:
    """Two messages that leave a quarter of the budget."""
    cells, labels = np.divmod(np.arange(8), 2)
    messages = [_own_label(Laplace(4.0 / epsilon), labels), _own_category(GRR(epsilon / 2, 4), cells, round=2)]
    return Randomizer("", "ldp", epsilon, messages, 8)


@_register(KNOWN_GOOD, "nothing: noise alone")
def pure_noise(epsilon: float) -> Randomizer:
    """A report that does not depend on the value."""
    return Randomizer("", "ldp", epsilon, [_own_label(Laplace(1.0), [0.0, 0.0])], 2)


@_register(KNOWN_GOOD, "all: PrivUnitG on unit vectors")
def unit_gradients(epsilon: float) -> Randomizer:
    """The valid counterpart of short_gradients."""
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    return Randomizer("", "ldp", epsilon, [_own_direction(PrivUnitG(epsilon, 2), vectors)], len(vectors))


@_register(KNOWN_GOOD, "all: LPCT's table of votes")
def honest_votes(epsilon: float) -> Randomizer:
    """The valid counterpart of tree_on_raw_labels."""
    return randomizer_of(LPCT(depth=1, noise="per_user"), epsilon)
