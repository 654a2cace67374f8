"""Devices of CalibratedScore (cell and class in one report) and of its public learner (silent)."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import Message, Randomizer
from lpbench.audit.world import N_FEATURES, silent
from lpbench.estimators.tuning_free.calibrated_score import vote_reports
from lpbench.privacy.payload import Integers
from lpbench.seeds import Streams

#: Cells and classes of the audited world; the channel of the report depends on their product alone.
N_CELLS, N_CLASSES = 4, 2


@builds(models.CalibratedScore)
def calibrated_votes(model: models.CalibratedScore) -> Randomizer:
    """One subset of (cell, class) pairs; the score and the cells are public, and are broadcast as cuts."""
    categories = np.arange(N_CELLS * N_CLASSES)
    mechanism = model._mechanism(categories.size)

    # The number of a subset, in the order of the channel.
    places = categories.size ** np.arange(mechanism.size)[::-1]
    subsets = np.array(list(combinations(categories, mechanism.size))) @ places

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        return np.searchsorted(subsets, vote_reports(np.full(n, value), mechanism, streams) @ places)

    message = Message(mechanism, categories, send, (Integers(subsets.size),), client="vote_reports")
    cut = 64.0 + math.ceil(math.log2(N_FEATURES))
    return Randomizer(
        "", "ldp", model.epsilon, [message], categories.size, bits_down=(N_CELLS - 1) * cut, keep="counts"
    )


@builds(models.PublicForest)
def public_forest(model: models.PublicForest) -> Randomizer:
    """Private users are not asked."""
    return silent()
