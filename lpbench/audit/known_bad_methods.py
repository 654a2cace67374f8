"""Known-bad methods: leaks and overdrafts patched into registered estimators, each of which the audit must catch.

A mutant is data: the method that it spoils, what is wrong, and patches of functions by their dotted paths. Patches that
hold only while ``fit`` or ``sweep`` (or another method) runs are written with :func:`during`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import numpy as np

Change = Callable[[], AbstractContextManager]
_ROOT = "lpbench.estimators."


@dataclass(frozen=True)
class Mutant:
    """A method with one promise broken.

    Attributes
    ----------
    method : str
        Selector of the registered method.
    what : str
    changes : tuple of callables
        Each returns a context manager that patches one attribute.
    budgets : tuple of float
        Budgets at which the method is checked.
    """

    method: str
    what: str
    changes: tuple[Change, ...]
    budgets: tuple[float, ...] = (1.0, 8.0)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Patch the estimator while the block runs."""
        with ExitStack() as stack:
            for change in self.changes:
                stack.enter_context(change())
            yield


def wrapped(path: str, make: Callable[[Callable], Callable]) -> Change:
    """Patch the function at a dotted path by ``make(original)``."""

    def change() -> AbstractContextManager:
        owner_path, _, name = (_ROOT + path).rpartition(".")
        owner = resolve_name(owner_path)
        attribute = vars(owner)[name]
        if isinstance(attribute, (classmethod, staticmethod)):
            return patch.object(owner, name, staticmethod(make(getattr(owner, name))))
        return patch.object(owner, name, wraps(attribute)(make(attribute)))

    return change


def during(path: str, *changes: Change) -> Change:
    """Apply changes only while the function at a dotted path runs."""

    def make(original: Callable) -> Callable:
        def inside(*args: Any, **kwargs: Any) -> Any:
            with ExitStack() as stack:
                for change in changes:
                    stack.enter_context(change())
                return original(*args, **kwargs)

        return inside

    return wrapped(path, make)


_FIT, _SWEEP = "histoftree.histoftree.CellRegressor.fit", "histoftree.histoftree.CellRegressor.sweep"
_FULL_BUDGET = wrapped(
    "histoftree.rounds.Setting.budgets",
    lambda budgets: lambda self, epsilon: (epsilon, budgets(self, epsilon)[1]),
)
_TRUE_LABELS = wrapped(
    "histoftree.rounds.Split.forests",
    lambda grow: (
        lambda self, rule, score, labels, depths: grow(self, rule, score, [self._rounds.y] * len(labels), depths)
    ),
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


def _with_raw_labels(check: Callable) -> Callable:
    """Take the public range from the labels, whatever was declared."""

    def checks(self: Any, y: np.ndarray) -> Any:
        return (float(y.min()), float(y.max())), ""

    return checks


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


def _hidden_shown(messages: Callable) -> Callable:
    """Send the features that the mask protects."""

    def sends(self: Any, X: np.ndarray, y: np.ndarray, mask: np.ndarray, streams: Any) -> Any:
        return messages(self, X, y, np.zeros_like(mask), streams)

    return sends


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


def _halved_label(label: Callable) -> Callable:
    return lambda self, records, question, draws: (records.y + label(self, records, question, draws)) / 2.0


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


def _unsplit(label: Callable) -> Callable:
    """Give the label the whole budget."""
    return lambda y, question, streams: label(y, replace(question, split=1), streams)


def _doubled_budget(label: Callable) -> Callable:
    return lambda y, question, streams: label(y, replace(question, epsilon=2.0 * question.epsilon), streams)


def _at_twice_the_budget(ask: Callable) -> Callable:
    """Ask for labels at twice the budget, where the mechanism's budget is a parameter."""

    def asks(values: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        louder = replace(question.mechanism, budget=2.0 * question.mechanism.budget)
        return ask(values, users, replace(question, mechanism=louder), streams)

    return asks


def _at_half_the_scale(ask: Callable) -> Callable:
    """Ask for labels with half the noise."""

    def asks(values: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        louder = replace(question.mechanism, scale=question.mechanism.scale / 2.0)
        return ask(values, users, replace(question, mechanism=louder), streams)

    return asks


def _to_everybody(ask: Callable) -> Callable:
    """Ask all users whenever some are asked."""

    def asks(values: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        if question.prior is not None:
            return ask(values, users, question, streams)
        return ask(values, np.arange(values.size), question, streams)[users]

    return asks


def _validators_train(divide: Callable) -> Callable:
    """Let the validating users train the first group, too."""

    def divides(*args: Any) -> Any:
        division = divide(*args)
        first, *others = division.training
        return replace(division, training=[np.concatenate([first, division.validating]), *others])

    return divides


def _everybody_trains(divide: Callable) -> Callable:
    """Let all training users train every group."""

    def divides(*args: Any) -> Any:
        division = divide(*args)
        return replace(division, training=[np.concatenate(division.training)] * len(division.training))

    return divides


def _true_values(ask: Callable) -> Callable:
    """Report the values as they are."""
    return lambda values, users, question, streams: question.unit(values[users])


def _range_of_values(ask: Callable) -> Callable:
    """Clip to the range of the true values."""

    def asks(values: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        reach = float(np.abs(values[users]).max())
        asked = ask(values, users, replace(question, y_range=(-reach, reach)), streams)
        return asked * reach / question.half

    return asks


def _best_without_noise(compare: Callable) -> Callable:
    """Compare the candidates by the true losses."""

    def compares(losses: Any, reach: Any, fitted: Any, sample: Any, validating: np.ndarray, *rest: Any) -> np.ndarray:
        compare(losses, reach, fitted, sample, validating, *rest)
        return np.array([losses(m, sample.X[validating], sample.y[validating]).mean() for m in fitted])

    return compares


def _true_histogram(ask: Callable) -> Callable:
    """Take the prior from the true labels: reports for the prior are the nearest points."""

    def asks(y: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        if question.purpose != "prior report":
            return ask(y, users, question, streams)
        ask(y, users, question, streams)
        points = np.array(question.mechanism.inputs)
        return np.abs(question.unit(y[users])[:, None] - points).argmin(axis=1)

    return asks


def _true_posteriors(ask: Callable) -> Callable:
    """Give a tenth of the true class along with the posterior of a noisy vector."""

    def asks(codes: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        return ask(codes, users, question, streams) + 0.1 * np.eye(question.n_classes)[codes[users]]

    return asks


def _of_half_the_users(draw: Callable) -> Callable:
    """Draw the noise of sums over half of the users."""
    return lambda votes, n, *args, **axes: draw(votes, n // 2, *args, **axes)


def _scaled_epsilon(factor: float) -> Callable[[Callable], Callable]:
    """Multiply the argument ``epsilon`` or ``budget`` that follows two or three others."""

    def make(randomise: Callable) -> Callable:
        def randomises(*args: Any, **kwargs: Any) -> Any:
            place = next(k for k, value in enumerate(args) if isinstance(value, float))
            return randomise(*args[:place], factor * args[place], *args[place + 1 :], **kwargs)

        return randomises

    return make


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


def _true_if_many(grow: Callable) -> Callable:
    """Grow the trees of a sweep of several label budgets on true labels."""

    def grows(self: Any, rule: str, score: str, labels: Any, depths: Any) -> Any:
        return grow(self, rule, score, [self._rounds.y] * len(labels) if len(labels) > 2 else labels, depths)

    return grows


def _halved_room(fill: Callable) -> Callable:
    def fills(self: Any, room: np.ndarray) -> np.ndarray:
        fill(self, room)
        room /= 2.0
        return room

    return fills


def _twice_the_levels_budget(report: Callable) -> Callable:
    def reports(self: Any, records: Any, question: Any, draws: np.ndarray) -> np.ndarray:
        spends = replace(question.report, budget=2.0 * question.report.budget)
        return report(self, records, replace(question, report=spends), draws)

    return reports


def _first_told(report: Callable) -> Callable:
    """Send every tenth user's class as it is."""

    def reports(self: Any, records: Any, question: Any, draws: Any) -> np.ndarray:
        return np.where(np.arange(len(records)) % 10 == 0, records.y, report(self, records, question, draws))

    return reports


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


_NOISY = "lpct.algorithm2.noisy_votes"
_INDICATORS, _PUBLIC_GP = "public_sample.indicators.IndicatorClassifier", "public_sample.public_residual_gp"
_ASK, _REGRESSOR = "any_learner.regressor.ask_numbers", "any_learner.regressor.PrivateLabelsRegressor"
_ASK_CLASS, _CLASSIFIER = "any_learner.classifier.ask_classes", "any_learner.classifier.PrivateLabelsClassifier"
_ASK_VALIDATION = "private_selection.selection.ask_numbers"

#: Name -> mutant.
KNOWN_BAD_METHODS: dict[str, Mutant] = {
    "histoftree_label_scale_halved": Mutant(
        "histoftree_max_edge", "the label's noise has half the scale",
        (wrapped("private_labels.LabelDevice.report", _halved_label),),
    ),
    "histoftree_whole_epsilon_in_fit": Mutant(
        "histoftree_max_edge", "fit spends the whole budget on the label, and then the cell's share",
        (during(_FIT, _FULL_BUDGET),),
    ),
    "histoftree_whole_epsilon_in_sweep": Mutant(
        "histoftree_max_edge", "sweep spends the whole budget on the label, and then the cell's share",
        (during(_SWEEP, _FULL_BUDGET),),
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
        (wrapped("base.LocalRegressor._public_range", _with_raw_labels),),
    ),
    "histoftree_cell_at_twice_the_budget": Mutant(
        "histoftree_max_edge", "the cell is reported at twice its budget",
        (wrapped("histoftree.cell_device.category_reports", _scaled_epsilon(2.0)),),
    ),
    "histoftree_cell_true_more_often": Mutant(
        "histoftree_max_edge", "the true cell is reported half as often again",
        (wrapped("histoftree.cell_device.category_reports", _honest_more_often),),
    ),
    "histoftree_bits_at_twice_the_budget": Mutant(
        "histoftree_max_edge[mechanism=rr]", "the bits of the cells get twice their budget",
        (wrapped("histoftree.cell_reports.bit_reports", _scaled_epsilon(2.0)),),
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
    "private_labels_scale_halved": Mutant(
        "private_labels_regressor", "the label's noise has half the scale",
        (during(f"{_REGRESSOR}.fit", wrapped(_ASK, _at_half_the_scale)),),
    ),
    "private_labels_piecewise_twice_the_budget": Mutant(
        "private_labels_regressor[randomizer=piecewise]", "the piecewise mechanism gets twice the budget",
        (during(f"{_REGRESSOR}.fit", wrapped(_ASK, _at_twice_the_budget)),),
    ),
    "private_labels_bins_from_true_labels": Mutant(
        "private_labels_regressor[randomizer=rr_on_bins]", "the bins follow from true labels",
        (during(f"{_REGRESSOR}.fit", wrapped(_ASK, _true_histogram)),),
    ),
    "private_labels_observed_range": Mutant(
        "private_labels_regressor[randomizer=hybrid]", "the range is that of the true labels",
        (wrapped("base.LocalRegressor._public_range", _with_raw_labels),),
    ),
    "private_labels_hidden_shown": Mutant(
        "private_labels_regressor", "protected features are sent",
        (wrapped("any_learner.regressor.shown_features", lambda show: lambda X, mask: show(X, np.zeros_like(mask))),),
    ),
    "private_labels_first_stage_asks_all": Mutant(
        "private_labels_classifier[randomizer=two_stages]", "the first stage asks the users of the second, too",
        (during(f"{_CLASSIFIER}.fit", wrapped(_ASK_CLASS, _to_everybody)),),
    ),
    "private_labels_alibi_true_class": Mutant(
        "private_labels_classifier[randomizer=alibi]", "a tenth of the true class goes along with the noisy vector",
        (during(f"{_CLASSIFIER}.fit", wrapped(_ASK_CLASS, _true_posteriors)),),
    ),
    "private_selection_validators_train": Mutant(
        "private_selection_regressor", "validating users train a candidate at the whole budget, too",
        (wrapped("private_selection.regressor.divide", _validators_train),),
    ),
    "private_selection_everybody_trains": Mutant(
        "private_selection_regressor[estimator=histoftree_max_edge]", "all users train every candidate",
        (wrapped("private_selection.regressor.divide", _everybody_trains),),
    ),
    "private_selection_true_differences": Mutant(
        "private_selection_regressor", "validating users report true differences",
        (during("private_selection.regressor.PrivateSelectionRegressor.fit", wrapped(_ASK_VALIDATION, _true_values)),),
    ),
    "private_selection_observed_range": Mutant(
        "private_selection_regressor", "differences are clipped to the range of the true ones",
        (during("private_selection.regressor.PrivateSelectionRegressor.fit",
                wrapped(_ASK_VALIDATION, _range_of_values)),),
    ),
    "private_selection_chosen_on_true_labels": Mutant(
        "private_selection_classifier", "the candidate with the fewest true errors is chosen",
        (wrapped("private_selection.classifier.compare_by_differences", _best_without_noise),),
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
    "residual_gp_interval_from_labels": Mutant(
        "residual_gp", "the interval's width is the standard deviation of the true labels",
        (_question(half_width=lambda question, y: np.full(y.size, 2.0 * y.std() + 1e-3)),),
    ),
    "residual_gp_range_from_labels": Mutant(
        "residual_gp", "the range of the first question is that of the true labels",
        (wrapped("base.LocalRegressor._public_range", _with_raw_labels),),
    ),
    "residual_gp_groups_by_label": Mutant(
        "residual_gp", "who is asked first depends on the label",
        (wrapped("tuning_free.residual_gp.ResidualGP._fit", _sorted_groups),),
    ),
    "residual_gp_levels_at_twice_the_budget": Mutant(
        "residual_gp", "the levels are randomised at twice the budget",
        (wrapped("tuning_free.interview.ResidualDevice.report", _twice_the_levels_budget),),
    ),
    "residual_gp_group_asked_twice": Mutant(
        "residual_gp", "the first group is asked again",
        (wrapped("tuning_free.interview.Curator._groups", _asked_twice),),
    ),
    "residual_gp_forest_on_true_labels": Mutant(
        "residual_gp", "the forest is grown on true labels",
        (wrapped("tuning_free.residual_gp.ResidualGP._fit_forest", _true_targets),),
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
        (wrapped("label_dp.releases.exponential_choices", _scaled_epsilon(2.0)),),
    ),
    "cdp_mean_scale_halved": Mutant(
        "cdp_mean", "the noise of the means has half the scale",
        (wrapped("label_dp.releases.MeanRelease.draws", _halved_noise),),
    ),
    "psgd_neural_private_start": Mutant(
        "psgd_neural", "the warm start reads private rows", (wrapped("psgd.psgd.PSGD._sample", _private_start),)
    ),
    "lpdt_private_tree": Mutant(
        "lpdt_regressor", "the tree is grown from private rows",
        (wrapped("public_sample.lpdt.LPDTRegressor.fit", _private_rows_given),),
    ),
    "lpdt_whole_epsilon": Mutant(
        "lpdt_regressor", "the label gets the whole budget, and then the cell its share",
        (during("public_sample.lpdt.LPDTRegressor.fit", _FULL_BUDGET),),
    ),
    "histoftree_public_label_scale_halved": Mutant(
        "histoftree_public", "the label's noise has half the scale",
        (wrapped("private_labels.LabelDevice.report", _halved_label),),
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
            wrapped("tuning_free.interview.ResidualDevice.report", _twice_the_levels_budget),
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
            wrapped("tuning_free.interview.ResidualDevice.report", _twice_the_levels_budget),
        ),),
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
        (wrapped("tuning_free.subset_device.subset_reports", _scaled_epsilon(1.5)),),
    ),
    "calibrated_score_exact_shares": Mutant(
        "calibrated_score", "the cells' shares are exact",
        (wrapped("tuning_free.calibrated_score.CalibratedScore._posteriors", _exact_shares),),
    ),
    "calibrated_score_cells_by_minority": Mutant(
        "calibrated_score", "the number of cells depends on the true minority count",
        (wrapped("tuning_free.calibrated_score.CalibratedScore._make_cells", _by_minority),),
    ),
}  # fmt: skip
