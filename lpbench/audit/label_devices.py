"""Devices whose label is randomised: tree baselines, KRR, the floors, nearest neighbours and votes of label DP."""

from __future__ import annotations

from typing import Any

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import Message, Path, Randomizer, message_of
from lpbench.audit.world import LABELS, N_FEATURES, SHOWN, USER_MASK, Y_RANGE, repeat, unprotected
from lpbench.estimators.baselines.krr import FEATURE
from lpbench.estimators.label_dp.cubes import Cubes
from lpbench.estimators.private_classes import CLASS
from lpbench.estimators.private_labels import LABEL, REAL_BITS
from lpbench.privacy import Records

#: Classes of the audited classification problems.
N_CLASSES = 3


def label_message(model: Any, labels: np.ndarray = LABELS, **options: Any) -> Message:
    """The label, by the question that the estimator asks and the device that all regression methods share."""
    model.y_range_ = Y_RANGE
    return message_of(LABEL, model._label_question(**options), Records(repeat(SHOWN, labels.size), labels))


def class_records() -> Records:
    """One record of each class."""
    return Records(repeat(SHOWN, N_CLASSES), np.arange(N_CLASSES))


@builds(models.LabelDT)
def label_tree(model: models.LabelDT) -> Randomizer:
    """All features in the clear, one label."""
    message = label_message(model)
    return Randomizer("", "label_ldp", model.epsilon, [message], LABELS.size, public_bits=REAL_BITS * N_FEATURES)


@builds(models.ParDT)
def public_tree(model: models.ParDT) -> Randomizer:
    """The features that the user does not protect, one label; protected features never leave the device."""
    message = label_message(model)
    public = REAL_BITS * float((~USER_MASK).sum())
    return Randomizer("", "semi_feature_ldp", model.epsilon, [message], LABELS.size, public_bits=public)


@builds(models.PrivateMean)
def private_mean(model: models.PrivateMean) -> Randomizer:
    """One label and nothing else."""
    return Randomizer("", "ldp", model.epsilon, [label_message(model)], LABELS.size, keep="sums")


@builds(models.KRR)
def randomised_features(model: models.KRR) -> Randomizer:
    """Bins of the protected features and the label; what every part of the record gets is composed."""
    columns = np.flatnonzero(USER_MASK)
    centres = (np.arange(model.bins) + 0.5) / model.bins
    axes = [*[centres] * columns.size, LABELS[[0, -1]]]
    every = np.array(np.meshgrid(*axes, indexing="ij")).reshape(len(axes), -1)
    X, parts = repeat(SHOWN, every.shape[1]), 1 + columns.size
    X[:, columns] = every[:-1].T
    (of_label, split), records = (int(part) for part in model._divide(np.array(columns.size))), Records(X, every[-1])
    model.y_range_ = Y_RANGE
    asked = [model._feature_question(int(column), np.zeros(1, dtype=int), split, N_FEATURES) for column in columns]
    messages = [message_of(LABEL, model._label_question(of_label), records)]
    messages += [message_of(FEATURE, question, records) for question in asked]
    claimed = model.epsilon * (parts if model.budget == "per_attribute" else 1)
    public = REAL_BITS * float((~USER_MASK).sum())
    return Randomizer("", "semi_feature_ldp", claimed, messages, len(records), public_bits=public)


@builds(models.PrivateMajority)
def private_majority(model: models.PrivateMajority) -> Randomizer:
    """One class by generalised randomised response."""
    model.classes_ = np.arange(N_CLASSES)
    message = message_of(CLASS, model._question(), class_records())
    return Randomizer("", "ldp", model.epsilon, [message], N_CLASSES, keep="counts")


@builds(models.LabelLDPVote)
def label_vote(model: models.LabelLDPVote) -> Randomizer:
    """One class as a bit vector (label-DP eq. (13)) or by K-ary randomised response; features are public."""
    model.classes_, model.cubes_ = np.arange(N_CLASSES), Cubes(1, N_FEATURES)
    path = Path("ClassDevice.sum_of_reports", CLASS.sums)
    message = message_of(CLASS, model._question(), class_records(), path, path)
    return Randomizer("", "label_ldp", model.epsilon, [message], N_CLASSES, public_bits=REAL_BITS * N_FEATURES)


@builds(models.LabelLDPKNN)
def neighbours(model: models.LabelLDPKNN) -> Randomizer:
    """One label, clipped to [-T, T] about the centre first; T is public. Heavy tails: T = 2 and labels beyond it."""
    centre = sum(Y_RANGE) / 2
    model.truncation_ = 2.0
    labels = LABELS if model.moment is None else np.array([-40.0, centre, 40.0])
    message = label_message(model, labels, centre=centre)
    return Randomizer("", "label_ldp", model.epsilon, [message], labels.size, public_bits=REAL_BITS * N_FEATURES)


@builds(models.DT, models.KNNMean, models.CubeMean, models.CubeVote)
def reference(model: models.DT | models.KNNMean | models.CubeMean | models.CubeVote) -> Randomizer:
    """References without protection."""
    return unprotected()
