"""Known-bad versions of methods whose labels, cells and classes are randomised one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lpbench.audit.mutants import (
    FULL_BUDGET,
    Mutant,
    during,
    halved_label,
    multiplied,
    scaled_epsilon,
    with_raw_labels,
    wrapped,
)

_FIT, _SWEEP = "histoftree.histoftree.CellRegressor.fit", "histoftree.histoftree.CellRegressor.sweep"


_TRUE_LABELS = wrapped(
    "histoftree.rounds.Split.forests",
    lambda grow: (
        lambda self, rule, score, labels, *rest: grow(self, rule, score, [self._rounds.y] * len(labels), *rest)
    ),
)


def _hidden_shown(messages: Callable) -> Callable:
    """Send the features that the mask protects."""

    def sends(self: Any, X: np.ndarray, y: np.ndarray, mask: np.ndarray, streams: Any) -> Any:
        return messages(self, X, y, np.zeros_like(mask), streams)

    return sends


def _unsplit(label: Callable) -> Callable:
    """Give the label the whole budget."""
    return lambda y, question, streams: label(y, replace(question, split=1), streams)


def _doubled_budget(label: Callable) -> Callable:
    return lambda y, question, streams: label(y, multiplied(question, epsilon=2.0), streams)


def _honest_more_often(randomise: Callable) -> Callable:
    """Report HistOfTree's true cell half as often again."""
    return lambda grid, leaves, budget, keep: randomise(grid, leaves, budget, keep / 1.5)


def _largest_plain(report: Callable) -> Callable:
    """Send the largest label without noise."""

    def reports(self: Any, records: Any, question: Any, draws: np.ndarray) -> np.ndarray:
        noisy = report(self, records, question, draws)
        return np.where(records.y == records.y.max(), np.clip(records.y - question.centre, *question.y_range), noisy)

    return reports


def _first_users_noise(draw: Callable) -> Callable:
    """Give all users the noise of the first."""

    def draws(self: Any, streams: Any, n: int, question: Any) -> np.ndarray:
        return np.full(n, draw(self, streams, n, question)[0])

    return draws


def _tails_end(draw: Callable) -> Callable:
    """Draw noise beyond six scales again."""

    def draws(self: Any, streams: Any, n: int, question: Any) -> np.ndarray:
        noise, rng = draw(self, streams, n, question), streams.generator("again")
        while (far := np.abs(noise) > 6.0).any():
            noise[far] = rng.laplace(size=far.sum())
        return noise

    return draws


def _bins_by_labels(fit: Callable) -> Callable:
    """Choose one more bin if the labels vary."""

    def fits(self: Any, X: np.ndarray, y: np.ndarray, **others: Any) -> Any:
        return fit(self.set_params(bins_offset=int(y.std() > 0.5)), X, y, **others)

    return fits


def _true_if_many(grow: Callable) -> Callable:
    """Grow the trees of a sweep of several label budgets on true labels."""

    def grows(self: Any, rule: str, score: str, labels: Any, *rest: Any) -> Any:
        return grow(self, rule, score, [self._rounds.y] * len(labels) if len(labels) > 2 else labels, *rest)

    return grows


def _first_told(report: Callable) -> Callable:
    """Send every tenth user's class as it is."""

    def reports(self: Any, records: Any, question: Any, draws: Any) -> np.ndarray:
        return np.where(np.arange(len(records)) % 10 == 0, records.y, report(self, records, question, draws))

    return reports


def _cancelling_pairs(draw: Callable) -> Callable:
    """Give the second half of the users the noise of the first with the sign changed."""

    def draws(self: Any, streams: Any, n: int, question: Any) -> np.ndarray:
        noise = draw(self, streams, n, question)
        noise[n // 2 : 2 * (n // 2)] = -noise[: n // 2]
        return noise

    return draws


def _same_for_all_features(draw: Callable) -> Callable:
    """Randomise all features of a user by the same uniforms, where they are drawn for all features at once."""

    def draws(self: Any, streams: Any, n: int, question: Any) -> np.ndarray:
        uniforms = draw(self, streams, n, question)
        at_once = question.users.size == 0
        return np.repeat(uniforms[:, :, :1], uniforms.shape[2], axis=2) if at_once else uniforms

    return draws


LABELS: dict[str, Mutant] = {
    "histoftree_label_scale_halved": Mutant(
        "histoftree_max_edge", "the label's noise has half the scale",
        (wrapped("private_labels.LabelDevice.report", halved_label),),
    ),
    "histoftree_whole_epsilon_in_fit": Mutant(
        "histoftree_max_edge", "fit spends the whole budget on the label, and then the cell's share",
        (during(_FIT, FULL_BUDGET),),
    ),
    "histoftree_whole_epsilon_in_sweep": Mutant(
        "histoftree_max_edge", "sweep spends the whole budget on the label, and then the cell's share",
        (during(_SWEEP, FULL_BUDGET),),
    ),
    "histoftree_true_labels_in_fit": Mutant(
        "histoftree_cart", "fit grows the tree on true labels", (during(_FIT, _TRUE_LABELS),)
    ),
    "histoftree_true_labels_in_sweep": Mutant(
        "histoftree_cart", "sweep grows the tree on true labels", (during(_SWEEP, _TRUE_LABELS),)
    ),
    "histoftree_true_labels": Mutant("histoftree_max_edge", "the tree is grown on true labels", (_TRUE_LABELS,)),
    "histoftree_observed_range": Mutant(
        "histoftree_max_edge", "the noise's scale comes from the observed range of the labels",
        (wrapped("base.LocalRegressor._public_range", with_raw_labels),),
    ),
    "histoftree_cell_at_twice_the_budget": Mutant(
        "histoftree_max_edge", "the cell is reported at twice its budget",
        (wrapped("histoftree.cell_device.category_reports", scaled_epsilon(2.0)),),
    ),
    "histoftree_cell_true_more_often": Mutant(
        "histoftree_max_edge", "the true cell is reported half as often again",
        (wrapped("histoftree.cell_device.category_reports", _honest_more_often),),
    ),
    "histoftree_bits_at_twice_the_budget": Mutant(
        "histoftree_max_edge[mechanism=rr]", "the bits of the cells get twice their budget",
        (wrapped("histoftree.cell_reports.bit_reports", scaled_epsilon(2.0)),),
    ),
    "histoftree_true_labels_in_large_sweeps": Mutant(
        "histoftree_max_edge", "sweeps of many points grow trees on true labels",
        (wrapped("histoftree.rounds.Split.forests", _true_if_many),),
    ),
    "label_dt_largest_label_plain": Mutant(
        "label_dt", "the largest label is sent without noise",
        (wrapped("private_labels.LabelDevice.report", _largest_plain),),
    ),
    "private_mean_noise_shared": Mutant(
        "private_mean", "all users have the noise of the first",
        (wrapped("private_labels.LabelDevice.draws", _first_users_noise),),
    ),
    "private_majority_tenth_told": Mutant(
        "private_majority", "every tenth user sends the class as it is",
        (wrapped("private_classes.ClassDevice.report", _first_told),),
    ),
    "par_dt_hidden_entries": Mutant(
        "par_dt", "protected features are sent", (wrapped("baselines.trees.ParDT._messages", _hidden_shown),)
    ),
    "krr_label_not_split": Mutant(
        "krr", "the label gets the whole budget, and the features their shares",
        (during("baselines.krr.KRR._messages", wrapped("baselines.krr.noisy_labels", _unsplit)),),
    ),
    "knn_scale_halved": Mutant(
        "label_ldp_knn", "the label's noise has half the scale",
        (during("label_dp.knn.LabelLDPKNN._learn", wrapped("label_dp.knn.noisy_labels", _doubled_budget)),),
    ),
    "label_dt_noise_cancels_in_pairs": Mutant(
        "label_dt", "the noise of two users adds up to 0",
        (wrapped("private_labels.LabelDevice.draws", _cancelling_pairs),),
    ),
    "label_dt_tails_end": Mutant(
        "label_dt", "noise beyond six scales is drawn again", (wrapped("private_labels.LabelDevice.draws", _tails_end),)
    ),
    "adhistoftree_bins_by_labels": Mutant(
        "adhistoftree_max_edge", "the number of bins depends on how the labels vary", (wrapped(_FIT, _bins_by_labels),)
    ),
    "krr_features_share_noise": Mutant(
        "krr", "all features of a user are randomised by the same uniforms",
        (wrapped("baselines.krr.FeatureDevice.draws", _same_for_all_features),),
    ),
}  # fmt: skip
