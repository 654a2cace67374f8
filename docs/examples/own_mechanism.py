"""
Your own mechanism
==================

A device says what a user reports, ``learn`` says what the curator makes of the reports. What was spent follows.
"""

from dataclasses import dataclass

import numpy as np

from lpbench.estimators.base import LocalRegressor
from lpbench.privacy import Device, Piecewise


@dataclass(frozen=True)
class MeanQuestion:
    """Content of the curator's broadcast: a budget and the public range of the label."""

    epsilon: float
    low: float
    high: float


class Label(Device[MeanQuestion]):
    """Report the label, scaled to [-1, 1], by the piecewise mechanism."""

    def mechanism(self, question):
        """The randomizer."""
        return Piecewise(question.epsilon)

    def inputs(self, records, question):
        """Inputs of the randomizer, row by row."""
        width = max(question.high - question.low, 1e-12)
        return np.clip(2 * (records.y - question.low) / width - 1, -1, 1)


@dataclass(eq=False, repr=False)
class MyMean(LocalRegressor):
    """The mean of the reports, for everybody."""

    epsilon: float = 1.0

    def learn(self, users):
        """Ask every user once."""
        low, high = self.y_range_
        question = MeanQuestion(self.epsilon, low, high)
        mechanism = Piecewise(self.epsilon)
        units = mechanism.estimate(users.ask(Label(), question))
        self.mean_ = low + (high - low) * (np.mean(units) + 1) / 2
        return self

    def predict(self, X):
        """The same number for every row."""
        return self._finish(np.full(len(self._check_predict(X)), self.mean_))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X, y = rng.random((5000, 2)), rng.beta(2, 5, 5000)
    model = MyMean(1.0, y_range=(0, 1), random_state=0).fit(X, y)
    print(f"estimated {model.predict(X[:1])[0]:.3f}, true {y.mean():.3f}")
    print(model.guarantee_)
