"""Readers that spend k times their budget on any registered mechanism, and read its reports as well as can be.

On the sign families a report tells of the sign of a cube. With protected features a user hides the sign of the own cube
times a public random sign of it, so that one report tells of all the private cells alike.
"""

import itertools
import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from lpbench.estimators.base import LocalClassifier, LocalRegressor
from lpbench.privacy import Device
from lpbench.privacy.mechanism import REGISTERED
from lpbench.testing import mechanism_of

NAMES = [name for name in REGISTERED if "." not in name]
#: Neighboring inputs where those of the domain's examples tell nothing.
PAIRS = {"Exponential": [[1.0, 0.0], [0.0, 1.0]]}
USERS, CELLS = 100_000, 60


@lru_cache
def reading(name, budget):
    """Inputs of a mechanism that reports tell apart best, the direction that does, ends of cells, and what each tells.

    That is (p - q) / (p + q) of a cell of reports that has chance p under the second input and q under the first.
    """
    mechanism, rng = mechanism_of(name, budget), np.random.default_rng(1)
    inputs = np.asarray(PAIRS.get(name, mechanism.domain.examples))[:4]
    reports = [np.asarray(mechanism.randomize(np.repeat(v[None], USERS, axis=0), rng), float) for v in inputs]
    pairs = itertools.combinations(range(len(inputs)), 2)
    found = [(inputs[[a, b]], *_apart(reports[a], reports[b])) for a, b in pairs]
    return max(found, key=lambda each: each[-1])


def _apart(first, second):
    """Direction, ends of cells, readings, and the triangular discrimination of two samples of reports."""
    along = second.mean(axis=0) - first.mean(axis=0)  # entries are independent, or reports symmetric about two means
    samples = [projected(r, along) for r in (first, second)]
    ends = np.unique(np.quantile(np.concatenate(samples), np.linspace(0, 1, CELLS), method="inverted_cdf"))
    q, p = (np.bincount(np.searchsorted(ends, r, "left"), minlength=len(ends) + 1) / USERS for r in samples)
    tells = (p - q) / np.maximum(p + q, 1e-300)
    return along, ends, tells, math.sqrt(0.5 * np.sum((p + q) * tells**2))


def projected(reports, along):
    """Reports, or where these are vectors their products with a direction."""
    return reports if np.ndim(along) == 0 else np.tensordot(reports, along, np.ndim(along)).round(9)


@dataclass(frozen=True)
class SignQuestion:
    """Ask for a label's sign times that of the own private cell, through two inputs of a mechanism."""

    mechanism: Any
    inputs: np.ndarray
    bins: int
    hidden: np.ndarray  # protected features
    signs: np.ndarray  # (n, cells), public
    middle: float  # of the labels

    def take(self, users):
        return replace(self, signs=self.signs[users])


def cells_of(X, bins):
    if not X.shape[1]:
        return np.zeros(len(X), dtype=int)
    return np.ravel_multi_index(tuple(np.minimum((X * bins).astype(int), bins - 1).T), (bins,) * X.shape[1])


class SignDevice(Device):
    def inputs(self, records, question):
        cells = cells_of(records.X[:, question.hidden], question.bins)
        sign = np.where(records.y > question.middle, 1, -1) * question.signs[np.arange(len(cells)), cells]
        return question.inputs[(sign > 0).astype(int)]


@dataclass(eq=False, repr=False)
class _Overspender:
    epsilon: float = 1.0
    mechanism: str = field(default="Channel", kw_only=True)
    k: float = field(default=1.0, kw_only=True)

    def learn(self, users):
        n, d = users.n, users.n_features
        hidden = np.flatnonzero(users.mask.any(axis=0))
        self.bins_, self.shown_, self.hidden_ = (16 if d == 1 else 2), np.setdiff1d(np.arange(d), hidden), hidden
        self.height_ = 0.5 * self.bins_**-0.5
        inputs, along, ends, tells, _ = reading(self.mechanism, self.k * self.epsilon)
        cells = self.bins_**hidden.size
        signs = self._streams().generator("signs").choice([-1, 1], (n, cells))
        mechanism = mechanism_of(self.mechanism, self.k * self.epsilon)
        middle = 0.0 if users.classes is None else 0.5
        question = SignQuestion(mechanism, inputs, self.bins_, hidden, signs, middle)
        reports = np.asarray(users.ask(SignDevice(), question), float)
        told = tells[np.searchsorted(ends, projected(reports, along), "left")]
        places = cells_of(users.public_features[:, self.shown_], self.bins_)
        # all signs of the private cells beside a public one
        self.cases_ = np.array(list(itertools.product([-1, 1], repeat=cells)))
        signal = self.height_ * signs @ self.cases_.T / cells
        likely = self._likelihood(places, np.log1p(told[:, None] * signal))
        if users.public is not None and hidden.size == 0 and users.classes is not None:
            likely = self._with_public(likely, users.public)
        chance = np.exp(likely - likely.max(axis=1, keepdims=True))
        self.means_ = chance @ self.cases_ / chance.sum(axis=1, keepdims=True)
        return self

    def _likelihood(self, places, logs):
        return np.array([np.bincount(places, v, self.bins_**self.shown_.size) for v in logs.T]).T

    def _with_public(self, likely, public):
        """Public labels are coins, or have the signal h: by the odds that all labels give these two."""
        agrees = np.log1p(self.height_ * np.where(public.y > 0, 1, -1)[:, None] * self.cases_.T)
        both = likely + self._likelihood(cells_of(public.X, self.bins_), agrees)
        odds = [np.logaddexp.reduce(v, axis=1).sum() for v in (both, likely)]
        share = 1.0 / (1.0 + np.exp(np.clip(odds[1] - odds[0], -500, 500)))
        return share * both + (1.0 - share) * likely

    def _signed(self, X):
        X = self._check_predict(X)
        place = cells_of(X[:, self.shown_], self.bins_)
        return self.height_ * self.means_[place, cells_of(X[:, self.hidden_], self.bins_)]


@dataclass(eq=False, repr=False)
class OverspendingRegressor(_Overspender, LocalRegressor):
    """Means of the signs of cubes, given the reports."""

    uses_mask = True

    def predict(self, X):
        return self._finish(self._signed(X))


@dataclass(eq=False, repr=False)
class OverspendingClassifier(_Overspender, LocalClassifier):
    """The likelier sign of each cube."""

    protects = "label"

    def predict(self, X):
        return self.classes_[(self._signed(X) > 0).astype(int)]
