"""Devices of LPCT, PHIST and Hist (noisy one-hot tables), PGLM (noisy moments) and PSGD (randomised gradients)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import Message, Randomizer
from lpbench.audit.world import LABELS, N_FEATURES, Y_RANGE, repeat, silent, unprotected
from lpbench.estimators.baselines.pglm import unit_rows
from lpbench.estimators.lpct.votes import VoteMechanism, one_hot_votes
from lpbench.privacy import DiscreteLaplace, Laplace
from lpbench.privacy.payload import GridPoints, Reals, grid_reach, table_fields
from lpbench.seeds import Streams

#: Cells of the audited partitions; two are enough for the worst case.
N_CELLS = 2
#: Bits of one broadcast cut: feature and threshold.
_CUT_BITS = 64.0 + math.ceil(math.log2(N_FEATURES))
#: Users behind the failure probability 1 / n^2 of PGLM.
N_USERS = 1000


def vote_messages(mechanism: VoteMechanism, n_cells: int, round: int = 1) -> list[Message]:
    """One noisy table of votes; the protected values are all (cell, class) pairs."""
    cells, codes = np.divmod(np.arange(2 * n_cells), 2)
    tables = one_hot_votes(cells, codes, n_cells, 2)

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        rng = streams.generator("counts", query=round)
        return mechanism.randomize(repeat(tables[value], n), rng).reshape(n, -1)

    inputs = tables.reshape(len(tables), -1)
    return [
        Message(mechanism.half, inputs.astype(np.float64), send, table_fields(mechanism.half, inputs.shape[1]), round)
    ]


def votes(claimed: float, messages: Sequence[Message], bits_down: float = 0.0) -> Randomizer:
    """A method whose users send tables of votes."""
    return Randomizer("", "ldp", claimed, messages, 2 * N_CELLS, bits_down=bits_down, keep="sums")


@builds(models.LPCT)
def tree_votes(model: models.LPCT) -> Randomizer:
    """One table in the cells of the public partition; nothing for LPCT-Q."""
    if model.source == "public":
        return silent()
    return votes(model.epsilon, vote_messages(model._mechanism(model.epsilon), N_CELLS), _CUT_BITS * (N_CELLS - 1))


@builds(models.LPCTPrune)
def pruned_tree_votes(model: models.LPCTPrune) -> Randomizer:
    """One table with the whole budget, or two with half of it each (Algorithm 2's flag raised)."""
    if not model.terminate:
        return votes(model.epsilon, vote_messages(VoteMechanism(model.epsilon), N_CELLS), _CUT_BITS * (N_CELLS - 1))
    halves = [vote_messages(VoteMechanism(model.epsilon / 2), N_CELLS, round)[0] for round in (1, 2)]
    return votes(model.epsilon, halves, 2 * _CUT_BITS * (N_CELLS - 1))


@builds(models.PHIST, models.LDPVote)
def histogram_votes(model: models.PHIST | models.LDPVote) -> Randomizer:
    """One table in the cells of an equal grid."""
    kind = getattr(model, "noise", "laplace")
    return votes(model.epsilon, vote_messages(VoteMechanism(model.epsilon, kind), N_CELLS))


@builds(models.Hist, models.LDPMean)
def noisy_histogram(model: models.Hist | models.LDPMean) -> Randomizer:
    """One-hot vector of the cell, and the centred label times that vector."""
    inner = models.Hist(model.epsilon, noise=getattr(model, "noise", "laplace"))
    inner.y_range_ = Y_RANGE
    plain, grid = [Laplace(scale) for scale in inner._scales()], inner.noise == "discrete"
    mechanisms: Sequence[Laplace | DiscreteLaplace] = inner._on_grid() if grid else plain
    cells, labels = np.divmod(np.arange(LABELS.size * N_CELLS), LABELS.size)
    one_hot = np.eye(N_CELLS)[cells]
    products = one_hot * (LABELS[labels] - sum(Y_RANGE) / 2)[:, None]
    messages = [
        _histogram_message(*message)
        for message in zip(mechanisms, (one_hot, products), ("marginal", "joint"), strict=True)
    ]
    return Randomizer("", "ldp", model.epsilon, messages, cells.size, keep="sums")


def _histogram_message(mechanism: Laplace | DiscreteLaplace, inputs: np.ndarray, purpose: str) -> Message:
    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        return mechanism.randomize(repeat(inputs[value], n), streams.generator("counts", statistic=purpose))

    entries = inputs.shape[1]
    if isinstance(mechanism, Laplace):
        return Message(mechanism, inputs, send, (Reals(entries),))
    reach = grid_reach(np.abs(inputs).max() + mechanism.step, mechanism.scale, mechanism.step)
    return Message(mechanism, inputs, send, (GridPoints(mechanism.step, reach, entries),))


@builds(models.CT)
def plain_tree(model: models.CT) -> Randomizer:
    """CT-W is not protected; CT-Q asks nothing."""
    return silent() if model.sample == "public" else unprotected()


@builds(models.PGLM)
def noisy_moments(model: models.PGLM) -> Randomizer:
    """(x x^T, x y) with Gaussian noise; the entries below the diagonal repeat those above once symmetrised."""
    mechanism = model._mechanism(N_USERS)
    # The corners (0, ..., 0) and (1, 1, 1) meet at the angle that attains the sensitivity.
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * N_FEATURES, indexing="ij")).reshape(N_FEATURES, -1).T
    rows = np.repeat(unit_rows(corners[[0, 1, 7]]), 2, axis=0)
    signs = np.tile([-1.0, 1.0], 3)
    width = rows.shape[1]
    moments = np.concatenate([rows[:, :, None] * rows[:, None, :], (rows * signs[:, None])[:, None, :]], axis=1)
    above = np.triu_indices(width)

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        report = mechanism.randomize(repeat(moments[value], n), streams.generator("moments"))
        square = (report[:, :width] + report[:, :width].swapaxes(1, 2)) / 2
        return np.hstack([square[:, above[0], above[1]], report[:, width]])

    fields = (Reals(above[0].size + width),)
    message = Message(mechanism, moments.reshape(len(moments), -1), send, fields)
    return Randomizer("", "ldp", model.epsilon, [message], signs.size, delta=mechanism.delta, keep="sums")
