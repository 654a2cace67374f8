"""Who trains which candidate and who validates, what validating users send, and which candidate is chosen.

Training users are divided among the settings that need reports of their own. The others validate: each sends one report
at the whole budget, about one candidate and the first. Nobody is asked for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators.any_learner.numbers import NumberQuestion, ask_numbers
from lpbench.estimators.base import LocalEstimator
from lpbench.estimators.private_labels import REAL_BITS
from lpbench.estimators.private_selection.candidates import Candidates
from lpbench.privacy import MODELS, Hybrid
from lpbench.privacy.guarantee import Guarantee
from lpbench.seeds import Streams

#: Points of the unit cube at which two models are compared for the range of their users' loss differences.
N_PUBLIC_POINTS = 512


@dataclass(frozen=True, eq=False)
class Sample:
    """What ``fit`` was given, checked: features in the unit cube, labels or class codes, mask, public sample."""

    X: np.ndarray
    y: np.ndarray
    mask: np.ndarray
    X_public: np.ndarray | None
    y_public: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Division:
    """Who does what, drawn in public.

    Attributes
    ----------
    training : list of int ndarrays
        Users of each group of candidates.
    validating : int ndarray
        In random order.
    """

    training: list[np.ndarray]
    validating: np.ndarray


def check_public(candidates: Candidates, estimator: str | LocalEstimator, sample: Sample) -> None:
    """Refuse a method that asks no private user where there is no public sample either."""
    if not candidates.groups() and sample.X_public is None:
        raise ConfigurationError(f"estimator={estimator!r} reads the public sample alone: pass X_public and y_public")


def divide(n: int, n_groups: int, share: float, streams: Streams) -> Division:
    """Divide n users at random; without groups to train all of them validate."""
    order = streams.generator("users").permutation(n)
    if n <= n_groups:
        raise DataError(
            f"n_samples = {n}: {n_groups} groups of candidates and a validating user need more; "
            "pass more users or fewer candidates"
        )
    validating = min(round(share * n), n - n_groups) if n_groups else n
    groups = np.array_split(order[validating:], n_groups) if n_groups else []
    return Division([np.sort(users) for users in groups], order[:validating])


def train(models: Sequence[Any], sample: Sample, users: np.ndarray) -> list[Any]:
    """Fit candidates that share reports on some users; one stream of randomness gives all of them the same reports."""
    public = {"X_public": sample.X_public, "y_public": sample.y_public}
    fitted = [model.fit(sample.X[users], sample.y[users], mask=sample.mask[users], **public) for model in models]
    # The seed of the users' noise does not stay in a model.
    return [model.set_params(random_state=None) for model in fitted]


def fit_candidates(
    candidates: Candidates, sample: Sample, division: Division, known: Mapping[str, Any], streams: Streams
) -> list:
    """Return the fitted candidates in the order of their settings.

    Parameters
    ----------
    known : mapping of str to value
        Budget and public knowledge, for the candidates that have a parameter of the name.
    """

    def make(point: Mapping[str, Any], own: Streams) -> Any:
        model, given = candidates.build(), {**known, "random_state": own}
        return model.set_params(**{k: v for k, v in given.items() if k in model.get_params()}, **point)

    fitted: list[Any] = [None] * len(candidates.points)
    for number, (members, users) in enumerate(zip(candidates.groups(), division.training, strict=True)):
        own = streams.child("candidates", group=number)
        found = train([make(candidates.points[k], own) for k in members], sample, users)
        for k, model in zip(members, found, strict=True):
            fitted[k] = model
    if not division.training:
        for k, point in enumerate(candidates.points):
            fitted[k] = make(point, streams.child("candidates", group=k)).fit(
                sample.X_public, sample.y_public, X_public=sample.X_public, y_public=sample.y_public
            )
    return fitted


def compare_by_labels(
    fitted: Sequence[Any], sample: Sample, validating: np.ndarray, question: NumberQuestion, streams: Streams
) -> np.ndarray:
    """Estimate how much larger each candidate's squared error is than the first's, from reports of labels.

    The reports are unbiased, so that their errors differ as those of labels do: one report compares all candidates.
    The curator needs to know the features that the models read.
    """
    if validating.size == 0:
        return np.zeros(len(fitted))
    readings = question.readings(ask_numbers(sample.y, validating, question, streams))
    known = np.where(sample.mask[validating], 0.0, sample.X[validating])
    predictions = np.array([model.predict(known) for model in fitted])
    first = predictions[0]
    return ((predictions - first) * (predictions + first - 2.0 * readings)).mean(axis=1)


def compare_by_differences(
    losses: Callable[[Any, np.ndarray, np.ndarray], np.ndarray],
    reach: Callable[[Any, Any], float],
    fitted: Sequence[Any],
    sample: Sample,
    validating: np.ndarray,
    epsilon: float,
    streams: Streams,
) -> np.ndarray:
    """Estimate the same from users who know their own record alone: each reports one difference of losses.

    Parameters
    ----------
    losses : callable (model, X, y) -> ndarray
    reach : callable (model, first) -> float
        Range to which devices clip the difference; a function of the models, which are public by then.
    """
    found = np.zeros(len(fitted))
    for k in range(1, len(fitted)):
        users = validating[k - 1 :: len(fitted) - 1]
        if users.size == 0:
            continue
        differences = np.zeros(len(sample.y))
        rows = sample.X[users], sample.y[users]
        differences[users] = losses(fitted[k], *rows) - losses(fitted[0], *rows)
        question = difference_question(reach(fitted[k], fitted[0]), epsilon)
        reports = ask_numbers(differences, users, question, streams.child("validation", candidate=k))
        found[k] = question.readings(reports).mean()
    return found


def difference_question(reach: float, epsilon: float) -> NumberQuestion:
    """What a user is asked about the difference of two losses, which lies in [-reach, reach]."""
    return NumberQuestion((-reach, reach), Hybrid(epsilon), "validation report")


def label_question(y_range: tuple[float, float], epsilon: float) -> NumberQuestion:
    """What a user is asked about the label."""
    return NumberQuestion(y_range, Hybrid(epsilon), "validation report")


def squared_reach(model: Any, first: Any, y_range: tuple[float, float], n_features: int) -> float:
    """Largest difference of squared errors for any label of the range, at fixed points of the unit cube."""
    points = Streams(0).generator("public points").random((N_PUBLIC_POINTS, n_features))
    mine, other = model.predict(points), first.predict(points)
    farthest = np.maximum(*(np.abs(mine + other - 2.0 * end) for end in y_range))
    return float((np.abs(mine - other) * farthest).max())


def reads_what_is_shown(fitted: Sequence[Any], hidden: np.ndarray) -> bool:
    """Whether the models read features alone that none of the validating users protects."""
    everything = np.arange(hidden.shape[1])
    return all(not hidden[:, getattr(model, "features_", everything)].any() for model in fitted)


def guarantee_of(fitted: Sequence[Any], division: Division, epsilon: float, shown: float, note: str) -> Guarantee:
    """Guarantee of the user who spends and sends most.

    Parameters
    ----------
    epsilon : float
        Budget of a validating user.
    shown : float
        Features that a validating user shows.
    note : str
        What ``fit`` took from protected values.
    """
    spent = [model.guarantee_ for model in fitted]
    compared = len(fitted) - 1
    validated = division.validating.size > 0 and compared > 0
    most = max([s.epsilon for s in spent] + [epsilon] * validated)
    users = f"{division.validating.size} users validate {compared} settings beside the first"
    if division.training:
        least, groups = min(map(len, division.training)), len(division.training)
        users = f"{least} users train each of {groups} groups of settings; {users}"
    return Guarantee(
        max((s.model for s in spent), key=list(MODELS).index),
        most,
        rounds=max([s.rounds for s in spent] + [int(validated)]),
        bits_up=max([s.bits_up for s in spent] + [REAL_BITS * (1.0 + shown)] * validated),
        bits_down=max(s.bits_down for s in spent),
        note="; ".join(filter(None, [users, note])),
    )
