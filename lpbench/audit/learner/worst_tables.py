"""Audit of a model on the worst pair of neighboring tables that a search within a time limit reaches."""

import math
import random
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from time import monotonic as clock
from typing import Any

import numpy as np

from lpbench.audit.black_box.claims import PrivacyClaim
from lpbench.audit.black_box.decide import FEWEST, Verdict, audit, pilot_score
from lpbench.audit.black_box.interfaces import Subject
from lpbench.audit.black_box.reports import Columns
from lpbench.audit.learner.neighbors import Neighbors, neighbors
from lpbench.audit.learner.training import Learner, Protects, answers, fitted
from lpbench.errors import DataError
from lpbench.seeds import Streams

#: Seconds of the search and the test, and fits to each of the two tables at most.
SEARCH_SECONDS, MOST_FITS = 110.0, 250_000
#: Pairs of tables tried, fits to each table in a trial, pairs that go on, and how many times as many fits they get.
_PAIRS, _PILOT, _SURVIVORS, _MORE = 64, 100, 6, 6
#: Share of the time in which pairs are tried; that of the claim from which one is tested at once, how many are, and the
#: fits to each table of such a test.
_TRIALS, _LIKELY, _AT_ONCE, _QUICK = 0.45, 0.75, 8, 600
#: Entries of one attribute that are compared, how deep it is looked into, and the number that stands for none.
_MOST_ENTRIES, _DEEPEST, _NONE = 8, 4, -1e30
#: Fits to each table in a trial at least, and how many times the cheapest fit one may cost.
_FEWEST, _DEAREST = 40, 4.0
#: Shares of the time that remains in which the worst pair and the second worst are tested.
_PARTS = (0.6, 0.9)


@contextmanager
def _apart() -> Iterator[None]:
    """Context that restores this process's global random generators and warnings afterwards."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002


class ModelSource(Subject):
    """Outputs of a model fitted again and again to one of two neighboring tables, each time by another seed."""

    def __init__(self, learner: Learner, epsilon: float, pair: Neighbors, seed: int = 0):
        self.name, self.unit, self.values = learner.title, f"fits to each table ({pair.title})", ["table", "neighbor"]
        self.learner, self.epsilon, self.pair = learner, epsilon, pair
        self.streams, self.stage, start = Streams(seed), "pilot", clock()
        self.names = list({**one_fit(learner, epsilon, pair, 0, seed), **one_fit(learner, epsilon, pair, 1, seed)})
        self.cost = clock() - start  # seconds of a fit to each table

    def draw(self, value: int, start: int, stop: int) -> Columns:
        """Fit the model to a table; a fit that fails is an output of its own."""
        rng = self.streams.generator("fits", stage=self.stage, title=self.pair.title, value=value, start=start)
        table = np.full((stop - start, len(self.names)), np.nan)
        for row, seed in zip(table, rng.integers(2**31, size=len(table)), strict=True):
            with suppress(DataError):
                outputs = one_fit(self.learner, self.epsilon, self.pair, value, int(seed))
                row[:] = [outputs.get(name, np.nan) for name in self.names]
        return dict(zip(self.names, np.nan_to_num(table, nan=_NONE, posinf=-_NONE, neginf=_NONE).T, strict=True))

    def score(self, fits: int, claim: PrivacyClaim, failure: float) -> float:
        """Bound the loss from pilot fits to each table, without a guarantee; they also time later fits."""
        start = clock()
        first, second = (self.draw(value, 0, fits) for value in (0, 1))
        self.cost = (clock() - start) / fits
        return pilot_score(first, second, fits, claim, failure)


def one_fit(learner: Learner, epsilon: float, pair: Neighbors, value: int, seed: int) -> dict[str, float]:
    """Fit a model to one of two tables and return the numbers that it publishes, by name; seeds global generators.

    Raises
    ------
    DataError
        The model cannot be made or fitted.
    """
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    model = learner(epsilon, seed, **pair.ranges.public)

    def after_fit(table: int) -> dict[str, float]:
        return published(fitted(model, *map(np.copy, pair.tables[table])), pair.queries)

    before = after_fit(0) if pair.refits else {}
    vars(model).update(learner.seeded(seed + 1) if pair.refits else {})
    after = after_fit(value)
    return after | {f"change of {name}": after[name] - old for name, old in before.items() if name in after}


def published(model: Any, queries: np.ndarray) -> dict[str, float]:
    """Numbers that a fitted model publishes: attributes that end in ``_``, predictions, and where these jump."""
    numbers_of: dict[str, Any] = {
        k: _numbers(value, _DEEPEST) for k, value in vars(model).items() if k[-1] == "_" != k[0]
    }
    if (table := answers(model, queries)) is not None:
        steps = np.abs(np.diff(table[:, -1]))
        numbers_of |= {"prediction": table[::16, -1], "cut": [np.argmax(steps), np.argmax(np.append(steps > 0, True))]}
    return {
        f"{k}[{i}]": float(x) for k, these in numbers_of.items() for i, x in enumerate(islice(these, _MOST_ENTRIES))
    }


def _numbers(value: Any, depth: int) -> Iterator[float]:
    """Yield the numbers in a value, and in what it holds down to ``depth`` levels, as attributes or entries."""
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        yield float(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        yield from map(float, value.ravel()[:_MOST_ENTRIES])
    elif depth and not isinstance(value, (str, bytes)):
        if all(hasattr(value, name) for name in ("threshold", "feature", "value")):  # a tree of scikit-learn
            inside: Iterable[Any] = (value.threshold, value.feature, value.value)
        elif isinstance(value, (list, tuple, np.ndarray)):
            inside = value
        else:
            inside = (value if isinstance(value, Mapping) else getattr(value, "__dict__", {})).values()
        for element in inside:
            yield from _numbers(element, depth - 1)


@_apart()
def worst_tables_audit(
    learner: Learner,
    claim: PrivacyClaim,
    protects: Protects = "record",
    *,
    seconds: float = SEARCH_SECONDS,
    fits: int = MOST_FITS,
    failure: float = 1e-3,
    seed: int = 0,
) -> Verdict:
    """Bound a model's loss from below on the worst neighboring tables that a search reaches.

    Pairs of tables are tried on a few fits each; one that looks as bad as the claim is tested at once, on new fits.
    The best go on, and the last is tested on as many fits as the time allows. The failure probability is divided among
    the tests.

    Parameters
    ----------
    learner : Learner
    claim : PrivacyClaim
        For replacement of one record, or of its label.
    protects : {"record", "label"}
    seconds : float
        Time of the search and the test.
    fits : int
        Fits to each of two tables, at most.
    failure : float
        Probability that the bound exceeds the loss.

    Returns
    -------
    Verdict
        The largest bound, its event and its tables.

    Raises
    ------
    DataError
        The model refuses all tables.
    """
    end, share, refused = clock() + seconds, _TRIALS * seconds / _PAIRS, "no time was left"
    cheapest = math.inf
    tried: list[tuple[float, ModelSource]] = []
    again: list[tuple[float, ModelSource]] = []
    tests: list[Verdict] = []

    def scored(source: ModelSource, most: int) -> tuple[float, ModelSource]:
        n = int(np.clip(most / _PILOT * share / source.cost, _FEWEST, most))
        return source.score(n, claim, failure), source

    def tested(source: ModelSource, n: int, share: float) -> bool:
        source.stage = f"test {len(tests)}"
        tests.append(replace(audit(source, claim, n, failure * share), confidence=1 - failure))
        return tests[-1].violated

    for pair in islice(neighbors(learner, claim.epsilon, protects, seed), 4 * _PAIRS):
        if len(tried) == _PAIRS or (tried and end - clock() < (1 - _TRIALS) * seconds):
            break
        try:
            source = ModelSource(learner, claim.epsilon, pair, seed)
        except DataError as error:
            refused = str(error)
            continue
        one = scored(source, _PILOT) if source.cost <= _DEAREST * cheapest else None
        cheapest = min(cheapest, source.cost)
        if one is None or source.cost > _DEAREST * cheapest:
            continue
        tried.append(one)
        n = min(int((end - clock()) / 4 / source.cost), _QUICK, fits)
        likely = n >= FEWEST and one[0] > _LIKELY * claim.epsilon and len(tests) < _AT_ONCE
        if likely and tested(source, n, 0.5 / _AT_ONCE):
            return tests[-1]
    if not tried:
        raise DataError(f"{learner.title}: no pair of tables could be audited: {refused}")
    for _, source in sorted(tried, key=lambda one: -one[0])[:_SURVIVORS]:
        if not again or end - clock() > 0.4 * seconds:
            source.stage = "second pilot"
            again.append(scored(source, _MORE * _PILOT))
    for (_, source), fraction in zip(sorted(again, key=lambda one: -one[0]), _PARTS, strict=False):
        if tested(source, int(np.clip(fraction * (end - clock()) / source.cost, FEWEST, fits)), 0.25):
            break
    return max(tests, key=lambda verdict: verdict.bound)
