"""The simulation of LPDT's released code: one sine wave, a private and a public sample of one law."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lpbench.problem import Problem
from lpbench.seeds import Streams

#: Waves are sin(FREQUENCY x).
FREQUENCY = 16.0


def sine_wave(streams: Streams, params: Mapping, replication: int) -> Problem:
    """Regression with a public sample: X uniform on [0, 1]^d, Y = sin(16 X1) + N(0, 1).

    ``y_range`` is the range of the private labels, as in the released code; ``noise`` is a standard deviation.
    """

    def draw(part: str, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X = streams.generator("X", part=part).random((n, params["d"]))
        mean = np.sin(FREQUENCY * X[:, 0])
        return X, mean, mean + params["noise"] * streams.generator("noise", part=part).standard_normal(n)

    X, _, y = draw("train", params["n_private"])
    X_test, eta_test, y_test = draw("test", params["n_test"])
    X_public, _, y_public = draw("public", params["n_public"])
    return Problem(
        X_train=X,
        y_train=y,
        X_test=X_test,
        y_test=y_test,
        X_public=X_public,
        y_public=y_public,
        y_range=(float(y.min()), float(y.max())),
        metric="mse",
        eta_test=eta_test,
        replication=replication,
    )
