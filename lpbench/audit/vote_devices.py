"""Devices of LPCT, PHIST and Hist (noisy one-hot tables), PGLM (noisy moments) and PSGD (randomised gradients)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import BY_DEVICE, Message, Path, Randomizer, message_of
from lpbench.audit.world import LABELS, N_FEATURES, PUBLIC, SHOWN, Y_RANGE, repeat, silent, unprotected
from lpbench.estimators.baselines.hist import CELL, CellQuestion, NoisyGrid
from lpbench.estimators.baselines.pglm import MOMENTS, MomentQuestion
from lpbench.estimators.lpct.algorithm2 import vote_terms
from lpbench.estimators.lpct.sweep import swept_votes
from lpbench.estimators.lpct.votes import SECOND_VOTE, VOTE, VoteQuestion
from lpbench.partitions import GridCells, TreeCells, TreePartition, grow_max_edge
from lpbench.privacy import Records
from lpbench.seeds import Streams

#: Cells of the audited partitions; two are enough for the worst case.
N_CELLS = 2
#: How fit comes by the votes of LPCT and of LPCT-prune.
SUM_OF_VOTES = Path("noisy_votes", VOTE.sums)
#: Bits of one broadcast cut: feature and threshold.
_CUT_BITS = 64.0 + math.ceil(math.log2(N_FEATURES))
#: Users behind the failure probability 1 / n^2 of PGLM.
N_USERS = 1000


def vote_records(places: np.ndarray) -> Records:
    """Two classes at each of the places (n, d), which stand for the cells."""
    return Records(np.repeat(places, 2, axis=0), np.tile([0, 1], len(places)))


def two_leaves() -> tuple[TreePartition, Records]:
    """A public partition of two leaves, and records of both classes in either of them."""
    nobody = np.empty((0, N_FEATURES))
    tree = grow_max_edge(nobody, np.empty(0), 1, rule="random", rng=PUBLIC.generator("tree"))
    places = repeat(SHOWN, N_CELLS)
    places[:, tree.feature[0]] = tree.threshold[0] / 2, (1 + tree.threshold[0]) / 2
    return tree, vote_records(places)


def votes(claimed: float, messages: Sequence[Message], bits_down: float = 0.0) -> Randomizer:
    """A method whose users send tables of votes."""
    return Randomizer("", "ldp", claimed, messages, 2 * N_CELLS, bits_down=bits_down, keep="sums")


@builds(models.LPCT)
def tree_votes(model: models.LPCT) -> Randomizer:
    """One table in the cells of the public partition; nothing for LPCT-Q."""
    if model.source == "public":
        return silent()
    model.classes_ = np.arange(2)
    tree, records = two_leaves()
    fit = BY_DEVICE if model.noise == "per_user" else SUM_OF_VOTES
    sweep = BY_DEVICE if model.noise == "per_user" else Path("forest_votes", swept_votes)
    return votes(model.epsilon, [message_of(VOTE, model._question(tree, 1), records, fit, sweep)], _CUT_BITS)


@builds(models.LPCTPrune)
def pruned_tree_votes(model: models.LPCTPrune) -> Randomizer:
    """One table with the whole budget, or two with half of it each (Algorithm 2's flag raised)."""
    tree, records = two_leaves()
    messages = []
    for second in (False, True) if model.terminate else (False,):
        question = VoteQuestion(TreeCells(tree, 1), 2, *vote_terms(model, 1, second))
        device = SECOND_VOTE if second else VOTE
        # A sweep prunes by the code of fit.
        messages.append(message_of(device, question, records, SUM_OF_VOTES, SUM_OF_VOTES))
    return votes(model.epsilon, messages, _CUT_BITS * len(messages))


@builds(models.PHIST, models.LDPVote)
def histogram_votes(model: models.PHIST | models.LDPVote) -> Randomizer:
    """One table in the cells of an equal grid."""
    inner = models.PHIST(model.epsilon, 2, noise=getattr(model, "noise", "laplace"))
    inner.classes_ = np.arange(2)
    question = inner._question(1)
    centres = GridCells(inner.bins, 1).centres()

    def table(records: Records, question: VoteQuestion, streams: Streams) -> np.ndarray:
        """Noisy votes of all cells as fit and sweep look them up."""
        return inner._histogram(records.X, records.y, streams).at(centres).ravel()

    def swept(records: Records, question: VoteQuestion, streams: Streams) -> np.ndarray:
        """Noisy votes as a sweep reads them, from one look-up for all budgets."""
        return inner._swept(*lookup(inner._histogram(records.X, records.y, streams), centres)).ravel()

    fit = Path("NoisyGrid.at", table)
    sweep = Path("PHIST._swept", swept) if type(model) is models.PHIST and inner.noise == "laplace" else fit
    return votes(model.epsilon, [message_of(VOTE, question, vote_records(centres), fit, sweep)])


def lookup(grid: NoisyGrid, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """True sums and unit noise of the cells, of a histogram that was not pickled."""
    assert grid.source is not None
    return grid.source.lookup(centres)


@builds(models.Hist, models.LDPMean)
def noisy_histogram(model: models.Hist | models.LDPMean) -> Randomizer:
    """One-hot vector of the cell, and the centred label times that vector."""
    inner = models.Hist(model.epsilon, noise=getattr(model, "noise", "laplace"))
    inner.y_range_ = Y_RANGE
    questions = inner._questions(1)
    records = Records(np.repeat(questions[0].cells.centres(), LABELS.size, axis=0), np.tile(LABELS, N_CELLS))

    def table(records: Records, question: CellQuestion, streams: Streams) -> np.ndarray:
        """Noisy sums of all cells as fit and sweep look them up, for one of the two statistics."""
        noisy = inner._histogram(records.X, records.y, streams).at(question.cells.centres())
        return noisy[questions.index(question)]

    def swept(records: Records, question: CellQuestion, streams: Streams) -> np.ndarray:
        """Noisy sums as a sweep reads them, from one look-up for all budgets, for one of the two statistics."""
        grid = inner._histogram(records.X, records.y, streams)
        return inner._swept(*lookup(grid, question.cells.centres()))[questions.index(question)]

    fit = Path("NoisyGrid.at", table)
    sweep = Path("Hist._swept", swept) if type(model) is models.Hist and inner.noise == "laplace" else fit
    messages = [message_of(CELL, question, records, fit, sweep) for question in questions]
    return Randomizer("", "ldp", model.epsilon, messages, len(records), keep="sums")


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
    records = Records(np.repeat(corners[[0, 1, 7]], 2, axis=0), np.tile([0, 1], 3))
    path = Path("Moments.collect", MOMENTS.sums)
    message = message_of(MOMENTS, MomentQuestion(mechanism, N_FEATURES), records, path, path)
    return Randomizer("", "ldp", model.epsilon, [message], len(records), delta=mechanism.delta, keep="sums")
