"""Small estimators for tests of the runner."""

from __future__ import annotations

import os
import time

import numpy as np

from lpbench.estimators.base import LocalRegressor
from lpbench.privacy.guarantee import Guarantee


class Constant(LocalRegressor):
    """Predicts ``shift`` plus keyed noise; ``mode`` makes it misbehave."""

    uses_mask = True

    def __init__(
        self, epsilon=1.0, shift=0.0, mode="", flag="", y_range=None, clip=True, domain=(0.0, 1.0), random_state=None
    ):
        self.epsilon = epsilon
        self.shift = shift
        self.mode = mode
        self.flag = flag
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def fit(self, X, y, *, mask=None, X_public=None, y_public=None):
        X, y, mask = self._check_fit(X, y, mask)
        if self.mode == "fail":
            raise RuntimeError("broken on purpose")
        if self.mode == "sleep":
            time.sleep(30)
        if self.mode == "die" or (self.mode == "die_once" and not os.path.exists(self.flag)):
            if self.flag:
                open(self.flag, "w").close()
            os._exit(3)
        if self.mode == "slow":
            time.sleep(0.05)
        noise = self._streams().generator("label").laplace(size=len(y)) / self.epsilon
        self.value_ = float(np.mean(y + noise)) + self.shift
        self.guarantee_ = Guarantee("semi_feature_ldp", self.epsilon)
        return self

    def predict(self, X):
        return np.full(len(self._check_predict(X)), self.value_)


class Unmasked(Constant):
    """The same, independent of the mask."""

    uses_mask = False
