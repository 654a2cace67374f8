"""Audit of a model on the worst pair of neighboring tables that a search within a time limit reaches."""

import random
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from lpbench.audit.black_box.claims import PrivacyClaim
from lpbench.audit.black_box.decide import FEWEST, Verdict, audit, pilot_score
from lpbench.audit.black_box.interfaces import Subject
from lpbench.audit.black_box.reports import Columns
from lpbench.audit.learner.neighbors import Neighbors, neighbors
from lpbench.audit.learner.training import GENERATORS, Learner, Protects, answers, fitted
from lpbench.errors import DataError
from lpbench.seeds import Streams

#: Seconds of the search and the test, and fits to each of the two tables at most.
SECONDS, MOST_FITS = 110.0, 250_000
#: Pairs of tables tried, fits to each table in a trial, pairs that go on, and how many times as many fits they get.
_PAIRS, _PILOT, _SURVIVORS, _MORE = 64, 100, 6, 6
#: Share of the time in which pairs are tried; pairs tested at once, and fits to each table of such a test.
_TRIALS, _AT_ONCE, _QUICK = 0.45, 8, 600
#: Entries of one attribute that are compared, how deep it is looked into, and the number that stands for none.
_MOST_ENTRIES, _DEEPEST, _NONE = 8, 4, -1e30
#: Fits to each table in a trial at least, and how many times its share of the time a trial may take.
_FEWEST, _DEAREST = 40, 4.0
#: Shares of the time that remains in which the worst pair and the second worst are tested.
_PARTS = (0.6, 0.9)
#: Fits that a worker makes in one go.
_CHUNK = 200


@contextmanager
def _apart() -> Iterator[None]:
    """Keep the global generators and the warnings of this process for the length of a block."""
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

    unit = "fits to each table"

    @_apart()
    def __init__(self, learner: Learner, epsilon: float, pair: Neighbors, seed: int = 0, workers: int = 1):
        self.name, self.values = learner.name or getattr(learner.kind, "__name__", "model"), ["one table", "neighbor"]
        self.learner, self.epsilon, self.pair = learner, epsilon, pair
        self.streams, self.workers, self.stage = Streams(seed), workers, "pilot"
        begun = time.monotonic()
        outputs = [one_fit(learner, epsilon, pair, value, seed) for value in (0, 1)]
        self.cost = time.monotonic() - begun  # seconds of a fit to each table
        self.sizes = {k: max(np.size(o.get(k, [])) for o in outputs) for o in outputs for k in o}

    def draw(self, value: int, start: int, stop: int) -> Columns:
        """Fit the model to a table, and return a column for each number that it publishes."""
        begins = range(start, stop, _CHUNK)
        tasks = [delayed(self._fits)(value, b, min(b + _CHUNK, stop) - b) for b in begins]
        workers = self.workers if len(tasks) > _CHUNK // 20 else 1
        table = np.concatenate(Parallel(n_jobs=workers)(tasks))
        names = [f"{k}[{i}]" if n > 1 else k for k, n in self.sizes.items() for i in range(n)]
        return dict(zip(names, table.T, strict=True))

    @_apart()
    def _fits(self, value: int, start: int, n: int) -> np.ndarray:
        """Outputs of ``n`` fits, one a row; a fit that fails is an output of its own."""
        rng = self.streams.generator("fits", stage=self.stage, title=self.pair.title, value=value, start=start)
        table = np.full((n, sum(self.sizes.values())), _NONE)
        for row, seed in zip(table, rng.integers(2**31, size=n), strict=True):
            try:
                outputs = one_fit(self.learner, self.epsilon, self.pair, value, int(seed))
            except DataError:
                continue
            end = 0
            for name, size in self.sizes.items():
                numbers = outputs.get(name, row[:0])[:size]
                row[end : end + numbers.size] = numbers
                end += size
        return np.nan_to_num(table, nan=_NONE, posinf=-_NONE, neginf=_NONE)

    def score(self, fits: int, claim: PrivacyClaim, failure: float) -> float:
        """Bound from pilot fits to each table, which need no guarantee; their time is that of later ones."""
        begun = time.monotonic()
        first, second = (self.draw(value, 0, fits) for value in (0, 1))
        self.cost = (time.monotonic() - begun) / fits
        return pilot_score(first, second, fits, claim, failure)


def one_fit(learner: Learner, epsilon: float, pair: Neighbors, value: int, seed: int) -> dict[str, np.ndarray]:
    """Fit a model to one of two tables and return the numbers that it publishes, by name; seeds global generators.

    Raises
    ------
    DataError
        The model cannot be made or fitted.
    """
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    model = learner(epsilon, seed, **pair.ranges.public)
    if not pair.refits:
        return published(fitted(model, *_copy(pair.tables[value])), pair.queries)
    before = published(fitted(model, *_copy(pair.tables[0])), pair.queries)
    if learner.seed_name is not None:
        again = seed + 1
        new = np.random.default_rng(again) if learner.seed_name in GENERATORS else again
        setattr(model, learner.seed_name, new)
    after = published(fitted(model, *_copy(pair.tables[value])), pair.queries)
    same = {k: v - before[k] for k, v in after.items() if k in before and v.shape == before[k].shape}
    return after | {f"change of {k}": change for k, change in same.items()}


def _copy(table: tuple[np.ndarray, np.ndarray]) -> Iterator[np.ndarray]:
    return (array.copy() for array in table)


def published(model: Any, queries: np.ndarray) -> dict[str, np.ndarray]:
    """Numbers that a fitted model publishes: attributes that end in ``_``, predictions, and where these jump."""
    found = {
        name: np.fromiter(_numbers(value, _DEEPEST), dtype=np.float64)[:_MOST_ENTRIES]
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_")
    }
    if (table := answers(model, queries)) is not None:
        found["prediction"] = table[::16, -1]
        steps = np.abs(np.diff(table[:, -1]))
        found["cut"] = np.array([np.argmax(steps), np.argmax(np.append(steps > 0, True))], dtype=np.float64)
    return {name: numbers for name, numbers in found.items() if numbers.size}


def _numbers(value: Any, depth: int) -> Iterator[float]:
    """Yield the numbers in a value, and in what it holds."""
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


def worst_tables_audit(
    learner: Learner,
    claim: PrivacyClaim,
    protects: Protects = "record",
    *,
    seconds: float = SECONDS,
    fits: int = MOST_FITS,
    failure: float = 1e-3,
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[str], Any] = lambda text: None,
) -> Verdict:
    """Bound a model's loss from below on the worst neighboring tables that a search reaches.

    Pairs of tables are tried on a few fits each; one that looks worse than the claim is tested at once, on new fits.
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
    workers : int
        Processes that fit.
    tell : callable
        Gets a sentence where the work goes on to its next step.

    Returns
    -------
    Verdict
        The largest bound, its event and its tables.

    Raises
    ------
    DataError
        The model refuses all tables.
    """
    start = time.monotonic()
    share, refused = _TRIALS * seconds / _PAIRS, "no time was left"
    tried: list[tuple[float, ModelSource]] = []
    again: list[tuple[float, ModelSource]] = []
    tests: list[Verdict] = []

    def left() -> float:
        return seconds - (time.monotonic() - start)

    def tested(source: ModelSource, n: int, share: float) -> bool:
        source.stage = f"test {len(tests)}"
        verdict = audit(source, claim, n, failure * share)
        remarks = (*verdict.remarks, f"tables: {source.pair.title}")
        tests.append(replace(verdict, confidence=1 - failure, remarks=remarks))
        return verdict.violated

    for pair in islice(neighbors(learner, claim.epsilon, protects, seed), 4 * _PAIRS):
        if len(tried) >= _PAIRS or (tried and left() < (1 - _TRIALS) * seconds):
            break
        try:
            source = ModelSource(learner, claim.epsilon, pair, seed, workers)
        except DataError as error:
            refused = str(error)
            continue
        pilot = int(np.clip(share / source.cost, _FEWEST, _PILOT))
        if tried and source.cost * pilot > _DEAREST * share:
            continue
        tried.append((source.score(pilot, claim, failure), source))
        if tried[-1][0] > claim.epsilon and len(tests) < _AT_ONCE and tested(source, min(_QUICK, fits), 0.5 / _AT_ONCE):
            return tests[-1]
    if not tried:
        raise DataError(f"{learner.name}: no pair of tables could be audited: {refused}")
    tell(f"{len(tried)} pairs of tables tried, the worst {_SURVIVORS} go on")
    for _, source in sorted(tried, key=lambda one: -one[0])[:_SURVIVORS]:
        if not again or left() > 0.4 * seconds:
            source.stage = "second pilot"
            n = int(np.clip(_MORE * share / source.cost, _FEWEST, _MORE * _PILOT))
            again.append((source.score(n, claim, failure), source))
    for (_, source), part in zip(sorted(again, key=lambda one: -one[0]), _PARTS, strict=False):
        n = int(np.clip(part * left() * workers / source.cost, FEWEST, fits))
        tell(f"{n} fits to each table: {source.pair.title}")
        if tested(source, n, 0.25):
            break
    return max(tests, key=lambda verdict: verdict.bound)
