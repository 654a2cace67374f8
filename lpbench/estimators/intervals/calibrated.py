"""What intervals and sets share: who trains and who calibrates, and the estimator as the calibrating users meet it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_number
from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators.base import LocalEstimator, check_epsilon
from lpbench.estimators.intervals.coverage import CoverageCurve, ThresholdQuestion, calibrate
from lpbench.privacy import RandomizedResponse, Users


@dataclass(eq=False, repr=False)
class Calibrated(LocalEstimator):
    """Base of both: trains the estimator on some users, and asks the others how far its scores reach."""

    rounding = "linear algebra of the BLAS"
    uses_mask = True
    uses_public = True

    estimator: Any = None
    share: float = 0.2
    epsilon: float | None = None
    coverage: float = 0.9

    #: Makes the estimator where none is given.
    _default: ClassVar[type[LocalEstimator]]

    def _inner(self) -> Any:
        return clone(self._default() if self.estimator is None else self.estimator)

    @property
    def fit_epsilon(self) -> float:
        """That of the estimator, unless another is given."""
        return check_epsilon(self._inner().epsilon if self.epsilon is None else self.epsilon)

    def _calibrated(self, users: Users, known: Mapping[str, Any], score: str, reach: float) -> LocalEstimator:
        """Train on a random part of the users and search the coverage curve on the rest; nobody is asked twice."""
        estimator = self._inner()
        unit = (None, (0.0, 1.0), self.__dict__["domain"])
        if estimator.get_params().get("domain") not in unit:
            raise ConfigurationError(
                f"the estimator's domain={estimator.domain!r} is not used: pass it as domain= to {type(self).__name__}"
            )
        epsilon, streams = self.fit_epsilon, self._streams()
        share = check_number("share", self.share, above=0, below=1)
        level = check_number("coverage", self.coverage, above=0, below=1)
        order = streams.generator("calibrating users").permutation(users.n)
        n_calibrating = max(1, round(share * users.n))
        if users.n <= n_calibrating:
            raise DataError(f"n_samples = {users.n}: a training and a calibrating user need more; pass more users")
        given = {**known, "epsilon": epsilon, "random_state": streams.child("estimator")}
        estimator.set_params(**{k: v for k, v in given.items() if k in estimator.get_params()})
        estimator.learn_from(users.take(np.sort(order[n_calibrating:]), "training"))
        # The seed of the users' noise does not stay in a model.
        estimator.set_params(random_state=None)
        mechanism = RandomizedResponse.for_budget(epsilon)
        self.curve_ = CoverageCurve(reach, mechanism, level)
        question = ThresholdQuestion(estimator, score, 0.0, mechanism)
        calibrate(users, order[:n_calibrating], self.curve_, question)
        self.calibrating_ = order[:n_calibrating]
        users.note(f"{n_calibrating} users calibrate")
        return estimator

    @abstractmethod
    def within(self, X: np.ndarray, threshold: float) -> np.ndarray:
        """Return the interval or set of all labels whose score is at most a threshold."""
        raise NotImplementedError

    def predict_interval(self, X: np.ndarray, coverage: float | None = None) -> np.ndarray:
        """Return what :meth:`within` does at the least threshold that covers enough."""
        level = self.coverage if coverage is None else check_number("coverage", coverage, above=0, below=1)
        return self.within(X, self.curve_.threshold(level))
