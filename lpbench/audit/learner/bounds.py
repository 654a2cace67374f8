"""Lower bounds on epsilon by guessing coins: one training on many canaries, or many trainings on one target."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, xlog1py, xlogy
from scipy.stats import binom

from lpbench.audit.learner.training import Maker, Protects, fitted, pairs, scores
from lpbench.seeds import Streams

#: What each audit can prove, for reports.
PROVES = {
    "leak": "a difference proves that fit reads private inputs beside the reports; it bounds no epsilon",
    "canary": "a lower bound on epsilon from one training; nothing is proven by a small bound",
    "inference": "a lower bound on epsilon from many trainings; nothing is proven by a small bound",
}
#: Probability that a bound exceeds the true loss.
FAILURE = 1e-3
#: Canaries; repeated trainings, and records of their sample that are not the target.
N_CANARIES, N_TRAININGS, N_OTHERS = 1000, 300, 20


@dataclass(frozen=True)
class LearnerBound:
    """Lower bound on epsilon of training code, from coins guessed right."""

    audit: str  # {"canary", "inference"}
    epsilon: float  # lower bound, >= 0
    right: int  # coins guessed right
    guesses: int  # coins guessed

    @property
    def advantage(self) -> float:
        """Share of right guesses beyond one half, doubled: 0 is chance, 1 certainty."""
        return 2.0 * self.right / self.guesses - 1.0 if self.guesses else 0.0

    def __str__(self) -> str:
        return (
            f"{self.audit}: epsilon >= {self.epsilon:.4g} (confidence {100 * (1 - FAILURE):.6g} %), "
            f"{self.right} of {self.guesses} coins guessed, advantage {self.advantage:.3g}; {PROVES[self.audit]}"
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
    sizes = sorted({max(order.size // 2**k, 1) for k in range(6)}) if order.size else []
    best = LearnerBound("canary", 0.0, 0, 0)
    for size in sizes:
        guessed = order[:size]
        right = int(((gaps[guessed] > 0) == (coins[guessed] == 1)).sum())
        bound = one_run_epsilon(right, size, FAILURE / len(sizes))
        if bound >= best.epsilon:
            best = LearnerBound("canary", bound, right, size)
    return best


def one_run_epsilon(right: int, guesses: int, failure: float) -> float:
    """Lower bound on epsilon, at delta 0, from the number of coins guessed right in one run.

    The largest epsilon at which P(at least ``right`` of ``guesses``) is at most ``failure``: by Steinke, Nasr and
    Jagielski's Theorem 5.2 the number is dominated by Binomial(guesses, e^eps / (1 + e^eps)).
    """
    if guesses == 0 or 2 * right <= guesses:
        return 0.0

    def p_value(epsilon: float) -> float:
        return float(binom.sf(right - 1, guesses, 1.0 / (1.0 + math.exp(-epsilon))))

    if p_value(0.0) >= failure:
        return 0.0
    if p_value(40.0) <= failure:
        return 40.0
    return float(brentq(lambda epsilon: p_value(epsilon) - failure, 0.0, 40.0, xtol=1e-9))


def inference_audit(
    make: Maker, epsilon: float, protects: Protects = "label", trainings: int = N_TRAININGS, seed: int = 0
) -> LearnerBound:
    """Bound a learner's loss from below by guessing one record's coin in many trainings, until epsilon is refuted.

    The sample is one target, far from 20 other records that are the same in every training. An epsilon-private
    learner lets a fair coin be guessed with probability e^epsilon / (e^epsilon + 1) at most; the share guessed right
    is bounded by :func:`anytime_lower`.
    """
    streams = Streams(seed)
    others, labels = pairs(streams.generator("others"), N_OTHERS, protects)
    target, answers = pairs(streams.generator("target"), 1, protects)
    # A record far from the others, with labels that differ
    target = target + 10.0
    coins = streams.generator("coins").integers(2, size=trainings)
    right, n, bound = 0, 0, 0.0
    toss = streams.generator("ties")
    for n, coin in enumerate(coins, 1):
        X = np.vstack([others[0], target[coin]])
        y = np.append(labels[0], answers[coin])
        model = fitted(make(epsilon, int(streams.generator("training", number=n - 1).integers(2**31))), X, y)
        score = float(scores(model, target, answers)[0]) or toss.random() - 0.5
        right += bool((score > 0) == (coin == 1))
        p = anytime_lower(right, n, FAILURE)
        bound = max(math.log(max(p, 1e-300) / (1.0 - p)), 0.0) if p < 1.0 else math.inf
        if bound > epsilon:
            break
    return LearnerBound("inference", bound, right, n)


def anytime_lower(hits: int, n: int, failure: float) -> float:
    """Lower confidence limit of a probability that holds at all n together, so that one may stop at any of them.

    A gambler who spreads a stake evenly over all probabilities and bets by each of them has B(hits + 1, misses + 1) /
    (p^hits (1 - p)^misses) after n draws of probability p, which ever exceeds 1 / failure with that probability at most
    (Robbins 1970, Ville's inequality). The limit is the smallest p whose gambler has not got there.
    """
    if hits == 0:
        return 0.0

    def wealth(p: float) -> float:
        return float(betaln(hits + 1, n - hits + 1) - xlogy(hits, p) - xlog1py(n - hits, -p)) + math.log(failure)

    share = hits / n
    return float(brentq(wealth, 1e-300, share, xtol=1e-12)) if wealth(share) < 0 else share
