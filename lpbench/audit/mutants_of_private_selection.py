"""Known-bad versions of private selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lpbench.audit.mutants import Mutant, during, wrapped

_ASK_VALIDATION = "private_selection.selection.ask_numbers"


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


PRIVATE_SELECTION: dict[str, Mutant] = {
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
}  # fmt: skip
