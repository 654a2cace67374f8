"""Thirty mistakes and sabotages that an author could make in a method's code, written without knowing the audit.

Some flaws need a mask that differs between users, three classes, a small budget or a public sample to show.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from lpbench.estimators import private_classes
from lpbench.estimators.baselines import grid_sums, krr, pglm
from lpbench.estimators.histoftree import cell_device
from lpbench.estimators.histoftree.cell_reports import bit_reports, reports_truth
from lpbench.estimators.label_dp.full import LDPMean
from lpbench.estimators.label_dp.releases import ClassRelease, MeanRelease
from lpbench.estimators.lpct import votes
from lpbench.estimators.private_classes import ClassDevice
from lpbench.estimators.private_labels import LabelDevice, LabelQuestion
from lpbench.estimators.private_selection.selection import LOSSES, DifferenceDevice
from lpbench.estimators.privatised_labels.numbers import NumberDevice
from lpbench.estimators.psgd.passes import Visits
from lpbench.estimators.psgd.psgd import PSGD
from lpbench.estimators.public_sample import PublicTreeClassifier
from lpbench.estimators.tuning_free.calibration import SubsetDevice
from lpbench.estimators.tuning_free.residual_gp import LabelResidual
from lpbench.estimators.tuning_free.rounds import ResidualDevice
from lpbench.partitions import grid_digits
from lpbench.privacy import Laplace, cell_noise, grr_reports, prior_reports
from lpbench.privacy.exact import below, words
from lpbench.seeds import Streams

#: Name of a mutant -> selector of a method, and what makes a context manager under which the method has the flaw.
MUTANTS: dict[str, tuple[str, Callable[[], Any]]] = {}


def mutant(selector: str, target: Any, name: str) -> Callable:
    """Register a function that stands in the place of an attribute; its first argument ``honest`` is the attribute."""

    def register(function: Callable) -> Callable:
        original, flawed = inspect.getattr_static(target, name), function
        if next(iter(inspect.signature(function).parameters)) == "honest":
            honest = getattr(original, "fget", original)

            def flawed(*args, **options):
                return function(honest, *args, **options)

        flawed = property(flawed) if isinstance(original, property) else flawed
        MUTANTS[function.__name__] = selector, lambda: mock.patch.object(target, name, flawed)
        return function

    return register


# Labels


@mutant("label_dt", LabelDevice, "report")
def truncated_label_noise(self, records, question, draws):
    """Labels get Laplace noise restricted to the public range at an unchanged scale; the normaliser depends on the
    label, so that the ratio of two densities exceeds e^epsilon."""
    labels = self.inputs(records, question)
    scale, (lo, hi) = np.asarray(question.scale), question.y_range
    if not (scale > 0).all():
        return labels + scale * draws

    def cdf(x):
        return np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1.0 - 0.5 * np.exp(-np.abs(x)))

    low, high = cdf((lo - labels) / scale), cdf((hi - labels) / scale)
    u = low + cdf(draws) * (high - low)
    quantile = np.where(u < 0.5, np.log(2.0 * u), -np.log(2.0 * (1.0 - u)))
    return np.clip(labels + scale * quantile, lo, hi)


@mutant("histoftree_max_edge[noise=discrete]", LabelDevice, "report")
def discrete_label_keeps_fraction(self, records, question, draws):
    """Discrete noise is added to the label that was not rounded to the grid first; what the report leaves between grid
    points is that of the label, whatever the noise."""
    labels = self.inputs(records, question)
    if question.on_grid is not None:
        return labels + question.on_grid.randomize_by(np.zeros(len(records)), draws)
    return labels + question.scale * draws


@mutant("label_ldp_knn", LabelDevice, "report")
def sorted_label_noise(self, records, question, draws):
    """The users' noises are dealt out in the order of their labels ("fewer crossings"); every report has the right law
    by itself, and all together their order is that of the private labels."""
    labels = self.inputs(records, question)
    if question.on_grid is not None:
        return question.on_grid.randomize_by(labels, draws)
    return labels + question.scale * np.sort(draws)[np.argsort(np.argsort(labels, kind="stable"))]


@mutant("private_mean", LabelQuestion, "scale")
def capped_label_scale(honest, self):
    """The scale of label noise is capped at ten times the range "against overflow"; below epsilon = 0.1 the report
    spends 0.1 and less is entered into the accounts."""
    lo, hi = self.y_range
    return np.minimum(honest(self), 10.0 * (hi - lo)) if np.isfinite(hi - lo) else honest(self)


@mutant("par_dt", LabelDevice, "draws")
def last_block_without_noise(self, streams, n, question):
    """Label noise is drawn in blocks of 128 users and the last incomplete block is forgotten; the last users send their
    labels as they are."""
    rng, noise = streams.generator("label"), np.zeros(n)
    for start in range(0, n if n <= 128 else n - 127, 128):
        noise[start : start + 128] = rng.laplace(size=min(128, n - start))
    return noise


@mutant("private_labels_regressor", NumberDevice, "report")
def rounded_number_noise(self, records, question, draws):
    """The noise, not the report, is rounded to three digits "to save bandwidth"; the digits beyond are those of the
    private label."""
    mechanism, inputs = self.mechanism(question), self.inputs(records, question)
    noisy = mechanism.randomize(inputs, draws)
    return inputs + np.round(noisy - inputs, 3) if isinstance(mechanism, Laplace) else noisy


# KRR and HistOfTree


@mutant("krr", krr.FeatureDevice, "report")
def krr_shares_column_by_column(self, records, question, draws):
    """Shares of the budget are listed column by column and reports row by row; with personalised masks a user who
    protects many features answers at the share of one who protects few."""
    protected, truth = self._protected(records), grid_digits(records.X, question.bins)
    shares = np.broadcast_to(question.share, len(records))[np.nonzero(protected.T)[1]]
    u_keep, u_other = draws[:, protected]
    reports = np.zeros_like(truth)
    reports[protected] = grr_reports(truth[protected], question.bins, shares, u_keep, u_other)
    return reports


def _cell_report(device, records, question, draws, keep_choices, leaf):
    own, cells = device.inputs(records, question), cell_device._compatible(records, question)
    cells.check_budget(question.budget)
    if question.mechanism == "rr":
        return device._bits(own, cells, question, draws)
    if question.budget == 0:
        return own
    hidden = cell_device._mask(records)[:, question.grid_columns]
    blind = np.where(hidden, below(draws.bins, question.bins), own[:, :-1])
    told = reports_truth(keep_choices(cells), question.budget, draws.keep)
    return np.where(told[:, None], own, np.column_stack([blind, leaf(own, cells)]))


@mutant("histoftree_public", cell_device.CellDevice, "report")
def truth_by_grid_choices(self, records, question, draws):
    """The probability of the truth counts the grid's cells alone and forgets the leaves that are possible too; where a
    mask leaves the leaf open, the truth is told too often for the budget."""
    return _cell_report(
        self,
        records,
        question,
        draws,
        lambda cells: cells.grid.choices,
        lambda own, cells: cells.leaves.choose(draws.leaf),
    )


@mutant("histoftree_cart", cell_device.CellDevice, "report")
def leaf_taken_for_public(self, records, question, draws):
    """The leaf is taken for public and always the own one; with personalised masks users hide features that the tree
    cuts, and their leaf is sent as it is."""
    return _cell_report(self, records, question, draws, lambda cells: cells.choices, lambda own, cells: own[:, -1])


@mutant("lpdt_regressor", cell_device, "bit_reports")
def bits_share_noise(truth, budget, seed, users, cells):
    """The noise of a bit is hashed from the cell alone and not from the user; all users flip the same cells, and two
    reports differ exactly where the private cells do."""
    return bit_reports(truth, budget, seed, np.zeros_like(users), cells)


@mutant("histoftree_max_edge[mechanism=rr]", cell_device.CellDevice, "budgets")
def cell_budget_by_leaves(self, records, question):
    """The accounts ask whether the leaf is uncertain and not whether the cell is; users who hide the grid's features
    alone report them at half of epsilon and are charged nothing."""
    cells = cell_device._compatible(records, question)
    return np.where(cells.leaves.choices > 1, question.budget, 0.0)


# Histograms


@mutant("hist", grid_sums._GridSums, "__init__")
def counts_and_sums_share_noise(honest, self, device, records, question, streams):
    """Counts and label sums of a cell draw noise from the same stream; the right combination of the two is without
    any noise."""
    honest(self, device, records, question, Streams(11))


@mutant("phist", grid_sums._GridSums, "noisy")
def noise_of_those_present(honest, self, named, budgets):
    """The shortcut adds the noise of the users who lie in a cell and not of all users; the noise shrinks with the
    private count, and in empty cells hardly any is left."""
    if not hasattr(budgets[0][0], "step"):
        sums = self._sums[:, named.codes]
        keys = [np.column_stack([np.full(len(named.cells), j), named.cells]) for j in range(len(sums))]
        present = np.tile(np.maximum(sums[0], 1.0), len(keys))
        unit = cell_noise(self.seed, np.concatenate(keys), present, 1.0).reshape(sums.shape)
        return sums + np.array([[m.scale for m in mechanisms] for mechanisms in budgets])[..., None] * unit
    return honest(self, named, budgets)


@mutant("ldp_mean", LDPMean, "learn")
def note_counts_clipped_labels(honest, self, users):
    """The note of the guarantee says how many labels lie far out; the number is exact and of private labels."""
    honest(self, users)
    records = users._records
    far = int((np.abs(records.y - self.centre_) > self.truncation_ / 2).sum())
    users.note(f"{far} of {users.n} labels lie in the outer half of the truncation")
    return self


# LPCT


@contextlib.contextmanager
def ordinal_votes():
    """A user votes for the own class and all classes below it; from three classes on two tables differ in more than
    the four entries that the noise is made for."""

    def one_hot(cells, codes, n_cells, n_classes):
        table, users = np.zeros((cells.size, n_classes, n_cells), dtype=bool), np.arange(cells.size)
        for k in range(n_classes):
            table[users, k, cells] = codes >= k
        return table

    def count(cells, codes, n_cells, n_classes):
        rows = [np.bincount(cells[codes >= k], minlength=n_cells) for k in range(n_classes)]
        return np.array(rows, dtype=np.float64)

    with mock.patch.object(votes, "one_hot_votes", one_hot), mock.patch.object(votes, "count_votes", count):
        yield


MUTANTS["ordinal_votes"] = "lpct_max_edge", ordinal_votes


@mutant("lpdt", votes, "unit_noise")
def votes_share_noise(n, n_cells, n_classes, rng):
    """The noise of the sums is drawn once for a cell and used in all of its rows; the difference of two rows, users
    not of the class, is exact."""
    gamma = rng.standard_gamma(n, size=(n_cells, 2))
    return np.tile(gamma[:, 0] - gamma[:, 1], (n_classes, 1))


# Private SGD and PGLM


@mutant("psgd_linear", Visits, "draw")
def antithetic_gradients(self, *shape):
    """Every second user takes the negative of the Gaussian vector of the one before "to reduce variance"; the noise
    cancels in the sum of their reports."""
    z = self.fill(np.empty((len(self.X), *shape)))
    z[:, 1::2] = -z[:, : shape[0] // 2 * 2 : 2]
    return z


@mutant("psgd_neural", PSGD, "_order")
def order_balanced_by_class(self, users):
    """The random order of the users is rearranged so that classes alternate; the order is public, and one label tells
    all others."""
    found = self._streams().generator("order").permutation(users.n)
    labels = users._records.y[found]
    rank = np.empty(users.n)
    for k in np.unique(labels):
        rank[labels == k] = np.arange((labels == k).sum()) + 0.4 * k
    return found[np.argsort(rank, kind="stable")]


@mutant("pglm", pglm, "unit_rows")
def constant_after_scaling(X):
    """Rows are scaled to length 1 before the constant is appended; their length is sqrt(2), and two users' moments may
    be further apart than the noise is made for."""
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return np.column_stack([X, np.ones(len(X))])


_CACHE: dict[int, np.ndarray] = {}


@mutant("pglm", pglm.MomentDevice, "draw_sums")
def moment_noise_cached(self, records, question, streams, by=None):
    """The unit noise of the moments is cached by its width for all fits of the process; the difference of two fits
    shows the difference of their private moments."""
    n, rng = len(records), self.draws(streams, len(records), question)
    width = question.n_features + 1
    if width not in _CACHE:
        _CACHE[width] = pglm.unit_noise(width, rng)
    noise = np.sqrt(n) * question.mechanism.sigma * _CACHE[width]
    return (noise + pglm.true_moments(records)).ravel()


# Classes


@mutant("calibrated_score", SubsetDevice, "draws")
def keep_and_other_share_uniforms(self, streams, n, question):
    """The uniforms that decide on the truth and those that choose another category start at the same place of a stream;
    from three categories on some other ones are never chosen, and a report of those is certainly true."""
    others = streams.generator("report", categories=question.mechanism.n_categories)
    return words(copy.deepcopy(others), n), others


@mutant("private_labels_classifier[randomizer=rr_with_prior]", private_classes, "prior_reports")
def own_class_always_listed(truth, order, size, epsilon, rng):
    """A user whose class is not among the probable ones puts it in the place of the last of them; a report outside the
    public list comes from nobody else."""
    order, users = np.array(order), np.arange(len(order))
    rank, last = np.argmax(order == truth[:, None], axis=1), size - 1
    missing = rank > last
    at, of = users[missing], rank[missing]
    order[at, of], order[at, last[missing]] = order[at, last[missing]], truth[missing]
    return prior_reports(truth, order, size, epsilon, rng)


@mutant("label_ldp_vote[bins=2]", ClassDevice, "draw_sums")
def empty_classes_stay_empty(honest, self, records, question, streams, by=None):
    """The shortcut leaves the count of a class that nobody of a cube has at zero; an estimate of exactly 0 tells that
    no user there has the class."""
    estimate = honest(self, records, question, streams, by)
    groups = np.zeros(len(records), dtype=int) if by is None else by
    counts = np.zeros((int(groups.max()) + 1, question.n_classes))
    np.add.at(counts, (groups, records.y), 1)
    return np.where(counts.reshape(estimate.shape) > 0, estimate, 0.0)


@mutant("private_majority", ClassDevice, "report")
def one_answer_per_class(honest, self, records, question, draws):
    """Answers are memoised by class code, so that all users of a class send one and the same report; who agrees with
    whom is public, and one known label tells a whole group."""
    reports = honest(self, records, question, draws)
    _, first, code = np.unique(records.y, return_index=True, return_inverse=True)
    return reports[first[code]]


@mutant("cdp_vote", ClassRelease, "budget")
def record_moves_one_cube(self, question):
    """The budget of the full-CDP vote counts one cube although a record that moves changes two; half of what is spent
    is stated."""
    return 0.0 if question.n_classes == 1 else question.mechanism.epsilon


@mutant("cdp_mean[bins=2,constants=tight]", MeanRelease, "release")
def noise_over_own_count(honest, self, records, question, draws):
    """The full-CDP means get noise over the private count of the cube, as is right where counts are public; a record
    that moves changes the scale of the noise, and the ratio of two densities is not bounded."""
    if question.cells is not None or not np.isfinite(question.epsilon):
        return honest(self, records, question, draws)
    sums, counts = self._sums(records, question)
    size = np.maximum(counts, question.least)
    scale = question.bound * question.unit_scale * question.least / size
    return sums / size + scale / question.epsilon * draws


# Tuning-free methods, public samples and private selection


@mutant("residual_gp", ResidualDevice, "draws")
def one_uniform_for_two(honest, self, streams, n, question):
    """The uniform that rounds a residual also decides whether the truth is told; the two are dependent, and some levels
    are hardly ever reported by some users."""
    found = honest(self, streams, n, question)
    return found[[0, 0, 2]]


@mutant("public_residual_gp", LabelResidual, "labels")
def residuals_fill_the_interval(honest, self, records):
    """Residuals are stretched so that the largest one of all users reaches the end of the interval; every report
    depends on the other users' labels."""
    found = honest(self, records)
    return found * (self.half / max(float(np.abs(found).max(initial=0.0)), 1e-12))


@mutant("public_tree_classifier", PublicTreeClassifier, "_asked")
def everybody_answers_for_every_class(honest, self, users, public, streams):
    """Of three classes and more every user, not a group of them, is asked about each class at the whole budget; a user
    spends epsilon times the number of classes."""
    n_classes = self.classes_.size
    if n_classes <= 2:
        return honest(self, users, public, streams)
    self.public_, everybody = public, np.arange(users.n)
    self.models_ = [
        self._regress(users.take(everybody, "class", number=k), k, streams.child("class", number=k))
        for k in range(n_classes)
    ]
    return self


@mutant("private_selection_classifier", DifferenceDevice, "inputs")
def losses_kept_in_model(self, records, question):
    """The device keeps the losses that it computes in the broadcast model "for speed"; the model is what is published,
    with every validating user's loss in it."""
    loss = LOSSES[question.loss]
    mine, other = question.model.predict(records.X), question.first.predict(records.X)
    question.model.losses_, question.first.losses_ = loss(mine, records.y), loss(other, records.y)
    return question.number.unit(question.model.losses_ - question.first.losses_)
