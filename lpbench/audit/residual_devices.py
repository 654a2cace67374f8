"""Devices of the interview of ResidualGP: one report of a residual, alone or with the bin of a protected feature."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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


#: (features, labels of the devices) -> the numbers that devices are asked for.
OnDevice = Callable[[np.ndarray, np.ndarray], np.ndarray]


@builds(models.ResidualGP)
def interview(model: models.ResidualGP) -> Randomizer:
    """A user in each of the groups; what a group is asked depends on the reports of all groups before it."""
    fitted = models.ResidualGP(**model.get_params()).set_params(y_range=Y_RANGE, random_state=PUBLIC)
    rng = PUBLIC.generator("others")
    rng.random(OTHERS_MASK.shape)  # the features
    return interview_about(fitted, rng.uniform(*Y_RANGE, N_OTHERS + 1), LABELS, lambda X, labels: labels)


def interview_about(
    fitted: models.ResidualGP, y: np.ndarray, audited: np.ndarray, on_device: OnDevice, bits_down: float = 0.0
) -> Randomizer:
    """The interview about numbers that devices compute from their records.

    Parameters
    ----------
    fitted : ResidualGP
        With the public range of these numbers.
    y : ndarray of shape (N_OTHERS + 1,)
        Labels of all users.
    audited : ndarray
        Protected labels that are compared.
    on_device : callable
    bits_down : float
        Broadcast beside the questions.
    """
    asked = list(_questions(fitted, y, on_device))
    return asked_once(
        "semi_feature_ldp",
        fitted.epsilon,
        [_message(question, audited, on_device) for question in asked],
        public_bits=REAL_BITS * float((~USER_MASK).sum()),
        bits_down=bits_down + max(question.bits_down for question in asked),
        note="each user belongs to one group; the groups are asked one after the other",
    )


def _message(question: Question, audited: np.ndarray, on_device: OnDevice) -> Message:
    """Protected values: the audited labels in every bin of the protected feature that goes along."""
    own, labels = np.repeat(np.arange(question.bins), audited.size), np.tile(audited, question.bins)
    X = repeat(SHOWN, labels.size)
    X[:, max(question.column, 0)] = (own + 0.5) / question.bins
    return message_of(RESIDUAL, question, Records(X, on_device(X, labels)))


def _questions(fitted: models.ResidualGP, y: np.ndarray, on_device: OnDevice) -> Iterator[Question]:
    """What the audited user would be asked in each group, and in a joint report."""
    X = np.vstack([PUBLIC.generator("others").random(OTHERS_MASK.shape), SHOWN])
    y = on_device(X, y)
    sample = fitted._sample(X, y, np.vstack([OTHERS_MASK, USER_MASK]))
    curator, audited = fitted._curator(sample), np.array([N_OTHERS])
    for question in curator.questions():
        yield curator.question(audited, question.column, question.bins)
        users = question.users
        curator.learn(question, RESIDUAL.report(Records(X[users], y[users]), question, sample.draws[:, users]))
    if fitted.report == "levels" and fitted.ask_hidden:
        yield curator.question(audited, 0, BINS)
