"""Known-bad versions of votes, histograms, moments, private SGD and trusted curators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from lpbench.audit.mutants import Mutant, during, multiplied, scaled_epsilon, wrapped


def _plain_where_empty(look_up: Callable) -> Callable:
    """Give cells without a user no noise."""

    def looks_up(self: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums, noise = look_up(self, X)
        return sums, noise * (sums[0] != 0)

    return looks_up


def _private_centre(learn: Callable) -> Callable:
    """Put the mean of the labels in the centre of their range."""

    def learns(self: Any, X: np.ndarray, y: np.ndarray) -> None:
        _, bound = self._centre_and_bound()
        with patch.object(self, "_centre_and_bound", lambda: (float(y.mean()), bound)):
            learn(self, X, y)

    return learns


def _told_in_small_cubes(add_up: Callable) -> Callable:
    """Give the true counts of cubes of one or two users."""

    def adds_up(self: Any, counts: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        few = counts.sum(axis=-1, keepdims=True) <= 2
        return np.where(few, counts, add_up(self, counts, question, streams))

    return adds_up


def _less_where_means_are_far(report: Callable) -> Callable:
    """Take less noise where the mean is far from the centre, as far as to a half."""

    def reports(self: Any, records: Any, question: Any, draws: np.ndarray) -> np.ndarray:
        means = self._means(records, question)
        return report(self, records, question, draws * (1.0 - 0.5 * np.abs(means) / question.bound))

    return reports


def _private_weight(votes: Callable) -> Callable:
    """Weigh LPCT's public votes by the true number of private ones."""

    def weighs(self: Any, table: Any, leaves: np.ndarray, *args: Any) -> np.ndarray:
        true = table.private[1:, leaves].sum() + 1.0
        return votes(self, table, leaves, *args) / true

    return weighs


def _private_start(sample_of: Callable) -> Callable:
    """Warm-start private SGD on private rows."""

    def samples(self: Any, *args: Any, **others: Any) -> Any:
        sample = sample_of(self, *args, **others)
        return replace(sample, X_public=sample.X[:60], y_public=sample.y[:60])

    return samples


def _late_whole(noisy: Callable) -> Callable:
    """Spend the whole budget on Algorithm 2's second query."""

    def asks(votes: np.ndarray, n: int, mechanism: Any, streams: Any, **axes: Any) -> np.ndarray:
        if axes.get("query") == 2:
            mechanism = multiplied(mechanism, budget=2.0)
        return noisy(votes, n, mechanism, streams, **axes)

    return asks


def _exact_votes(noisy: Callable) -> Callable:
    """Give a hundredth of the true counts along with the noisy ones."""

    def asks(votes: np.ndarray, *args: Any, **axes: Any) -> np.ndarray:
        return noisy(votes, *args, **axes) + votes / 100.0

    return asks


def _halved_noise(draw: Callable) -> Callable:
    return lambda *args, **kwargs: draw(*args, **kwargs) / 2.0


def _shared_noise(draw: Callable) -> Callable:
    """Give every cell the noise of the first."""

    def draws(*args: Any, **kwargs: Any) -> np.ndarray:
        noise = draw(*args, **kwargs)
        return np.broadcast_to(noise[:1], noise.shape)

    return draws


def _fourth_root(solve: Callable) -> Callable:
    """Let the summed noise grow with the fourth root of n instead of the square root."""
    return lambda self, mechanism: solve(self, multiplied(mechanism, sigma=self.n**-0.25))


def _of_half_the_users(draw: Callable) -> Callable:
    """Draw the noise of sums over half of the users."""
    return lambda votes, n, *args, **axes: draw(votes, n // 2, *args, **axes)


def _halved_room(fill: Callable) -> Callable:
    def fills(self: Any, room: np.ndarray) -> np.ndarray:
        fill(self, room)
        room /= 2.0
        return room

    return fills


_NOISY = "lpct.algorithm2.noisy_votes"


def _halved_in_many_cells(draw: Callable) -> Callable:
    """Halve the noise of the votes for a class in partitions of many cells."""

    def draws(n: int, n_cells: int, n_classes: int, rng: np.random.Generator) -> np.ndarray:
        noise = draw(n, n_cells, n_classes, rng)
        noise[1:] *= 0.5 if n_cells > 12 else 1.0
        return noise

    return draws


SUMS: dict[str, Mutant] = {
    "lpct_sum_scale_halved": Mutant(
        "lpct_max_edge", "the noise of the sums in fit has half the scale",
        (wrapped("lpct.votes.unit_noise", _halved_noise),),
    ),
    "lpct_noise_of_half_the_users": Mutant(
        "lpct_max_edge", "the noise of the sums in fit is that of half the users",
        (wrapped("lpct.lpct.noisy_votes", _of_half_the_users),),
    ),
    "lpct_sweep_noise_of_half_the_users": Mutant(
        "lpct_max_edge", "the noise of the sums in sweep is that of half the users",
        (wrapped("lpct.sweep.forest_votes", _of_half_the_users),),
    ),
    "hist_sweep_scale_halved": Mutant(
        "hist", "the noise of the sums in sweep has half the scale",
        (wrapped("baselines.hist.Hist._swept", lambda draw: lambda self, sums, noise: draw(self, sums, noise / 2.0)),),
    ),
    "lpct_sweep_scale_halved": Mutant(
        "lpct_max_edge", "the noise of the sums in sweep has half the scale",
        (wrapped("lpct.sweep.unit_noise", _halved_noise),),
    ),
    "hist_noise_shared": Mutant(
        "hist", "all cells share one noise", (wrapped("baselines.hist.cell_noise", _shared_noise),)
    ),
    "phist_empty_cells_plain": Mutant(
        "phist", "cells without a user have no noise", (wrapped("baselines.hist.GridSums.lookup", _plain_where_empty),)
    ),
    "ldp_mean_private_centre": Mutant(
        "ldp_mean", "the centre of the range is the mean of the labels",
        (wrapped("label_dp.full.LDPMean._learn", _private_centre),),
    ),
    "label_ldp_vote_small_cubes_told": Mutant(
        "label_ldp_vote", "the sums of cubes of one or two users have no noise",
        (wrapped("private_classes.ClassDevice.sum_of_reports", _told_in_small_cubes),),
    ),
    "label_cdp_mean_local_scale": Mutant(
        "label_cdp_mean", "means that are far from the centre have less noise",
        (wrapped("label_dp.releases.MeanRelease.report", _less_where_means_are_far),),
    ),
    "pglm_noise_fourth_root": Mutant(
        "pglm", "the noise of the sums grows with the fourth root of n",
        (wrapped("baselines.pglm.Moments.solve", _fourth_root),),
    ),
    "lpct_weight_from_private_counts": Mutant(
        "lpct_max_edge", "the weight of public votes comes from true private votes",
        (wrapped("lpct.lpct.LPCT._private_votes", _private_weight),),
    ),
    "prune_exact_counts": Mutant(
        "lpct_prune_max_edge", "the exact counts go along with the noisy ones",
        (during("lpct.algorithm2.Pruning._noisy", wrapped(_NOISY, _exact_votes)),),
    ),
    "prune_second_query_whole": Mutant(
        "lpct_prune_max_edge[terminate=true,constants=paper,depth=3]", "the second query gets the whole budget",
        (during("lpct.algorithm2.Pruning._noisy", wrapped(_NOISY, _late_whole)),),
        budgets=(8.0,),
    ),
    "psgd_linear_private_start": Mutant(
        "psgd_linear", "the warm start reads private rows", (wrapped("psgd.psgd.PSGD._sample", _private_start),)
    ),
    "psgd_linear_noise_halved": Mutant(
        "psgd_linear", "the Gaussians of the reports are halved",
        (wrapped("psgd.passes.Users.fill", _halved_room),),
    ),
    "label_cdp_vote_twice_the_budget": Mutant(
        "label_cdp_vote", "the exponential mechanism gets twice the budget",
        (wrapped("label_dp.releases.exponential_choices", scaled_epsilon(2.0)),),
    ),
    "cdp_mean_scale_halved": Mutant(
        "cdp_mean", "the noise of the means has half the scale",
        (wrapped("label_dp.releases.MeanRelease.draws", _halved_noise),),
    ),
    "psgd_neural_private_start": Mutant(
        "psgd_neural", "the warm start reads private rows", (wrapped("psgd.psgd.PSGD._sample", _private_start),)
    ),
    "lpct_sweep_scale_halved_in_many_cells": Mutant(
        "lpct_max_edge", "the noise of the votes for a class has half the scale in partitions of more than 12 cells",
        (wrapped("lpct.sweep.unit_noise", _halved_in_many_cells),),
    ),
    "cdp_vote_noise_shared": Mutant(
        "cdp_vote", "all cubes share one noise", (wrapped("label_dp.releases.ClassRelease.draws", _shared_noise),)
    ),
}  # fmt: skip
