"""Releases of trusted curators of label DP: values are data sets that differ in one label or record."""

from __future__ import annotations

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import Message, Randomizer
from lpbench.audit.world import Y_RANGE, real_message
from lpbench.estimators.label_dp.cubes import Cubes
from lpbench.privacy import Exponential, Laplace, exponential_choices
from lpbench.privacy.payload import Integers
from lpbench.seeds import Streams

#: Samples in a cube of the audited data sets.
N_CUBE = 8


@builds(models.LabelCDPVote)
def label_vote(model: models.LabelCDPVote) -> Randomizer:
    """The class of one cube with N_CUBE samples of two classes; neighbours change one label."""
    mechanism = Exponential(model._coefficient())
    ones = np.arange(N_CUBE + 1)
    counts = np.column_stack([N_CUBE - ones, ones])
    neighbours = np.abs(ones[:, None] - ones) == 1
    return Randomizer(
        "", "label_cdp", model.epsilon, [_vote(mechanism, counts)], ones.size,
        neighbours=neighbours, supremum=mechanism.epsilon, note="the listed data sets approach the supremum",
    )  # fmt: skip


@builds(models.CDPVote)
def record_vote(model: models.CDPVote) -> Randomizer:
    """The classes of two cubes; neighbours move a record from one to the other and may change its class."""
    mechanism = Exponential(model._coefficient(), range_sensitivity=1.0)
    # (counts of the first cube, counts of the second), five records in all but one place.
    data = np.array(
        [[[4, 1], [4, 0]], [[4, 0], [5, 0]], [[4, 0], [4, 1]], [[3, 1], [5, 0]], [[2, 2], [4, 1]], [[2, 1], [5, 1]]]
    )
    removed = np.maximum(data[:, None] - data, 0).sum(axis=(2, 3))
    messages = [_vote(mechanism, data[:, cube], cube) for cube in range(2)]
    return Randomizer(
        "", "cdp", model.epsilon, messages, len(data),
        neighbours=removed == 1, supremum=2 * mechanism.epsilon, note="the listed data sets approach the supremum",
    )  # fmt: skip


def _vote(mechanism: Exponential, counts: np.ndarray, cube: int = 0) -> Message:
    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        gumbels = streams.generator("counts", cube=cube).gumbel(size=(n, counts.shape[1]))
        return exponential_choices(counts[value], mechanism.coefficient, gumbels)

    return Message(mechanism, counts, send, (Integers(counts.shape[1]),), client="exponential_choices")


@builds(models.LabelCDPMean)
def label_mean(model: models.LabelCDPMean) -> Randomizer:
    """The mean of one cube; neighbours change one label between the ends of the range."""
    centre, bound = sum(Y_RANGE) / 2, (Y_RANGE[1] - Y_RANGE[0]) / 2
    labels = np.array([[-bound] * N_CUBE, [bound] + [-bound] * (N_CUBE - 1), [0.0] + [-bound] * (N_CUBE - 1)])
    model.truncation_ = bound
    sums = labels.sum(axis=1)
    scale = float(model._release(np.zeros(1), np.array([N_CUBE]), np.ones(1), N_CUBE, model.epsilon)[0])

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        unit = streams.generator("counts").laplace(size=n)
        return centre + model._release(np.full(n, sums[value]), np.full(n, N_CUBE), unit, N_CUBE, model.epsilon)

    message = real_message(Laplace(scale), sums / N_CUBE, send, client="LabelCDPMean._release")
    return Randomizer("", "label_cdp", model.epsilon, [message], len(labels))


@builds(models.CDPMean)
def record_mean(model: models.CDPMean) -> Randomizer:
    """The values of two of four cubes of about n_0 = 30 samples; neighbours move a record and change its label."""
    n, bound = 240, (Y_RANGE[1] - Y_RANGE[0]) / 2
    model.truncation_, model.cubes_ = bound, Cubes(4, 1)
    least = model._least(n)
    # A record with label -s leaves a cube of m records with label s, and comes with label -s' to m' - 1 with label s'.
    sizes = (int(least), int(least) + 1)
    moves = np.array(np.meshgrid(sizes, sizes, (-bound, bound), (-bound, bound), indexing="ij")).reshape(4, -1)
    m, other, s, other_s = moves
    before = np.array([[m, other - 1], [(m - 1) * s - s, (other - 1) * other_s]])
    after = np.array([[m - 1, other], [(m - 1) * s, (other - 1) * other_s - other_s]])
    counts, sums = np.concatenate([before, after], axis=2).swapaxes(1, 2)
    pair = np.tile(np.arange(m.size), 2)
    scale = bound * model._unit_scale(n) / model.epsilon

    def send(value: int, size: int, streams: Streams) -> np.ndarray:
        unit = streams.generator("counts").laplace(size=(size, 2))
        return model._release(sums[value], counts[value], unit, n, model.epsilon)

    message = real_message(Laplace(scale), sums / np.maximum(counts, least), send, client="CDPMean._release")
    neighbours = (pair[:, None] == pair) & ~np.eye(pair.size, dtype=bool)
    note = "the limit for large cubes is two thirds" if model.constants == "paper" else ""
    return Randomizer("", "cdp", model.epsilon, [message], pair.size, neighbours=neighbours, note=note)
