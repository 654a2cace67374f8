"""A synthetic family that returns unscaled features."""

import numpy as np

from lpbench.problem import Problem


def wild(streams, params, replication):
    """Features in [0, 10]."""
    X = 10 * streams.generator("X").random((params["n"], 2))
    return Problem(X_train=X, y_train=np.zeros(len(X)), X_test=X, y_test=np.zeros(len(X)))
