"""Devices of labels that any learner is fitted to: plain questions, and those that follow from a prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.label_devices import N_CLASSES, class_records
from lpbench.audit.randomizers import Message, Randomizer, asked_once, message_of
from lpbench.audit.world import LABELS, SHOWN, USER_MASK, Y_RANGE, repeat
from lpbench.estimators.any_learner.classes import CODE, CodeQuestion
from lpbench.estimators.any_learner.numbers import NUMBER, bell, prior_question
from lpbench.estimators.private_labels import REAL_BITS
from lpbench.privacy import Records

#: Prior of the audited classes, for which two of the three are reported at the audited budget.
CLASS_PRIOR = (0.5, 0.45, 0.05)
_PUBLIC_BITS = REAL_BITS * float((~USER_MASK).sum())


@builds(models.PrivateLabelsRegressor)
def number_labels(model: models.PrivateLabelsRegressor) -> Randomizer:
    """One label; where a prior is asked for, a user of either group."""
    model.y_range_ = Y_RANGE
    records = Records(repeat(SHOWN, LABELS.size), LABELS)
    if model._share() == 0:
        return _alone(model, message_of(NUMBER, model._question(), records), LABELS.size)
    questions = [prior_question(Y_RANGE, model.epsilon), model._question(bell())]
    return _grouped(model, [message_of(NUMBER, question, records) for question in questions])


@builds(models.PrivateLabelsClassifier)
def class_labels(model: models.PrivateLabelsClassifier) -> Randomizer:
    """One class; where a prior is asked for, a user of either group."""
    model.classes_ = np.arange(N_CLASSES)
    question = model._question()
    plain = message_of(CODE, question, class_records())
    if model._share() == 1:
        return _alone(model, plain, N_CLASSES)
    asked = CodeQuestion(question.mechanism, N_CLASSES, np.array([CLASS_PRIOR]), "class report with prior")
    return _grouped(model, [plain, message_of(CODE, asked, class_records())])


def _alone(model: Any, message: Message, n_values: int) -> Randomizer:
    return Randomizer("", "semi_feature_ldp", model.epsilon, [message], n_values, public_bits=_PUBLIC_BITS)


def _grouped(model: Any, parts: Sequence[Message]) -> Randomizer:
    named = [replace(part, client=part.device) for part in parts]
    return asked_once(
        "semi_feature_ldp", model.epsilon, named, public_bits=_PUBLIC_BITS,
        note="each user belongs to one group: asked for the prior, or with the prior",
    )  # fmt: skip
