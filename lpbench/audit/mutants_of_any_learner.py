"""Known-bad versions of learners on privatised labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lpbench.audit.mutants import Mutant, during, multiplied, with_raw_labels, wrapped


def _by_a_mechanism_with(**factors: float) -> Callable[[Callable], Callable]:
    """Ask for labels by a mechanism some numbers of which are multiplied."""

    def make(ask: Callable) -> Callable:
        def asks(values: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
            louder = replace(question, mechanism=multiplied(question.mechanism, **factors))
            return ask(values, users, louder, streams)

        return asks

    return make


def _to_everybody(ask: Callable) -> Callable:
    """Ask all users whenever some are asked."""

    def asks(values: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        if question.prior is not None:
            return ask(values, users, question, streams)
        return ask(values, np.arange(values.size), question, streams)[users]

    return asks


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


_ASK, _REGRESSOR = "any_learner.regressor.ask_numbers", "any_learner.regressor.PrivateLabelsRegressor"

_ASK_CLASS, _CLASSIFIER = "any_learner.classifier.ask_classes", "any_learner.classifier.PrivateLabelsClassifier"


def _told_with_prior(ask: Callable) -> Callable:
    """Every tenth user who is asked with a prior sends the class as it is."""

    def asks(codes: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        reports = ask(codes, users, question, streams)
        told = (np.arange(users.size) % 10 == 0) & (question.prior is not None)
        return np.where(told, codes[users], reports)

    return asks


def _one_told(ask: Callable) -> Callable:
    """One user sends the label as it is."""

    def asks(y: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> np.ndarray:
        return np.where(np.arange(users.size) == 3, question.unit(y[users]), ask(y, users, question, streams))

    return asks


ANY_LEARNER: dict[str, Mutant] = {
    "private_labels_scale_halved": Mutant(
        "private_labels_regressor", "the label's noise has half the scale",
        (during(f"{_REGRESSOR}.fit", wrapped(_ASK, _by_a_mechanism_with(scale=0.5))),),
    ),
    "private_labels_piecewise_twice_the_budget": Mutant(
        "private_labels_regressor[randomizer=piecewise]", "the piecewise mechanism gets twice the budget",
        (during(f"{_REGRESSOR}.fit", wrapped(_ASK, _by_a_mechanism_with(budget=2.0))),),
    ),
    "private_labels_bins_from_true_labels": Mutant(
        "private_labels_regressor[randomizer=rr_on_bins]", "the bins follow from true labels",
        (during(f"{_REGRESSOR}.fit", wrapped(_ASK, _true_histogram)),),
    ),
    "private_labels_observed_range": Mutant(
        "private_labels_regressor[randomizer=hybrid]", "the range is that of the true labels",
        (wrapped("base.LocalRegressor._public_range", with_raw_labels),),
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
    "private_labels_second_stage_told": Mutant(
        "private_labels_classifier[randomizer=two_stages]", "every tenth user of the second stage sends the class",
        (wrapped(_ASK_CLASS, _told_with_prior),),
    ),
    "private_labels_one_user_told": Mutant(
        "private_labels_regressor[randomizer=staircase]", "one user sends the label as it is",
        (wrapped(_ASK, _one_told),),
    ),
}  # fmt: skip
