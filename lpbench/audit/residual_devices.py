"""Devices of the interview of ResidualGP: one report of a residual, alone or with the bin of a protected feature."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import Message, Randomizer, asked_once, message_of
from lpbench.audit.world import LABELS, N_OTHERS, OTHERS_MASK, PUBLIC, SHOWN, USER_MASK, Y_RANGE, repeat
from lpbench.estimators.private_labels import REAL_BITS
from lpbench.estimators.tuning_free.interview import RESIDUAL, Question
from lpbench.privacy import Records

#: Bins of the joint report, which is audited whether or not the method would ask for it at the audited budget.
BINS = 2


@builds(models.ResidualGP)
def interview(model: models.ResidualGP) -> Randomizer:
    """A user in each of the groups; what a group is asked depends on the reports of all groups before it."""
    asked = list(_questions(model))
    return asked_once(
        "semi_feature_ldp",
        model.epsilon,
        [_message(question) for question in asked],
        public_bits=REAL_BITS * float((~USER_MASK).sum()),
        bits_down=max(question.bits_down for question in asked),
        note="each user belongs to one group; the groups are asked one after the other",
    )


def _message(question: Question) -> Message:
    """Protected values: the audited labels in every bin of the protected feature that goes along."""
    own, labels = np.repeat(np.arange(question.bins), LABELS.size), np.tile(LABELS, question.bins)
    X = repeat(SHOWN, labels.size)
    X[:, max(question.column, 0)] = (own + 0.5) / question.bins
    return message_of(RESIDUAL, question, Records(X, labels))


def _questions(model) -> Iterator[Question]:
    """What the audited user would be asked in each group, and in a joint report."""
    rng = PUBLIC.generator("others")
    X = np.vstack([rng.random(OTHERS_MASK.shape), SHOWN])
    y = rng.uniform(*Y_RANGE, N_OTHERS + 1)
    fitted = models.ResidualGP(**model.get_params()).set_params(y_range=Y_RANGE, random_state=PUBLIC)
    sample = fitted._sample(X, y, np.vstack([OTHERS_MASK, USER_MASK]))
    curator, audited = fitted._curator(sample), np.array([N_OTHERS])
    for question in curator.questions():
        yield curator.question(audited, question.column, question.bins)
        users = question.users
        curator.learn(question, RESIDUAL.report(Records(X[users], y[users]), question, sample.draws[:, users]))
    if model.report == "levels" and model.ask_hidden:
        yield curator.question(audited, 0, BINS)
