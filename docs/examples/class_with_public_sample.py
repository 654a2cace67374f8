"""
A class with a public sample
============================

Two hundred public rows grow a partition or a score; private users, who protect everything, send one randomized report.
"""

import numpy as np

from lpbench.estimators import LPCT, PrivateMajority, ResidualScore

rng = np.random.default_rng(0)
X = rng.random((8200, 3))
y = (rng.random(8200) < np.where(X[:, 0] > 0.5, 0.9, 0.1)).astype(int)
X_public, y_public, X_private, y_private = X[:200], y[:200], X[200:6200], y[200:6200]

for model in (PrivateMajority, LPCT, ResidualScore):
    fitted = model(epsilon=1.0, classes=[0, 1], random_state=0)
    fitted.fit(X_private, y_private, mask=[0, 1, 2], X_public=X_public, y_public=y_public)
    accuracy = (fitted.predict(X[6200:]) == y[6200:]).mean()
    print(f"{model.__name__:16} accuracy {accuracy:.3f}, epsilon {fitted.guarantee_.epsilon:g}")
