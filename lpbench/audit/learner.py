"""Black-box audits of training code: anything with ``fit(X, y)`` that claims label or record privacy.

Three audits, which prove different things:

- The *leak test* fits on one sample, then on another whose private inputs differ, with the reports of the first. A
  difference proves that ``fit`` reads private inputs beside the reports. It bounds no epsilon; and if there is none,
  that is true of the two samples tried, and the reports must be audited on their own.
- The *canary audit* trains once on records of which each is one of two versions by a fair coin, and guesses the coins
  from the model (Steinke, Nasr and Jagielski 2023). It proves a lower bound on epsilon, never an upper one; one
  training can prove log(f^(1/m) / (1 - f^(1/m))) at most, for m canaries and failure probability f.
- *Label inference* trains many times, with one coin each, and guesses it: the advantage over a fair guess gives a
  lower bound on epsilon that needs no assumption, sharper for one vulnerable record and many trainings dearer.

References
----------
.. [1] T. Steinke, M. Nasr, M. Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023, Theorem 5.2.
.. [2] H. Robbins, "Statistical methods related to the law of the iterated logarithm", Annals of Mathematical Statistics
   41, 1970: limits that hold at all sample sizes together.
.. [3] R. Busa-Fekete, T. Dick, C. Gentile, A. Munoz Medina, A. Smith, M. Swanberg, "Auditing privacy mechanisms via
   label inference attacks", 2024: the label-inference advantage.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pkgutil import resolve_name
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, xlog1py, xlogy
from scipy.stats import binom

from lpbench.audit.black_box.sources import load_function
from lpbench.audit.empirical import clopper_pearson
from lpbench.errors import CellTimeout, ConfigurationError, DataError
from lpbench.seeds import Streams

Protects = Literal["label", "record"]
#: (epsilon, seed) -> unfitted learner.
Maker = Callable[[float, int], Any]
#: What each audit can prove, for reports.
PROVES = {
    "leak": "a difference proves that fit reads private inputs beside the reports; it bounds no epsilon",
    "canary": "a lower bound on epsilon from one training; nothing is proven by a small bound",
    "inference": "a lower bound on epsilon from many trainings; nothing is proven by a small bound",
}
#: Canaries, repeated trainings, and records of the sample of each.
N_CANARIES, N_TRAININGS, N_FEATURES, N_OTHERS = 1000, 300, 5, 20


@dataclass(frozen=True)
class LearnerBound:
    """What trainings prove about a learner.

    Attributes
    ----------
    audit : {"canary", "inference"}
    epsilon : float
        Lower bound, >= 0.
    failure_probability : float
        Probability that ``epsilon`` exceeds the true loss.
    right, guesses : int
        Coins guessed right, and guessed.
    advantage : float
        2 right / guesses - 1; an epsilon-private learner allows (e^epsilon - 1) / (e^epsilon + 1) on average.
    """

    audit: str
    epsilon: float
    failure_probability: float
    right: int
    guesses: int

    @property
    def advantage(self) -> float:
        return 2.0 * self.right / self.guesses - 1.0 if self.guesses else 0.0

    def __str__(self) -> str:
        return (
            f"{self.audit}: epsilon >= {self.epsilon:.4g} (confidence {100 * (1 - self.failure_probability):.6g} %), "
            f"{self.right} of {self.guesses} coins guessed, advantage {self.advantage:.3g}; {PROVES[self.audit]}"
        )


def load_learner(name: str) -> Maker:
    """Import ``module:Class`` or ``file.py:Class`` and return a function (epsilon, seed) -> learner.

    ``epsilon`` and ``random_state`` are passed where the constructor takes them.

    Raises
    ------
    ConfigurationError
        If there is no such object, or what it makes has no ``fit`` and ``predict``.
    """
    try:
        kind = load_function(name)
    except ConfigurationError as error:
        raise ConfigurationError(f"learner={name!r} must be module:Class or file.py:Class: {error}") from None
    if not (hasattr(kind, "fit") and hasattr(kind, "predict")) and inspect.isclass(kind):
        raise ConfigurationError(f"learner={name!r} has no fit(X, y) and predict(X)")
    taken = inspect.signature(kind).parameters

    def make(epsilon: float, seed: int) -> Any:
        given = {"epsilon": epsilon, "random_state": seed}
        return kind(**{key: value for key, value in given.items() if key in taken})

    return make


def canary_audit(
    make: Maker, epsilon: float, protects: Protects = "label", m: int = N_CANARIES, seed: int = 0, failure: float = 1e-3
) -> LearnerBound:
    """Bound a learner's loss from below by one training on canaries.

    The sample consists of ``m`` canaries; a fair coin decides between two labels of each (label privacy) or between two
    records (record privacy under replacement). The coins whose model scores are the most extreme are guessed: all, a
    half, a quarter, ..., among which the failure probability is divided.

    Parameters
    ----------
    make : callable (epsilon, seed) -> learner
    epsilon : float
        What the learner is asked for.
    protects : {"label", "record"}
    m : int
    seed : int
    failure : float
        Probability that the bound exceeds the loss.
    """
    rng = Streams(seed).generator("canaries")
    X, y = _pairs(rng, m, protects)
    coins = rng.integers(2, size=m)
    rows = np.arange(m)
    model = _fitted(make(epsilon, seed), X[coins, rows], y[coins, rows])
    scores = _scores(model, X, y)
    order = np.argsort(-np.abs(scores), kind="stable")
    order = order[scores[order] != 0]
    sizes = sorted({max(order.size // 2**k, 1) for k in range(6)}) if order.size else []
    best = LearnerBound("canary", 0.0, failure, 0, 0)
    for size in sizes:
        guessed = order[:size]
        right = int(((scores[guessed] > 0) == (coins[guessed] == 1)).sum())
        bound = one_run_epsilon(right, size, failure / len(sizes))
        if bound >= best.epsilon:
            best = LearnerBound("canary", bound, failure, right, size)
    return best


def one_run_epsilon(right: int, guesses: int, failure: float, delta: float = 0.0, m: int | None = None) -> float:
    """Lower bound on epsilon from the number of coins guessed right in one run.

    The largest epsilon at which P(at least ``right`` of ``guesses``) is at most ``failure``: by Steinke, Nasr and
    Jagielski's Theorem 5.2 the number is dominated by Binomial(guesses, e^eps / (1 + e^eps)), plus a term in delta.

    Parameters
    ----------
    right, guesses : int
    failure : float
    delta : float
    m : int, optional
        Canaries, guessed or not; by default ``guesses``.
    """
    if guesses == 0 or 2 * right <= guesses:
        return 0.0
    m = guesses if m is None else m

    def p_value(epsilon: float) -> float:
        p = 1.0 / (1.0 + math.exp(-epsilon))
        beta = float(binom.sf(right - 1, guesses, p))
        if delta == 0:
            return beta
        i = np.arange(1, right + 1)
        below = binom.sf(right - 1 - i, guesses, p) - beta
        return beta + float(2.0 * m * delta * (below / i).max())

    if p_value(0.0) >= failure:
        return 0.0
    if p_value(40.0) <= failure:
        return 40.0
    return float(brentq(lambda epsilon: p_value(epsilon) - failure, 0.0, 40.0, xtol=1e-9))


def inference_audit(
    make: Maker,
    epsilon: float,
    protects: Protects = "label",
    trainings: int = N_TRAININGS,
    seed: int = 0,
    failure: float = 1e-3,
    delta: float = 0.0,
    stop: bool = False,
) -> LearnerBound:
    """Bound a learner's loss from below by guessing one record's coin in many independent trainings.

    The sample is one target, far from 20 other records that are the same in every training. An (epsilon, delta)-private
    learner lets a fair coin be guessed with probability (e^epsilon + delta) / (e^epsilon + 1) at most; the share
    guessed right is bounded by Clopper and Pearson's limit or, with ``stop``, by :func:`anytime_lower`.

    Parameters
    ----------
    make : callable (epsilon, seed) -> learner
    epsilon : float
        What the learner is asked for.
    protects : {"label", "record"}
    trainings : int
        At most.
    seed : int
    failure : float
        Probability that the bound exceeds the loss.
    delta : float
    stop : bool
        Stop as soon as the bound exceeds ``epsilon``.
    """
    streams = Streams(seed)
    others, labels = _pairs(streams.generator("others"), N_OTHERS, protects)
    target, answers = _pairs(streams.generator("target"), 1, protects)
    # A record far from the others, with labels that differ
    target = target + 10.0
    coins = streams.generator("coins").integers(2, size=trainings)
    right, n, bound = 0, 0, 0.0
    toss = streams.generator("ties")
    for n, coin in enumerate(coins, 1):
        X = np.vstack([others[0], target[coin]])
        y = np.append(labels[0], answers[coin])
        model = _fitted(make(epsilon, int(streams.generator("training", number=n - 1).integers(2**31))), X, y)
        score = float(_scores(model, target, answers)[0]) or toss.random() - 0.5
        right += bool((score > 0) == (coin == 1))
        if stop:
            bound = _loss(anytime_lower(right, n, failure), delta)
            if bound > epsilon:
                break
    if not stop:
        bound = _loss(float(clopper_pearson(right, n, failure)[0]), delta)
    return LearnerBound("inference", bound, failure, right, n)


def _loss(p: float, delta: float) -> float:
    """Loss that a fair coin guessed with probability p at least proves."""
    return max(math.log(max(p - delta, 1e-300) / (1.0 - p)), 0.0) if p < 1.0 else math.inf


def anytime_lower(hits: int, n: int, failure: float) -> float:
    """Lower confidence limit of a probability that holds at all n together, so that one may stop at any of them.

    A gambler who spreads a stake evenly over all probabilities and bets by each of them has B(hits + 1, misses + 1) /
    (p^hits (1 - p)^misses) after n draws of probability p, which ever exceeds 1 / failure with that probability at most
    (Robbins 1970, Ville's inequality). The limit is the smallest p whose gambler has not got there.

    Parameters
    ----------
    hits, n : int
    failure : float
        Probability that the limit is above p for some n.
    """
    if hits == 0:
        return 0.0

    def wealth(p: float) -> float:
        return float(betaln(hits + 1, n - hits + 1) - xlogy(hits, p) - xlog1py(n - hits, -p)) + math.log(failure)

    share = hits / n
    return float(brentq(wealth, 1e-300, share, xtol=1e-12)) if wealth(share) < 0 else share


def leak_test(
    make: Maker, epsilon: float, reports: Sequence[str], protects: Protects = "label", n: int = 200, seed: int = 0
) -> str | None:
    """Fit on a sample, then on another whose private inputs differ while the reports stay those of the first.

    Labels are permuted, replaced by their rank's parity, and set constant, so that a leak that is symmetric in them
    (a variance, a count, an entropy) shows as well.

    Parameters
    ----------
    make : callable (epsilon, seed) -> learner
        Which must give the same model twice for the same data and seed.
    epsilon : float
    reports : sequence of str
        ``module.function`` or ``module.Class.method``, where the learner looks them up: what they return is what leaves
        devices.
    protects : {"label", "record"}
    n : int
        Records.
    seed : int

    Returns
    -------
    str or None
        What leaked; None: nothing on these samples.

    Raises
    ------
    DataError
        If two fits on the same sample differ, or no report function was called.
    """
    if not reports:
        raise ConfigurationError("reports=[]: the leak test needs a function whose results leave the devices")
    rng = Streams(seed).generator("leak")
    X, y = rng.standard_normal((n, N_FEATURES)), rng.integers(2, size=n)
    queries = rng.standard_normal((4 * n, N_FEATURES))
    tape: list[Any] = []
    with _patched(reports, lambda function: _recorded(function, tape)):
        original = _outputs(_fitted(make(epsilon, seed), X, y), queries)
    if not tape:
        raise DataError(f"reports={list(reports)}: fit called none of them, so that nothing can be replayed")
    if not np.array_equal(original, _replayed(make, epsilon, seed, reports, tape, X, y, queries)):
        raise DataError("two fits on the same sample and reports differ: the learner needs a random_state")
    others = {
        "permuted labels": rng.permutation(y),
        "labels of another rule": (X[:, 1] * X[:, 2] > 0).astype(y.dtype),
        "almost constant labels": np.where(np.arange(n) == 0, 1 - y[1:].max(), y[1:].max()),
    }
    for name, labels in others.items():
        private = rng.permutation(X) if protects == "record" else X
        try:
            changed = _replayed(make, epsilon, seed, reports, tape, private, labels, queries)
        except _OtherReports as error:
            return f"{name}: {error}"
        if not np.array_equal(original, changed):
            return f"{name}: the model differs although every report is the same"
    return None


class _OtherReports(Exception):
    """The second fit asked for other reports than the first."""


def _replayed(make, epsilon, seed, reports, tape, X, y, queries) -> np.ndarray:
    position = iter(tape)

    def wrap(function: Callable) -> Callable:
        @wraps(function)
        def replay(*args: Any, **options: Any) -> Any:
            function(*args, **options)  # its draws are taken from the learner's generator as in the first fit
            try:
                return next(position)
            except StopIteration:
                raise _OtherReports("fit asks for more reports than on the first sample") from None

        return replay

    with _patched(reports, wrap):
        model = _fitted(make(epsilon, seed), X, y)
    if next(position, None) is not None:
        raise _OtherReports("fit asks for fewer reports than on the first sample")
    return _outputs(model, queries)


def _recorded(function: Callable, tape: list[Any]) -> Callable:
    @wraps(function)
    def record(*args: Any, **options: Any) -> Any:
        tape.append(function(*args, **options))
        return tape[-1]

    return record


@contextmanager
def _patched(paths: Sequence[str], wrap: Callable[[Callable], Callable]) -> Iterator[None]:
    with ExitStack() as stack:
        for path in paths:
            owner, _, name = path.replace(":", ".").rpartition(".")
            try:
                holder = resolve_name(owner)
                function = vars(holder)[name]
            except (ImportError, AttributeError, ValueError, KeyError) as error:
                raise ConfigurationError(f"reports={path!r} must be module.function or module.Class.method") from error
            stack.enter_context(patch.object(holder, name, wrap(function)))
        yield


def _pairs(rng: np.random.Generator, m: int, protects: Protects) -> tuple[np.ndarray, np.ndarray]:
    """Return two versions of m records: X of shape (2, m, d), y of shape (2, m)."""
    if protects not in ("label", "record"):
        raise ConfigurationError(f"protects={protects!r} must be 'label' or 'record'")
    first = rng.standard_normal((m, N_FEATURES))
    second = rng.standard_normal((m, N_FEATURES)) if protects == "record" else first
    labels = rng.integers(2, size=m)
    return np.stack([first, second]), np.stack([labels, 1 - labels])


def _fitted(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    try:
        fitted = model.fit(X, y)
    except (_OtherReports, CellTimeout):
        raise
    except Exception as error:
        raise DataError(f"fit failed on {len(X)} records: {type(error).__name__}: {error}") from error
    return model if fitted is None else fitted


def _outputs(model: Any, X: np.ndarray) -> np.ndarray:
    """Return what the model says about class 1, or its predictions: finite numbers, one for each row."""
    try:
        if hasattr(model, "predict_proba"):
            table, classes = np.asarray(model.predict_proba(X)), list(model.classes_)
            result = table[:, classes.index(1)] if 1 in classes else np.zeros(len(X))
        else:
            result = np.asarray(model.predict(X), dtype=np.float64)
    except CellTimeout:
        raise
    except Exception as error:
        raise DataError(f"predict failed on {len(X)} records: {type(error).__name__}: {error}") from error
    if result.shape != (len(X),) or not np.isfinite(result).all():
        raise DataError(f"predict returned shape {result.shape} for {len(X)} records, or numbers that are not finite")
    return result


def _scores(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return how much better the model fits the second version of each record than the first."""
    loss = [np.abs(_outputs(model, X[i]) - y[i]) for i in (0, 1)]
    return loss[0] - loss[1]
