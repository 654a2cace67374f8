"""Small estimators for tests of the runner."""

import os
import time
from dataclasses import dataclass

import numpy as np

from lpbench.estimators.base import LocalRegressor
from lpbench.estimators.private_labels import LABEL, LabelQuestion


@dataclass(eq=False, repr=False)
class Constant(LocalRegressor):
    """Predicts ``shift`` plus the mean of noisy labels; ``mode`` makes it misbehave."""

    uses_mask = True

    epsilon: float = 1.0
    shift: float = 0.0
    mode: str = ""
    flag: str = ""

    def learn(self, users):
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
        self.value_ = float(users.ask(LABEL, LabelQuestion(self.y_range_, self.epsilon)).mean()) + self.shift
        return self

    def predict(self, X):
        return np.full(len(self._check_predict(X)), self.value_)


@dataclass(eq=False, repr=False)
class Unmasked(Constant):
    """The same, independent of the mask."""

    uses_mask = False
