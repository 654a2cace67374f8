"""
Intervals that hold
===================

A fifth of the users do not train: each answers by randomized response whether her residual exceeds a broadcast
threshold. The interval covers as much as is asked for, on average over users and reports; nobody spends more than ε.
"""

import numpy as np

from lpbench.estimators import PrivateIntervals, PrivateSets, ResidualGP, ResidualScore

rng = np.random.default_rng(0)
X = rng.random((4000, 3))
y = np.clip(X[:, 0] + 0.1 * rng.standard_normal(4000), -1, 2)
new, labels, none = X[3000:], y[3000:], np.zeros((3000, 3), dtype=bool)

for epsilon in (2, 4, 8):
    model = PrivateIntervals(ResidualGP(epsilon), coverage=[0.5, 0.9], y_range=(-1, 2), random_state=0)
    model.fit(X[:3000], y[:3000], mask=none)
    for level in (0.5, 0.9):
        ends = model.predict_interval(new, level)
        inside, width = np.mean((ends[:, 0] <= labels) & (labels <= ends[:, 1])), np.ptp(ends, axis=1).mean()
        print(f"ε = {epsilon}, {level:.0%} asked: {inside:.0%} of new labels inside, mean width {width:.2f}")

# %%
# The same for classes: sets that hold the true class.
classes = np.digitize(y, [0.3, 0.7])
model = PrivateSets(ResidualScore(4), classes=[0, 1, 2], random_state=0)
sets = model.fit(X[:3000], classes[:3000], mask=none).predict_interval(new)
print(f"{sets[np.arange(1000), classes[3000:]].mean():.0%} covered, {sets.sum(axis=1).mean():.2f} classes a set")
