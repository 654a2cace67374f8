"""Known-bad versions of the methods with a public sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lpbench.audit.mutants import FULL_BUDGET, Mutant, during, halved_label, twice_the_levels_budget, wrapped
from lpbench.privacy import GRR

_INDICATORS, _PUBLIC_GP = "public_sample.indicators.IndicatorClassifier", "public_sample.public_residual_gp"


def _private_for_public(check: Callable) -> Callable:
    """Take the first private rows for the public sample."""
    return lambda self, X, y, mask=None, X_public=None, y_public=None: check(self, X, y, mask, X[:60], y[:60])


def _private_rows_given(fit: Callable) -> Callable:
    """The same in ``fit``."""

    def fits(self: Any, X: np.ndarray, y: np.ndarray, **others: Any) -> Any:
        return fit(self, X, y, **{**others, "X_public": X[:60], "y_public": y[:60]})

    return fits


def _width_of_private(prepare: Callable) -> Callable:
    """Ask for residuals on the scale of the private ones."""

    def prepares(self: Any, *args: Any, **others: Any) -> Any:
        found = prepare(self, *args, **others)
        half = 2.0 * float(found.labels.std()) + 1e-3
        return replace(found, labels=np.clip(found.labels, -half, half), y_range=(-half, half))

    return prepares


def _asked_at_twice_the_budget(ask: Callable) -> Callable:
    """Randomise indicators at twice the budget."""

    def asks(codes: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        mechanism = GRR(2.0 * question.mechanism.budget, question.n_classes)
        return ask(codes, users, replace(question, mechanism=mechanism), streams)

    return asks


PUBLIC_SAMPLES: dict[str, Mutant] = {
    "lpdt_private_tree": Mutant(
        "lpdt_regressor", "the tree is grown from private rows",
        (wrapped("public_sample.lpdt.LPDTRegressor.fit", _private_rows_given),),
    ),
    "lpdt_whole_epsilon": Mutant(
        "lpdt_regressor", "the label gets the whole budget, and then the cell its share",
        (during("public_sample.lpdt.LPDTRegressor.fit", FULL_BUDGET),),
    ),
    "histoftree_public_label_scale_halved": Mutant(
        "histoftree_public", "the label's noise has half the scale",
        (wrapped("private_labels.LabelDevice.report", halved_label),),
    ),
    "public_tree_private_tree": Mutant(
        "public_tree_classifier", "the tree is grown from private rows",
        (wrapped("public_sample.lpdt.LPDTRegressor.fit", _private_rows_given),),
    ),
    "public_residual_gp_private_forest": Mutant(
        "public_residual_gp", "the broadcast forests are grown from private rows",
        (wrapped(f"{_PUBLIC_GP}.PublicResidualGP._prepare", _private_for_public),),
    ),
    "public_residual_gp_width_from_labels": Mutant(
        "public_residual_gp", "residuals are asked for on the scale of the private ones",
        (wrapped(f"{_PUBLIC_GP}.PublicResidualGP._prepare", _width_of_private),),
    ),
    "public_residual_gp_twice_the_budget": Mutant(
        "public_residual_gp", "levels are drawn at twice the budget",
        (during(
            f"{_PUBLIC_GP}.PublicResidualGP._fit",
            wrapped("tuning_free.interview.ResidualDevice.report", twice_the_levels_budget),
        ),),
    ),
    "residual_score_private_forest": Mutant(
        "residual_score", "the broadcast score is that of private rows",
        (wrapped(f"{_INDICATORS}._sample", _private_for_public),),
    ),
    "residual_score_twice_the_budget": Mutant(
        "residual_score", "levels are drawn at twice the budget",
        (during(
            f"{_INDICATORS}._fit",
            wrapped("tuning_free.interview.ResidualDevice.report", twice_the_levels_budget),
        ),),
    ),
    "residual_score_labels_twice_the_budget": Mutant(
        "residual_score[variant=second]", "indicators are randomised at twice the budget",
        (during(
            f"{_INDICATORS}._fit",
            wrapped("public_sample.class_process.ask_classes", _asked_at_twice_the_budget),
        ),),
    ),
}  # fmt: skip
