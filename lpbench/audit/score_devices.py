"""Devices of CalibratedScore (cell and class in one report) and of its public learner (silent)."""

from __future__ import annotations

import math

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import Randomizer, message_of
from lpbench.audit.world import N_FEATURES, PUBLIC, silent
from lpbench.estimators.tuning_free.subset_device import SUBSET
from lpbench.privacy import Records

#: Users, public rows and classes of the audited world.
N_USERS, N_PUBLIC, N_CLASSES = 1000, 60, 2


@builds(models.CalibratedScore)
def calibrated_votes(model: models.CalibratedScore) -> Randomizer:
    """One subset of (cell, class) pairs; the score and the cells are public, and are broadcast as cuts."""
    rng = PUBLIC.generator("others")
    X, codes = rng.random((N_USERS, N_FEATURES)), np.arange(N_USERS) % N_CLASSES
    model.set_params(classes=range(N_CLASSES), random_state=PUBLIC)
    sample = model._sample(X, codes, None, X[:N_PUBLIC], (X[:N_PUBLIC, 0] > 0.5).astype(int))
    question = model._question(model._design(sample))
    # One of the users in each cell in which there are any, with either class.
    _, first = np.unique(question.categories(np.zeros_like(codes), sample.probabilities, X), return_index=True)
    records = Records(np.repeat(X[first], N_CLASSES, axis=0), np.tile(np.arange(N_CLASSES), first.size))
    cut = 64.0 + math.ceil(math.log2(N_FEATURES))
    return Randomizer(
        "", "ldp", model.epsilon, [message_of(SUBSET, question, records)], len(records),
        bits_down=(model.n_cells_ - 1) * cut, keep="counts",
    )  # fmt: skip


@builds(models.PublicForest)
def public_forest(model: models.PublicForest) -> Randomizer:
    """Private users are not asked."""
    return silent()
