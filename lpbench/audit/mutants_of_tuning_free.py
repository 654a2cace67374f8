"""Known-bad versions of ResidualGP and CalibratedScore."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lpbench.audit.mutants import (
    Change,
    Mutant,
    during,
    scaled_epsilon,
    twice_the_levels_budget,
    with_raw_labels,
    wrapped,
)


def _question(**changed: Callable[[Any, Any], Any]) -> Change:
    """ResidualGP's answers see another question than the honest curator asks."""

    def make(ask: Callable) -> Callable:
        def asks(self: Any, records: Any, question: Any, draws: np.ndarray) -> np.ndarray:
            new = {name: change(question, records.y) for name, change in changed.items()}
            return ask(self, records, replace(question, **new), draws)

        return asks

    return during(
        "tuning_free.residual_gp.ResidualGP._fit", wrapped("tuning_free.interview.ResidualDevice.report", make)
    )


def _sorted_groups(plan: Callable) -> Callable:
    """Order the users of the interview by their labels."""

    def planned(self: Any, sample: Any) -> Any:
        return plan(self, replace(sample, order=np.argsort(sample.y, kind="stable")))

    return planned


def _asked_twice(plan: Callable) -> Callable:
    """Ask the first group of the interview again at the end."""

    def planned(self: Any, *args: Any) -> Any:
        groups = plan(self, *args)
        return [*groups, groups[0]]

    return planned


def _true_targets(fit: Callable) -> Callable:
    """Grow ResidualGP's forest on true labels."""

    def fits(self: Any, sample: Any, curator: Any) -> None:
        noisy, curator.targets = curator.targets, sample.y.copy()
        fit(self, sample, curator)
        curator.targets = noisy

    return fits


def _by_minority(make_cells: Callable) -> Callable:
    """Cut CalibratedScore's cells at the share of private users in the rarer class."""

    def makes(self: Any, sample: Any) -> Any:
        rare = int(np.bincount(sample.codes, minlength=2).min())
        return make_cells(self, replace(sample, codes=sample.codes[: max(2, rare)]))

    return makes


def _exact_shares(posteriors: Callable) -> Callable:
    """Take CalibratedScore's counts from the true categories."""

    def computes(self: Any, sample: Any, counts: np.ndarray, mechanism: Any) -> Any:
        cells = self._locate(sample.probabilities, sample.X)
        exact = np.bincount(cells, minlength=counts.shape[0]) / cells.size * counts.sum()
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        return posteriors(self, sample, exact[:, None] * share, mechanism)

    return computes


def _twice(ask: Callable) -> Callable:
    return lambda *args, **kwargs: (ask(*args, **kwargs), ask(*args, **kwargs))[1]


def _halved_draws(sample_of: Callable) -> Callable:
    """Halve the users' uniforms and noise before anybody is asked."""

    def samples(self: Any, *args: Any) -> Any:
        sample = sample_of(self, *args)
        return replace(sample, draws=sample.draws / 2.0)

    return samples


def _private_forest(sample_of: Callable) -> Callable:
    """Let devices find their cells by a forest on private rows."""

    def samples(self: Any, *args: Any, **others: Any) -> Any:
        sample = sample_of(self, *args, **others)
        score = type(sample.score)(sample.X, sample.codes, self.classes_.size, sample.seed)
        return replace(sample, probabilities=score.predict_proba(sample.X))

    return samples


TUNING_FREE: dict[str, Mutant] = {
    "residual_gp_interval_from_labels": Mutant(
        "residual_gp", "the interval's width is the standard deviation of the true labels",
        (_question(half_width=lambda question, y: np.full(y.size, 2.0 * y.std() + 1e-3)),),
    ),
    "residual_gp_range_from_labels": Mutant(
        "residual_gp", "the range of the first question is that of the true labels",
        (wrapped("base.LocalRegressor._public_range", with_raw_labels),),
    ),
    "residual_gp_groups_by_label": Mutant(
        "residual_gp", "who is asked first depends on the label",
        (wrapped("tuning_free.residual_gp.ResidualGP._fit", _sorted_groups),),
    ),
    "residual_gp_levels_at_twice_the_budget": Mutant(
        "residual_gp", "the levels are randomised at twice the budget",
        (wrapped("tuning_free.interview.ResidualDevice.report", twice_the_levels_budget),),
    ),
    "residual_gp_group_asked_twice": Mutant(
        "residual_gp", "the first group is asked again",
        (wrapped("tuning_free.interview.Curator._groups", _asked_twice),),
    ),
    "residual_gp_forest_on_true_labels": Mutant(
        "residual_gp", "the forest is grown on true labels",
        (wrapped("tuning_free.residual_gp.ResidualGP._fit_forest", _true_targets),),
    ),
    "calibrated_score_asked_twice": Mutant(
        "calibrated_score", "every user is asked twice",
        (during(
            "tuning_free.calibrated_score.CalibratedScore._fit",
            wrapped("tuning_free.subset_device.SubsetDevice.hidden", _twice),
        ),),
    ),
    "calibrated_score_true_more_often": Mutant(
        "calibrated_score", "subsets are drawn at half as large a budget again",
        (wrapped("tuning_free.subset_device.subset_reports", scaled_epsilon(1.5)),),
    ),
    "calibrated_score_exact_shares": Mutant(
        "calibrated_score", "the cells' shares are exact",
        (wrapped("tuning_free.calibrated_score.CalibratedScore._posteriors", _exact_shares),),
    ),
    "calibrated_score_cells_by_minority": Mutant(
        "calibrated_score", "the number of cells depends on the true minority count",
        (wrapped("tuning_free.calibrated_score.CalibratedScore._make_cells", _by_minority),),
    ),
    "residual_gp_draws_halved": Mutant(
        "residual_gp", "the users' uniforms and noise are halved before anybody is asked",
        (wrapped("tuning_free.residual_gp.ResidualGP._sample", _halved_draws),),
    ),
    "calibrated_score_cells_by_private_forest": Mutant(
        "calibrated_score", "devices find their cells by a forest on private rows",
        (wrapped("tuning_free.calibrated_score.CalibratedScore._sample", _private_forest),),
    ),
}  # fmt: skip
