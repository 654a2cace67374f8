"""ResidualGP as a protocol: users enrol with what they show, and then each answers one question at the whole budget.

Users are asked in groups (:mod:`lpbench.estimators.tuning_free.interview`). Round 1 costs nothing: it collects the
features that users do not protect, from which the curator forms groups and kernels. Round 2 asks a user about the error
of the current model; the question is the user's own, because the interval's centre and width depend on what the user
shows. Fed the same draws, the curator's model is that of ``fit`` to the last bit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_number, check_whole
from lpbench.deployment.broadcast import Broadcast, campaign_of
from lpbench.deployment.client import (
    Answer,
    RegressionClient,
    bounded,
    budget_of,
    fresh_generator,
    shown_fields,
    shown_values,
)
from lpbench.deployment.collector import Collector, ProtocolError, Round
from lpbench.errors import ConfigurationError
from lpbench.estimators import ResidualGP
from lpbench.estimators.tuning_free.interview import RESIDUAL, Question
from lpbench.estimators.tuning_free.level_reports import LevelReport
from lpbench.privacy.payload import LARGEST_REAL

NAME = "residual_gp"
#: Levels of the residual and bins of a protected feature beyond which a device does not answer.
MOST_LEVELS, MOST_BINS = 1 << 10, 1 << 6


class ResidualGPClient(RegressionClient):
    """A device with one record; ``draws``: uniforms of shape (3, 1) for rounding, truth and another category."""

    protocol = NAME

    def _fresh_draws(self, n_features: int) -> np.ndarray:
        return fresh_generator().random((3, 1))

    def _plan(self, broadcast: Broadcast) -> Answer:
        return (
            self._show(broadcast.settings) if broadcast.settings["round"] == 1 else self._residual(broadcast.settings)
        )

    def _show(self, settings: dict) -> Answer:
        d = self._record.X.size
        if settings["d"] != d:
            raise ProtocolError(f"d={settings['d']!r} is not the device's number of features")
        return Answer(0.0, shown_fields(d), lambda: shown_values(self._record))

    def _residual(self, settings: dict) -> Answer:
        d, budget = self._record.X.size, budget_of(settings, "budget")
        levels = check_whole("levels", settings["levels"], least=2, most=MOST_LEVELS)
        bins = check_whole("bins", settings["bins"], least=1, most=MOST_BINS)
        column = check_whole("column", settings["column"], least=-1 if bins == 1 else 0, most=d - 1)
        half = check_number("half_width", settings["half_width"], least=1 / LARGEST_REAL, most=LARGEST_REAL)
        effects = {check_whole("effects", k, most=d - 1): _effect(values) for k, values in settings["effects"]}
        # The width in deviations is the curator's; a device does not need it.
        question = Question(
            np.zeros(1, dtype=np.int64), np.array([bounded(settings, "centre")]), np.array([half]),
            LevelReport(budget, levels, bins), math.nan, column, effects,
        )  # fmt: skip
        return Answer.of(RESIDUAL, self._record, question, self._draws)


def _effect(values: list) -> np.ndarray:
    check_whole("bins of an effect", len(values), least=1, most=MOST_BINS)
    return np.array([check_number("effects", v, least=-LARGEST_REAL, most=LARGEST_REAL) for v in values])


def _levels(question: Question) -> LevelReport:
    """The randomizer of a question that devices may be asked."""
    if not isinstance(question.report, LevelReport):
        raise ConfigurationError("devices send no continuous noise; use report='levels'")
    return question.report


class ResidualGPCurator:
    """The curator: enrols the users, asks one group after the other, and fits the reports.

    Parameters
    ----------
    model : ResidualGP
        Parameters of the method; ``y_range`` must be given, and reports be levels.
    n_features : int
    secret : bytes
        Key of the enrolment tokens.
    """

    def __init__(self, model: ResidualGP, n_features: int, secret: bytes):
        if model.y_range is None:
            raise ConfigurationError("y_range=None: a curator cannot take the range from labels; pass y_range=(lo, hi)")
        if model.report != "levels":
            raise ConfigurationError(f"report={model.report!r}: devices send no continuous noise; use report='levels'")
        check_number("epsilon", model.epsilon, above=0, hint="devices have finite budgets")
        self.model, self.d, self._secret = clone(model), n_features, secret
        self.first = Broadcast({"protocol": NAME, "round": 1, "d": n_features}).encode()
        self._asked: list[Question] = []

    def enrolment(self, shard: int = 0, n_shards: int = 1) -> Collector:
        """Return an empty collector of round 1."""
        rules = Round(1, campaign_of(self.first), shown_fields(self.d))
        return Collector(rules, self._secret, shard, n_shards, possible=self._legal)

    def close_enrolment(self, collector: Collector) -> None:
        """Form the groups from what users show."""
        self._users, rows = collector.rows()
        if self._users.size == 0:
            raise ProtocolError("nobody has enrolled")
        mask, X = rows[:, : self.d] > 0, rows[:, self.d :]
        # Devices send features of the unit cube. No label is read before the reports; the lower end stands for all.
        self._fitting = clone(self.model).set_params(domain=(0.0, 1.0))
        self._sample = self._fitting._sample(X, np.full(len(X), float(self.model.y_range[0])), mask)
        self._curator = self._fitting._curator(self._sample)

    def groups(self) -> Iterator[tuple[dict[int, bytes], Round]]:
        """Yield the questions to each group, user number -> broadcast, and what collectors must know.

        The reports to each group must be given to :meth:`learn` before the next one is asked for.
        """
        for question in self._curator.questions():
            self._question = question
            contents = self._contents(question)
            campaigns = {user: campaign_of(content) for user, content in contents.items()}
            rules = Round(2, campaigns, RESIDUAL.fields(question))
            yield contents, rules

    def collector(self, rules: Round, shard: int = 0, n_shards: int = 1) -> Collector:
        """Return an empty collector for the reports of a group."""
        return Collector(rules, self._secret, shard, n_shards)

    def _contents(self, question: Question) -> dict[int, bytes]:
        report = _levels(question)
        settings = {
            "protocol": NAME, "round": 2, "after": campaign_of(self.first).hex(), "budget": float(report.budget),
            "levels": report.levels, "bins": report.bins, "column": question.column,
            "effects": [[int(column), effect.tolist()] for column, effect in question.effects.items()],
        }  # fmt: skip
        places = zip(self._users[question.users], question.centre, question.half_width, strict=True)
        return {
            int(user): Broadcast({**settings, "centre": float(centre), "half_width": float(half)}).encode()
            for user, centre, half in places
        }

    def learn(self, collector: Collector) -> None:
        """Read the reports of the group that was asked last; users who did not answer are left out."""
        users, rows = collector.rows()
        asked = self._question
        place = np.searchsorted(users, self._users[asked.users]).clip(max=max(users.size - 1, 0))
        answered = np.isin(self._users[asked.users], users)
        if not answered.any():
            return
        question = dataclasses.replace(
            asked, users=asked.users[answered], centre=asked.centre[answered], half_width=asked.half_width[answered]
        )
        self._curator.learn(question, rows[place[answered], 0].astype(np.int64))
        self._asked.append(question)

    def fit(self) -> ResidualGP:
        """Return the fitted model."""
        if not self._asked:
            raise ProtocolError("nobody has answered")
        self._fitting._learned(self._sample, self._curator, self._asked)
        return self._fitting.set_params(domain=self.model.domain)

    def _legal(self, users: np.ndarray, values: np.ndarray) -> np.ndarray:
        mask, X = values[:, : self.d] > 0, values[:, self.d :]
        return np.asarray(((X >= 0) & (X <= 1) & ((X == 0) | ~mask)).all(axis=1))
