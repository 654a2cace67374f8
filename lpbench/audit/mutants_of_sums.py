"""Known-bad versions of votes, histograms, moments, private SGD and trusted curators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lpbench.audit.mutants import Mutant, during, scaled_epsilon, wrapped


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
            mechanism = replace(mechanism, budget=2.0 * mechanism.budget)
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

    def solves(self: Any, mechanism: Any) -> Any:
        return solve(self, replace(mechanism, sigma=mechanism.sigma * self.n**-0.25))

    return solves


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
