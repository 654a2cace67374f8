import copy
import multiprocessing
import os
import pickle
import re
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import GridSearchCV

from lpbench.errors import DataError, LimitError, PrivacyError, SpendingWarning
from lpbench.estimators import Hist, PrivateMean
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.ledger import PrivacyLedger
from lpbench.privacy import SimulatedUsers
from lpbench.problem import Problem
from lpbench.seeds import Streams
from tests.slowly import slow_but

pytestmark = [
    pytest.mark.filterwarnings("ignore::lpbench.errors.SpendingWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning"),
]
rng = np.random.default_rng(0)
X, Y = rng.random((40, 2)), rng.random(40)
FRAME = pd.DataFrame(X, columns=["age", "income"])


@dataclass(eq=False, repr=False)
class Waiting(PrivateMean):
    """A mean whose fit asks when all that were begun have been admitted or refused."""

    gate: object = None

    def learn(self, users):
        self.gate.wait(timeout=20)
        return super().learn(users)


def in_threads(model, fits, table):
    """Begin fits at once; returns how many were refused."""
    refused, gate = [], threading.Event()

    def fit():
        try:
            type(model)(1.0, y_range=(0, 1), gate=gate).fit(table, Y)
        except PrivacyError as error:
            refused.append(error)
        if len(refused) == fits - 1:
            gate.set()

    threads = [threading.Thread(target=fit) for _ in range(fits)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    return len(refused)


@pytest.mark.parametrize("table", [X, FRAME], ids=["array", "frame"])
def test_what_is_admitted_is_reserved_until_it_is_spent(table):
    with PrivacyLedger(limit=1.0) as ledger:
        assert in_threads(Waiting(), 4, table) == 3
    assert ledger.epsilon == 1.0 and len(ledger.payments) == 1


def test_a_grid_search_in_threads_keeps_to_the_limit():
    search = GridSearchCV(Hist(1.0, y_range=(0, 1), random_state=0), {"bins": [2, 3]}, cv=2, n_jobs=4)
    with PrivacyLedger(limit=2.0) as ledger, pytest.raises(PrivacyError):
        search.fit(X, Y)
    assert ledger.epsilon <= 2.0


def test_what_a_failed_or_cheaper_fit_leaves_of_its_reservation_is_free_again(monkeypatch):
    with PrivacyLedger(limit=1.0) as ledger:
        with monkeypatch.context() as patched:
            patched.setattr(SimulatedUsers, "sums", lambda *_: 1 / 0)
            patched.setattr(SimulatedUsers, "ask", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                PrivateMean(1.0, y_range=(0, 1)).fit(X, Y)
        assert ledger.epsilon == 0.0
        with PrivacyLedger(limit=0.5), pytest.raises(PrivacyError, match=r"limit=0\.5"):
            PrivateMean(1.0, y_range=(0, 1)).fit(X, Y)
        PrivateMean(1.0, y_range=(0, 1)).fit(X, Y)
    assert ledger.epsilon == 1.0 and len(ledger.payments) == 2


def test_copies_of_a_row_are_one_user():
    with PrivacyLedger() as ledger, pytest.warns(SpendingWarning, match="stands 3 times and is taken for one user"):
        PrivateMean(1.0, y_range=(0, 1)).fit(np.repeat(X, 3, axis=0), np.repeat(Y, 3))
    assert ledger.epsilon == 3.0
    with PrivacyLedger(limit=2.0), pytest.raises(PrivacyError, match="costs epsilon = 3"):
        PrivateMean(1.0, y_range=(0, 1)).fit(np.repeat(X, 3, axis=0), np.repeat(Y, 3))
    # rows that a frame names are whose they are said to be, with a warning
    with PrivacyLedger() as ledger, pytest.warns(SpendingWarning, match="taken for 3 users"):
        PrivateMean(1.0, y_range=(0, 1)).fit(pd.DataFrame(np.repeat(X, 3, axis=0)), np.repeat(Y, 3))
    assert ledger.epsilon == 1.0
    with PrivacyLedger(limit=1.0), pytest.raises(PrivacyError, match="costs epsilon = 2"):
        PrivateMean(1.0, y_range=(0, 1)).fit(FRAME.loc[[0, 1, 1]], Y[[0, 1, 1]])


def test_users_of_a_table_of_few_categories_are_alike_and_others():
    few, label = np.arange(200)[:, None] % 2.0, np.arange(200) % 2 / 1.0
    with PrivacyLedger(limit=1.0) as ledger, pytest.warns(SpendingWarning, match="taken for 100 users"):
        PrivateMean(1.0, y_range=(0, 1)).fit(few, label)
    assert ledger.epsilon == 1.0
    with warnings.catch_warnings(), PrivacyLedger(limit=1.0):
        warnings.simplefilter("error")
        PrivateMean(1.0, y_range=(0, 1)).fit(pd.DataFrame(few), label)
        assert ledger.epsilon == 1.0


def test_bagging_draws_users_again():
    bag = BaggingRegressor(PrivateMean(1.0, y_range=(0, 1)), n_estimators=5, random_state=0, n_jobs=2)
    with PrivacyLedger() as ledger:
        bag.fit(FRAME, Y)
    drawn = sum(np.bincount(rows, minlength=40) for rows in bag.estimators_samples_)
    assert len(ledger.payments) == 5 and ledger.epsilon >= drawn.max()


class Columns:
    """A table of another library: columns by name, and no index."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns
        self.shape = values.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)

    def __len__(self):
        return len(self.values)


def test_a_table_without_an_index_is_entered_like_an_array():
    with PrivacyLedger() as ledger:
        for _ in range(2):
            PrivateMean(1.0, y_range=(0, 1)).fit(Columns(X, ["age", "income"]), Y)
    assert ledger.epsilon == 2.0


@pytest.mark.parametrize("name", [float("nan"), None, pd.NaT, pd.NA, "", " ", "nan", ("x", float("nan"))], ids=repr)
@pytest.mark.parametrize("nameless", [40, 1])
def test_a_row_without_a_name_may_be_anybodys(name, nameless):
    index = pd.Index([name] * nameless + [f"p{k}" for k in range(40 - nameless)], dtype=object, tupleize_cols=False)
    table = FRAME.set_index(index)
    with PrivacyLedger() as ledger:
        for seed in (0, 1):
            PrivateMean(1.0, y_range=(0, 1), random_state=seed).fit(table, Y)
    assert ledger.epsilon == 2.0 and ledger.of("p38") == 2.0 and ledger.of("somebody else") == 2.0
    with PrivacyLedger(limit=1.0), pytest.raises(LimitError, match="0 left of limit=1"):
        for seed in (0, 1):
            PrivateMean(1.0, y_range=(0, 1), random_state=seed).fit(table, Y)


def test_a_name_in_two_rows_counts_twice_beside_rows_without_a_name():
    table = FRAME.set_index(pd.Index(["a", "a", None, *range(37)], dtype=object))
    with PrivacyLedger() as ledger:
        PrivateMean(1.0, y_range=(0, 1)).fit(table, Y)
    assert ledger.epsilon == 2.0


@pytest.mark.parametrize("name", [float("nan"), None, pd.NaT, pd.NA, ""], ids=repr)
def test_a_unit_without_a_name_is_refused_by_the_name_of_the_column(name):
    units = pd.Series([*range(39), name], dtype=object, name="pid")
    with pytest.raises(DataError, match=r"units \(column 'pid'\) has no name in row 39"):
        PrivateMean(1.0, y_range=(0, 1)).fit(FRAME, Y, units=units)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_ledger_goes_on_from_what_was_spent_and_counts_on_its_own(duplicate):
    with PrivacyLedger(limit=2.5) as ledger:
        PrivateMean(1.0, y_range=(0, 1)).fit(FRAME, Y)
        PrivateMean(0.5, y_range=(0, 1)).fit(X, Y)
    twin = duplicate(ledger)
    with twin:
        PrivateMean(0.75, y_range=(0, 1)).fit(FRAME, Y)
        with pytest.raises(PrivacyError, match=r"has 0\.25 left of limit=2\.5"):
            PrivateMean(0.75, y_range=(0, 1)).fit(FRAME, Y)
    assert (ledger.epsilon, twin.epsilon, len(ledger.payments), len(twin.payments)) == (1.5, 2.25, 2, 3)


def test_a_ledger_is_not_pickled():
    with pytest.raises(PrivacyError, match=r"cannot be pickled: .*as_dict\(\)"):
        pickle.dumps(PrivacyLedger())


class Free(PrivateMean):
    """A mean that says that it costs nothing, and asks."""

    fit_epsilon = 0


class Twice(PrivateMean):
    """A mean that says what it costs, and asks a second time."""

    def learn(self, users):
        users.ask(LABEL, LabelQuestion(self.y_range_, self.epsilon / 2))
        return super().learn(users)


class Revealing(PrivateMean):
    """A mean of the records themselves."""

    def learn(self, users):
        self.records_ = users.reveal()
        return self


@pytest.mark.parametrize("kind", [Free, Twice, Revealing])
@pytest.mark.parametrize("table", [X, FRAME], ids=["array", "frame"])
def test_what_a_fit_says_of_its_cost_admits_no_answer_beyond_the_limit(kind, table):
    with PrivacyLedger(limit=1.0) as ledger:
        PrivateMean(0.25, y_range=(0, 1)).fit(table, Y)
        model = kind(0.75 if kind is Twice else 1.0, y_range=(0, 1))
        with pytest.raises(LimitError, match=r"has 0\.75 left of limit=1"):
            model.fit(table, Y)
        assert ledger.epsilon <= 1.0 and not hasattr(model, "records_")
    with PrivacyLedger(), PrivacyLedger(limit=0.5), pytest.raises(LimitError, match=r"has 0\.5 left of limit=0\.5"):
        kind(0.4 if kind is Twice else 0.6, y_range=(0, 1)).fit(table, Y)


def test_what_was_refused_was_not_answered_and_costs_nothing():
    with PrivacyLedger(limit=1.0) as ledger:
        for _ in range(3):
            with pytest.raises(LimitError):
                Free(1.5, y_range=(0, 1)).fit(X, Y)
        assert ledger.epsilon == 0.0
        Free(1.0, y_range=(0, 1)).fit(X, Y)
    assert ledger.epsilon == 1.0


def fitted_here(seed):
    """Fit in the process in which this is called."""
    return PrivateMean(1.0, y_range=(0, 1), random_state=seed).fit(X, Y).guarantee_.epsilon


def fitted_in_a_ledger_of_its_own(seed):
    with PrivacyLedger():
        return fitted_here(seed)


def by_fork(function):
    """Call a function in a fork, and return its result or the word for its error."""
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = str(function(0))
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(start, told.encode())
        os._exit(0)
    os.close(start)
    with os.fdopen(end) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


def by_joblib(function):
    (found,) = joblib.Parallel(n_jobs=2, backend="loky")([joblib.delayed(function)(0)])
    return str(found)


@contextmanager
def by_pool(kind):
    """A pool whose worker is there before the block."""
    with ProcessPoolExecutor(1, multiprocessing.get_context(kind)) as pool:
        pool.submit(len, "").result()
        yield lambda function: str(pool.submit(function, 0).result())


WAYS = {
    "fork": lambda: nullcontext(by_fork),
    "loky": lambda: nullcontext(by_joblib),
    **{f"pool, {kind}": partial(by_pool, kind) for kind in ("fork", "spawn", "forkserver")},
}


@pytest.mark.parametrize("way", slow_but(WAYS, "fork", "loky"))
@pytest.mark.parametrize("function", [fitted_here, pytest.param(fitted_in_a_ledger_of_its_own, marks=pytest.mark.slow)])
def test_a_fit_in_another_process_is_refused_while_a_ledger_is_open(way, function):
    def told(call):
        try:
            return call(function)
        except PrivacyError as error:
            return f"PrivacyError: {error}"

    with WAYS[way]() as call:
        assert told(call) == "1.0"
        with PrivacyLedger(limit=1.0) as ledger:
            with PrivacyLedger():
                assert re.match(r"PrivacyError: .*a PrivacyLedger is open in process \d+", told(call))
            assert re.match(r"PrivacyError: .*a PrivacyLedger is open in process \d+", told(call))
            assert fitted_here(1) == 1.0 == ledger.epsilon
        assert told(call) == "1.0"


def test_users_are_asked_for_nothing_in_a_fork_of_their_fit():
    class Forking(PrivateMean):
        def learn(self, users):
            self.told_ = by_fork(lambda _: users.ask(LABEL, LabelQuestion(self.y_range_, 9.0)))
            return super().learn(users)

    with PrivacyLedger() as ledger:
        assert "a PrivacyLedger is open in process" in Forking(1.0, y_range=(0, 1)).fit(X, Y).told_
    assert ledger.epsilon == 1.0


def test_sweeps_of_a_benchmark_run_in_other_processes_inside_a_block():
    problem = Problem(X, Y, X, Y, y_range=(0.0, 1.0))
    expected = PrivateMean().sweep(problem, [1.0], {}, Streams(0)).values[0, 0]
    with PrivacyLedger() as ledger:
        assert by_fork(lambda _: PrivateMean().sweep(problem, [1.0], {}, Streams(0)).values[0, 0]) == str(expected)
    assert ledger.epsilon == 0.0
