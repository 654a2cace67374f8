"""Devices of the methods with a public sample: residuals of a broadcast model, and cells of a public tree."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lpbench import estimators as models
from lpbench.audit.cell_devices import bit_sums, records_of_cells
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import BY_DEVICE, Path, Randomizer, message_of
from lpbench.audit.residual_devices import interview_about
from lpbench.audit.world import (
    LABELS,
    N_FEATURES,
    N_OTHERS,
    OTHERS_MASK,
    PUBLIC,
    SHOWN,
    USER_MASK,
    Y_RANGE,
    repeat,
    silent,
)
from lpbench.estimators.any_learner.classes import CODE, CodeQuestion
from lpbench.estimators.histoftree.cell_device import CELL, CellQuestion
from lpbench.estimators.private_labels import LABEL, REAL_BITS
from lpbench.estimators.public_sample.public_mean import PublicMean
from lpbench.estimators.public_sample.public_residual_gp import public_residuals, residual_model
from lpbench.estimators.public_sample.residual_score import score_bits
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.privacy import GRR, Records

#: Rows of the public sample; values of a class indicator.
N_PUBLIC, INDICATORS = 80, np.array([0.0, 1.0])


def _public_features() -> np.ndarray:
    return PUBLIC.generator("public").random((N_PUBLIC, N_FEATURES))


def _public_labels(X: np.ndarray) -> np.ndarray:
    return Y_RANGE[0] + 4.0 * X[:, 1] * X[:, 2]


@builds(models.PublicForestRegressor)
def public_regressor(model: models.PublicForestRegressor) -> Randomizer:
    """Private users are asked nothing."""
    return silent()


@builds(models.PublicResidualGP)
def residuals(model: models.PublicResidualGP) -> Randomizer:
    """The residual of the public prediction at the whole record, in the interview."""
    X = _public_features()
    public = PublicMean(X, _public_labels(X), PUBLIC)
    half = public.half_width(Y_RANGE)
    y = PUBLIC.generator("labels").uniform(*Y_RANGE, N_OTHERS + 1)
    fitted = residual_model(model.epsilon, (-half, half), PUBLIC)
    return interview_about(
        fitted, y, LABELS, lambda X, labels: public_residuals(labels, public.predict(X), half), public.bits
    )


@builds(models.ResidualScore)
def score_residuals(model: models.ResidualScore) -> Randomizer:
    """The indicator of a class less its public probability, in the interview; or the indicator itself."""
    if model.reports == "labels":
        records = Records(repeat(SHOWN, INDICATORS.size), INDICATORS.astype(int))
        message = message_of(CODE, CodeQuestion(GRR(float(model.epsilon), 2), 2), records)
        public_bits = REAL_BITS * float((~USER_MASK).sum())
        return Randomizer("", "semi_feature_ldp", model.epsilon, [message], INDICATORS.size, public_bits=public_bits)
    X = _public_features()
    public = PublicScore(X, (_public_labels(X) > 0).astype(int), 2, 0)
    users = np.vstack([PUBLIC.generator("others").random(OTHERS_MASK.shape), SHOWN])
    y = (PUBLIC.generator("labels").random(N_OTHERS + 1) > 0.5).astype(float)
    left = public_residuals(y, public.predict_proba(users)[:, 1], 1.0)
    fitted = residual_model(model.epsilon, (-1.0, 1.0), PUBLIC)
    # The audited user's public probability, which depends on protected features, may be anything.
    return interview_about(fitted, left, np.array([-1.0, 0.0, 1.0]), lambda X, residual: residual, score_bits(public))


@builds(models.LPDTRegressor)
def public_tree(model: models.LPDTRegressor) -> Randomizer:
    """The label, and the cell of a public tree among those that the shown feature allows."""
    return _label_and_cell(model, Y_RANGE, LABELS)


@builds(models.PublicTreeClassifier)
def public_tree_of_indicators(model: models.PublicTreeClassifier) -> Randomizer:
    """The indicator of a class, and the cell of the public tree."""
    return _label_and_cell(model.regressor(PUBLIC), (0.0, 1.0), INDICATORS)


def _label_and_cell(model: models.LPDTRegressor, y_range: tuple[float, float], labels: np.ndarray) -> Randomizer:
    setting = model._setting(model.get_params(deep=False), np.ones((1, N_FEATURES), dtype=bool), model.epsilon)
    X = _public_features()
    tree = model._grow((X, np.clip(_public_labels(X), *y_range)), N_FEATURES, PUBLIC)
    label_budget, cell_budget = setting.budgets(model.epsilon)
    model.y_range_, nothing = y_range, np.arange(0)
    question = CellQuestion(
        tree, setting.depth, nothing, np.arange(N_FEATURES), setting.bins, setting.mechanism, cell_budget
    )
    records, randomised = records_of_cells(question, USER_MASK)
    records = replace(records, y=np.tile(labels[[0, -1]], len(records) // 2))
    messages = [message_of(LABEL, model._label_question(label_budget), records)]
    if randomised:
        path = Path("BitSums.estimate", bit_sums) if setting.mechanism == "rr" else BY_DEVICE
        messages.append(message_of(CELL, question, records, path, path))
    return Randomizer(
        "",
        "semi_feature_ldp",
        model.epsilon,
        messages,
        len(records),
        public_bits=REAL_BITS * float((~USER_MASK).sum()),
        bits_down=(tree.n_leaves() - 1) * (REAL_BITS + math.ceil(math.log2(N_FEATURES))),
    )
