"""Randomizers of labels with one mistake each, twins of those of :mod:`lpbench.estimators.privatised_labels`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lpbench.audit.randomizers import Message, Randomizer
from lpbench.audit.world import repeat
from lpbench.estimators.privatised_labels.numbers import levels_channel
from lpbench.privacy import (
    Channel,
    Hybrid,
    Laplace,
    Mechanism,
    Piecewise,
    PriorResponse,
    Staircase,
    SubsetSelection,
    optimal_unbiased,
    rr_on_bins,
)
from lpbench.seeds import Streams

#: Labels of the audited users, in [-1, 1].
_LABELS = np.array([-1.0, 0.0, 1.0])
_PRIOR = np.array([0.3, 0.2, 0.2, 0.3])


def _of_numbers(epsilon: float, mechanism: Mechanism) -> Randomizer:
    """A label in [-1, 1] under a mechanism."""

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        return mechanism.randomize(np.full(n, _LABELS[value]), streams.generator("label"))

    return Randomizer("", "label_ldp", epsilon, [Message(mechanism, _LABELS, send)], _LABELS.size)


def _of_rows(epsilon: float, mechanism: Mechanism, inputs: np.ndarray) -> Randomizer:
    """A category, or a vector, under a mechanism."""

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        return mechanism.randomize(repeat(inputs[value], n), streams.generator("label"))

    return Randomizer("", "label_ldp", epsilon, [Message(mechanism, inputs, send)], len(inputs))


def staircase_half_a_step(epsilon: float) -> Randomizer:
    """Steps as long as half the range of the labels."""
    return _of_numbers(epsilon, Staircase(epsilon, 1.0))


def piecewise_without_halving(epsilon: float) -> Randomizer:
    """The budget where the formulas have half of it."""
    return _of_numbers(epsilon, Piecewise(2.0 * epsilon))


def hybrid_without_halving(epsilon: float) -> Randomizer:
    """The same in the mixture."""
    return _of_numbers(epsilon, Hybrid(2.0 * epsilon))


def levels_truth_squared(epsilon: float) -> Randomizer:
    """Levels under randomised response with weight e^(2 epsilon) for the truth."""
    return _of_numbers(epsilon, levels_channel(2.0 * epsilon))


def bins_truth_squared(epsilon: float) -> Randomizer:
    """RR-on-bins with weight e^(2 epsilon) for the own bin."""
    return _of_numbers(epsilon, rr_on_bins(2.0 * epsilon, _PRIOR))


def unbiased_between_neighbours(epsilon: float) -> Randomizer:
    """The unbiased program with its ratio constraint between neighbouring labels alone, which adds up over the grid."""
    return _of_numbers(epsilon, optimal_unbiased(2.0 * epsilon, _PRIOR))


def prior_response_outside(epsilon: float) -> Randomizer:
    """Classes that the prior does not list report themselves."""
    table = PriorResponse(epsilon, 3, (0, 1)).channel()
    table[2] = [0.0, 0.0, 1.0]
    return _of_rows(epsilon, Channel(table), np.arange(3))


def one_hot_of_sensitivity_one(epsilon: float) -> Randomizer:
    """Laplace noise on a one-hot vector as if one entry changed."""
    return _of_rows(epsilon, Laplace(1.0 / epsilon, 2.0), np.eye(3))


def subset_truth_squared(epsilon: float) -> Randomizer:
    """Subsets with the truth e^(2 epsilon) times as probable as those without."""
    return _of_rows(epsilon, SubsetSelection(2.0 * epsilon, 4, 2), np.arange(4))


#: Name -> (what is wrong, function of the claimed epsilon).
BAD_LABELS: dict[str, tuple[str, Callable[[float], Randomizer]]] = {
    function.__name__: (note, function)
    for function, note in (
        (staircase_half_a_step, "staircase noise for half the range of the labels"),
        (piecewise_without_halving, "piecewise mechanism with epsilon in the place of epsilon / 2"),
        (hybrid_without_halving, "hybrid mechanism with epsilon in the place of epsilon / 2"),
        (levels_truth_squared, "randomised levels with weight e^(2 epsilon) for the truth"),
        (bins_truth_squared, "RR-on-bins with weight e^(2 epsilon) for the own bin"),
        (unbiased_between_neighbours, "unbiased channel whose ratio is bounded between neighbouring labels alone"),
        (prior_response_outside, "RRWithPrior whose unlisted classes report themselves"),
        (one_hot_of_sensitivity_one, "noisy one-hot vector with the scale of sensitivity 1"),
        (subset_truth_squared, "subset selection with weight e^(2 epsilon) for the truth"),
    )
}
