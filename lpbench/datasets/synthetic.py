"""Synthetic families of the papers: ``function(streams, params, replication) -> Problem`` without mask.

Every array is drawn from a stream named for what it is, row after row, so that the first rows of a larger sample are
those of a smaller one, and the test rows depend on no sample size.
"""

from collections.abc import Callable, Mapping

import numpy as np

from lpbench.errors import ConfigurationError
from lpbench.problem import Problem
from lpbench.seeds import Streams


def sine_sum(streams: Streams, params: Mapping, replication: int) -> Problem:
    """Regression of HistOfTree sec. 5.1: X uniform on [0,1]^5, Y = sin X1 + sin X2 + sin X5 + N(0, 1).

    The order of protection is the column order. ``y_range`` is the range of the training sample (the paper is silent).
    """
    return _regression(streams, params, replication, 5, lambda X: np.sin(X[:, [0, 1, 4]]).sum(axis=1), params["n"])


def sine_wave(streams: Streams, params: Mapping, replication: int) -> Problem:
    """The simulation of LPDT's released code: X uniform on [0, 1]^d, Y = sin(16 X1) + N(0, 1), with a public sample.

    ``y_range`` is the range of the private labels, as in that code.
    """
    return _regression(streams, params, replication, params["d"], lambda X: np.sin(16.0 * X[:, 0]), params["n_private"])


def _regression(
    streams: Streams, params: Mapping, replication: int, d: int, mean: Callable[[np.ndarray], np.ndarray], n: int
) -> Problem:
    """Draw a Problem: uniform features in [0, 1]^d, labels ``mean(X)`` plus Gaussian noise, n training rows.

    It has a public sample where ``n_public`` is a parameter.
    """

    def draw(sample: str, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X = streams.generator("X", part=sample).random((n, d))
        eta = mean(X)
        return X, eta, eta + params["noise"] * streams.generator("noise", part=sample).standard_normal(n)

    X, _, y = draw("train", n)
    X_test, eta_test, y_test = draw("test", params["n_test"])
    X_public, _, y_public = draw("public", params["n_public"]) if "n_public" in params else (None, None, None)
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


def eta_p(X: np.ndarray) -> np.ndarray:
    """Return P(Y = 1 | X) of the private distribution of LPCT sec. 6.1.

    As printed, the function leaves [0, 1]. This is the normalization that agrees with the printed eta_Q (and the one
    the authors' code uses, with 0.33 for 1/3): with ``g = (5/2) |(3 x1 - 1)(3 x2 - 1) / 10| max(0, 1 - |2 x2 - 1|)``,
    eta_P = 1/2 + (2/5) sgn(x1 - 1/3) sgn(x2 - 1/3) g^(1/10), so that eta_P lies in [1/10, 9/10].

    Parameters
    ----------
    X : ndarray of shape (..., 2)
        Points of [0, 1]^2.

    Returns
    -------
    ndarray of shape (...)
        Probabilities.
    """
    return 0.5 + 0.4 * _signed_signal(X)


def eta_q(X: np.ndarray, gamma: float) -> np.ndarray:
    """Return P(Y = 1 | X) of the public distribution of LPCT sec. 6.1.

    eta_Q - 1/2 = (2/5) ((5/2)(eta_P - 1/2))^gamma, a signed power.

    Parameters
    ----------
    X : ndarray of shape (..., 2)
        Points of [0, 1]^2.
    gamma : float
        Relative signal exponent; 1: the private distribution.

    Returns
    -------
    ndarray of shape (...)
        Probabilities.
    """
    signal = _signed_signal(X)
    return 0.5 + 0.4 * np.sign(signal) * np.abs(signal) ** gamma


def _signed_signal(X: np.ndarray) -> np.ndarray:
    """Signal (5/2)(eta_P - 1/2) of the private class probability at rows X, in [-1, 1]."""
    x1, x2 = X[..., 0], X[..., 1]
    g = 2.5 * np.abs((3 * x1 - 1) * (3 * x2 - 1) / 10) * np.maximum(0, 1 - np.abs(2 * x2 - 1))
    return np.sign(x1 - 1 / 3) * np.sign(x2 - 1 / 3) * g**0.1


def posterior_drift(streams: Streams, params: Mapping, replication: int) -> Problem:
    """Classification of LPCT sec. 6.1 and its figure 8: uniform X, private labels from eta_P, public ones from eta_Q.

    ``gamma`` is the relative signal exponent of the public distribution, ``scale`` the side a of the true domain
    [0, a]^2 ("uniform": drawn from U[1, 5] in each replication, ``context["scale"]``). How the curator brings features
    to [0, 1]^2 is ``range``: known, dividing by a; estimated, min-max scaling by the public sample (private and test
    rows may fall outside); unknown, dividing by ``assumed_range``, where None leaves the features in [0, a]^2, for
    methods that search the range themselves.
    """
    scale = params["scale"]
    if scale == "uniform":
        scale = 1.0 + 4.0 * streams.generator("scale").random()
    eta = {"train": eta_p, "test": eta_p, "public": lambda U: eta_q(U, params["gamma"])}
    size = {"train": params["n_private"], "test": params["n_test"], "public": params["n_public"]}
    U = {sample: streams.generator("X", part=sample).random((n, 2)) for sample, n in size.items()}
    probability = {sample: eta[sample](U[sample]) for sample in size}
    X = _bring_to_unit_cube(U, scale, params["range"], params["assumed_range"])
    context = {"scale": scale, "scaling": f"range {params['range']}"}
    return _two_classes(streams, X, probability, replication, context)


def _two_classes(
    streams: Streams, X: Mapping, probability: Mapping, replication: int, context: Mapping | None = None
) -> Problem:
    """Draw 0/1 labels with the given probabilities for training, test and public rows, and return the Problem.

    ``X`` and ``probability`` (of class 1) are keyed "train", "test" and "public".
    """
    y = {
        sample: (streams.generator("y", part=sample).random(p.size) < p).astype(int)
        for sample, p in probability.items()
    }
    return Problem(
        X_train=X["train"],
        y_train=y["train"],
        X_test=X["test"],
        y_test=y["test"],
        X_public=X["public"],
        y_public=y["public"],
        metric="accuracy",
        eta_test=np.column_stack([1 - probability["test"], probability["test"]]),
        classes=np.array([0, 1]),
        replication=replication,
        context=dict(context or {}),
    )


def _bring_to_unit_cube(U: Mapping, scale: float, knowledge: str, assumed: float | None) -> dict[str, np.ndarray]:
    """Scale points a * U of the true domain by what the curator knows about a, the ``scale``.

    ``U`` maps train, test and public to points of [0, 1]^d. ``knowledge`` is "known", "estimated" (min-max of the
    public rows) or "unknown" (divided by ``assumed``); ConfigurationError for others.
    """
    if knowledge == "known":
        return dict(U)
    if knowledge == "unknown":
        divisor = 1.0 if assumed is None else float(assumed)
        return {sample: scale * points / divisor for sample, points in U.items()}
    if knowledge == "estimated":
        # Min-max scaling does not change when all points are multiplied by a.
        low, high = U["public"].min(axis=0), U["public"].max(axis=0)
        width = np.where(high > low, high - low, 1.0)
        return {sample: (points - low) / width for sample, points in U.items()}
    raise ConfigurationError(f"range={knowledge!r} must be known, estimated or unknown")


#: Blocks of :func:`synthetic_taxi`: name and number of columns, in order (those of datasets/taxi.yaml).
TAXI_BLOCKS = {
    "taxi_id": 1,
    "shift": 1,
    "pickup": 77,
    "dropoff": 1,
    "day": 7,
    "hour": 1,
    "fare": 1,
    "tips": 1,
    "total": 1,
    "seconds": 1,
    "miles": 1,
}


def synthetic_taxi(streams: Streams, params: Mapping, replication: int) -> Problem:
    """Invented trips with the size and column layout of the taxi data (LPCT table 1), which are not at hand.

    It measures cost at that scale; its accuracies say nothing about the real data. A tip on record nearly always means
    a card, and long trips are paid by card more often; public trips follow the same rule with a weaker signal:
    eta_Q - 1/2 = public_signal (eta_P - 1/2).
    """
    X, probability = {}, {}
    for sample, n in (("train", params["n_private"]), ("test", params["n_test"]), ("public", params["n_public"])):
        X[sample] = _taxi_trips(streams, sample, n)
        tips, miles = X[sample][:, -4], X[sample][:, -1]
        eta = np.where(tips > 0, 0.98, 0.04 + 0.2 * miles)
        probability[sample] = 0.5 + params["public_signal"] * (eta - 0.5) if sample == "public" else eta
    return _two_classes(streams, X, probability, replication)


def _taxi_trips(streams: Streams, sample: str, n: int) -> np.ndarray:
    """Draw trips column by column; every column lies in [0, 1]."""

    def uniform(column: str) -> np.ndarray:
        return streams.generator("X", part=sample, column=column).random(n)

    start = dict(zip(TAXI_BLOCKS, np.cumsum([0, *TAXI_BLOCKS.values()]), strict=False))
    X = np.zeros((n, sum(TAXI_BLOCKS.values())))
    rows = np.arange(n)
    # Few areas hold most trips: area k with probability proportional to 1 / k.
    popularity = np.cumsum(1 / np.arange(1.0, TAXI_BLOCKS["pickup"] + 1))
    popularity /= popularity[-1]
    X[rows, start["pickup"] + np.searchsorted(popularity, uniform("pickup"))] = 1.0
    X[:, start["dropoff"]] = np.searchsorted(popularity, uniform("dropoff")) / (TAXI_BLOCKS["pickup"] - 1)
    day = (7 * uniform("day")).astype(int)
    X[rows, start["day"] + day] = 1.0
    hour = (24 * uniform("hour")).astype(int)
    X[:, start["hour"]] = hour / 23
    X[:, start["shift"]] = (3 * day + hour // 8) / 20
    X[:, start["taxi_id"]] = uniform("taxi_id")
    miles = uniform("miles") ** 3
    X[:, start["miles"]] = miles
    X[:, start["seconds"]] = miles * (0.5 + 0.5 * uniform("traffic"))
    X[:, start["fare"]] = 0.1 + 0.9 * miles
    tip = uniform("tips")
    X[:, start["tips"]] = np.where(tip < 0.55, 0.0, tip * X[:, start["fare"]])
    X[:, start["total"]] = (X[:, start["fare"]] + X[:, start["tips"]]) / 2
    return X
