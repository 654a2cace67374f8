"""Lower bound on epsilon by guessing coins: one training on many canaries."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from lpbench.audit.black_box.claims import clopper_pearson
from lpbench.audit.learner.training import Maker, Protects, fitted, pairs, scores
from lpbench.seeds import Streams

#: Probability that a bound exceeds the true loss.
FAILURE = 1e-3
N_CANARIES = 1000


@dataclass(frozen=True)
class LearnerBound:
    """Lower bound on training code's epsilon, from secret bits guessed right from the fitted model."""

    epsilon: float  # lower bound, >= 0
    right: int  # coins guessed right
    guesses: int  # coins guessed

    @property
    def advantage(self) -> float:
        """Share of right guesses beyond one half, doubled: 0 is chance, 1 certainty."""
        return 2.0 * self.right / self.guesses - 1.0 if self.guesses else 0.0

    def __str__(self) -> str:
        return (
            f"canary: epsilon >= {self.epsilon:.4g} (confidence {100 * (1 - FAILURE):.6g} %), "
            f"{self.right} of {self.guesses} coins guessed, advantage {self.advantage:.3g}; a lower bound on "
            "epsilon from one training; nothing is proven by a small bound"
        )


def canary_audit(make: Maker, epsilon: float, protects: Protects = "label", seed: int = 0) -> LearnerBound:
    """Bound a learner's loss from below by one training on canaries.

    The sample consists of canaries; a fair coin decides between two labels of each (label privacy) or between two
    records (record privacy under replacement). The coins whose model scores are the most extreme are guessed: all, a
    half, a quarter, ..., among which the failure probability is divided.
    """
    rng = Streams(seed).generator("canaries")
    X, y = pairs(rng, N_CANARIES, protects)
    coins, rows = rng.integers(2, size=N_CANARIES), np.arange(N_CANARIES)
    model = fitted(make(epsilon, seed), X[coins, rows], y[coins, rows])
    gaps = scores(model, X, y)
    order = np.argsort(-np.abs(gaps), kind="stable")
    order = order[gaps[order] != 0]
    right = np.cumsum((gaps[order] > 0) == (coins[order] == 1))
    sizes = sorted({order.size // 2**k for k in range(6)} - {0})[::-1]
    bounds = [LearnerBound(one_run_epsilon(right[n - 1], n, FAILURE / len(sizes)), int(right[n - 1]), n) for n in sizes]
    return max(bounds, key=lambda bound: bound.epsilon, default=LearnerBound(0.0, 0, 0))


def one_run_epsilon(right: int, guesses: int, failure: float) -> float:
    """Lower bound on epsilon, at delta 0, from the number of coins guessed right in one run.

    The largest epsilon at which P(at least ``right`` of ``guesses``) is at most ``failure``: by Steinke, Nasr and
    Jagielski's Theorem 5.2 the number is dominated by Binomial(guesses, e^eps / (1 + e^eps)), so that the bound is the
    logit of Clopper and Pearson's lower limit.
    """
    return max(0.0, float(logit(clopper_pearson(right, guesses, failure)[0])))
