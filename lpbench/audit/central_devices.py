"""Releases of trusted curators of label DP: values are data sets that differ in one label or record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import Message, Randomizer, message_of
from lpbench.audit.world import Y_RANGE
from lpbench.estimators.label_dp.cubes import Cubes
from lpbench.estimators.label_dp.releases import CLASS_RELEASE, MEAN_RELEASE, ClassReleaseQuestion
from lpbench.privacy import Records

#: Samples in a cube of the audited data sets.
N_CUBE = 8


@builds(models.LabelCDPVote)
def label_vote(model: models.LabelCDPVote) -> Randomizer:
    """The class of one cube with N_CUBE samples of two classes; neighbours change one label."""
    question = _class_question(model)
    ones = np.arange(N_CUBE + 1)
    counts = np.column_stack([N_CUBE - ones, ones])
    neighbours = np.abs(ones[:, None] - ones) == 1
    return Randomizer(
        "", "label_cdp", model.epsilon, [_vote(question, counts)], ones.size,
        neighbours=neighbours, supremum=question.mechanism.epsilon, note="the listed data sets approach the supremum",
    )  # fmt: skip


@builds(models.CDPVote)
def record_vote(model: models.CDPVote) -> Randomizer:
    """The classes of two cubes; neighbours move a record from one to the other and may change its class."""
    question = _class_question(model)
    # (counts of the first cube, counts of the second), five records in all but one place.
    data = np.array(
        [[[4, 1], [4, 0]], [[4, 0], [5, 0]], [[4, 0], [4, 1]], [[3, 1], [5, 0]], [[2, 2], [4, 1]], [[2, 1], [5, 1]]]
    )
    removed = np.maximum(data[:, None] - data, 0).sum(axis=(2, 3))
    messages = [_vote(question, data[:, cube], cube) for cube in range(2)]
    return Randomizer(
        "", "cdp", model.epsilon, messages, len(data),
        neighbours=removed == 1, supremum=CLASS_RELEASE.budget(question),
        note="the listed data sets approach the supremum",
    )  # fmt: skip


def _class_question(model: models.LabelCDPVote) -> ClassReleaseQuestion:
    model.classes_, model.cubes_ = np.arange(2), Cubes(1, 1)
    return model._question()


def _vote(question: ClassReleaseQuestion, counts: np.ndarray, cube: int = 0) -> Message:
    """The release of one cube; another cube draws from another stream."""
    return message_of(CLASS_RELEASE, replace(question, bins=1 + cube), Records(counts, np.empty(len(counts))))


@builds(models.LabelCDPMean)
def label_mean(model: models.LabelCDPMean) -> Randomizer:
    """The mean of one cube; neighbours change one label between the ends of the range."""
    bound = (Y_RANGE[1] - Y_RANGE[0]) / 2
    labels = np.array([[-bound] * N_CUBE, [bound] + [-bound] * (N_CUBE - 1), [0.0] + [-bound] * (N_CUBE - 1)])
    model.truncation_ = bound
    model.cubes_ = Cubes(1, 1)
    records = Records(np.column_stack([labels.sum(axis=1), [N_CUBE] * len(labels)]), np.empty(len(labels)))
    message = message_of(MEAN_RELEASE, model._question(N_CUBE), records)
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
    question = model._question(n)
    # The values of either cube are a message, with noise of its own.
    messages = [
        message_of(
            MEAN_RELEASE,
            replace(question, bins=1 + cube),
            Records(np.column_stack([sums[:, cube], counts[:, cube]]), np.empty(len(sums))),
        )
        for cube in range(2)
    ]
    neighbours = (pair[:, None] == pair) & ~np.eye(pair.size, dtype=bool)
    note = "the limit for large cubes is two thirds" if model.constants == "paper" else ""
    return Randomizer("", "cdp", model.epsilon, messages, pair.size, neighbours=neighbours, note=note)
