"""Flaws in the code of shipped methods, written without knowing the audit, are caught.

Flaws of other kinds are planted in plug-ins (fresh_leaks.py) and in what users answer (lpbench/audit/mutants.py).
"""

import copy
import inspect
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

from lpbench.audit.methods import complaints
from lpbench.audit.table import estimator_of
from lpbench.estimators import private_classes
from lpbench.estimators.baselines import grid_sums, krr
from lpbench.estimators.histoftree import cell_device
from lpbench.estimators.histoftree.cell_reports import reports_truth
from lpbench.estimators.lpct import votes
from lpbench.estimators.private_classes import ClassDevice
from lpbench.estimators.private_labels import LabelDevice
from lpbench.estimators.tuning_free.calibration import SubsetDevice
from lpbench.partitions import grid_digits
from lpbench.privacy import cell_noise, grr_reports, prior_reports
from lpbench.privacy.exact import below, words

#: Name of a mutant -> selector of a method, and what makes a context manager under which the method has the flaw.
MUTANTS: dict[str, tuple[str, Callable[[], Any]]] = {}


def mutant(selector: str, target: Any, name: str) -> Callable:
    """Register a function that stands in the place of an attribute; its first argument ``honest`` is the attribute."""

    def register(function: Callable) -> Callable:
        honest, flawed = getattr(target, name), function
        if next(iter(inspect.signature(function).parameters)) == "honest":

            def flawed(*args, **options):
                return function(honest, *args, **options)

        MUTANTS[function.__name__] = selector, lambda: mock.patch.object(target, name, flawed)
        return function

    return register


@mutant("label_ldp_knn", LabelDevice, "report")
def sorted_label_noise(self, records, question, draws):
    """The users' noises are dealt out in the order of their labels ("fewer crossings"); every report has the right law
    by itself, and all together their order is that of the private labels."""
    labels = self.inputs(records, question)
    if question.on_grid is not None:
        return question.on_grid.randomize(labels, draws)
    unit = np.sort(draws.laplace(size=len(labels)))
    return labels + question.scale * unit[np.argsort(np.argsort(labels, kind="stable"))]


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


@mutant("lpdt", votes, "unit_noise")
def votes_share_noise(n, n_cells, n_classes, rng):
    """The noise of the sums is drawn once for a cell and used in all of its rows; the difference of two rows, users
    not of the class, is exact."""
    gamma = rng.standard_gamma(n, size=(n_cells, 2))
    return np.tile(gamma[:, 0] - gamma[:, 1], (n_classes, 1))


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


@mutant("private_majority", ClassDevice, "report")
def one_answer_per_class(honest, self, records, question, draws):
    """Answers are memoised by class code, so that all users of a class send one and the same report; who agrees with
    whom is public, and one known label tells a whole group."""
    reports = honest(self, records, question, draws)
    _, first, code = np.unique(records.y, return_index=True, return_inverse=True)
    return reports[first[code]]


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_written_without_knowing_the_audit_is_caught(name):
    selector, mutant = MUTANTS[name]
    with mutant():
        found = next(iter(complaints(estimator_of(selector))), None)
    assert found, f"{name} on {selector} was missed"
