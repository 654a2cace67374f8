"""
Audit a function
================

Randomized response that tells the truth too often claims epsilon = 1. The audit finds the lower bound that refutes it.
"""

import math

from lpbench.audit.black_box import CallableSource, PrivacyClaim, audit


def honest(values, rng):
    """Randomized response at epsilon = 1."""
    return values ^ (rng.random(len(values)) > 1 / (1 + math.exp(-1)))


def careless(values, rng):
    """The same at epsilon = 2."""
    return values ^ (rng.random(len(values)) > 1 / (1 + math.exp(-2)))


for function in (honest, careless):
    verdict = audit(CallableSource(function, [False, True]), PrivacyClaim(1.0), samples=50_000)
    refuted = "refuted" if verdict.bound > 1.0 else "not refuted"
    print(f"{function.__name__}: epsilon >= {verdict.bound:.2f} with probability {verdict.confidence:g}: {refuted}")

# %%
# A claim that is not refuted is not proven: a bound from below says what an attack has found.
