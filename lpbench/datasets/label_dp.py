"""Simulated families for the theorems of label DP: rough functions for the rates, signs on cubes for lower bounds.

The rough families have known eta, Hölder exponent, margin and moment, and bias h^beta.

A smooth function would be estimated faster than the class demands: a Lipschitz function is differentiable almost
everywhere, and a symmetric neighborhood average then has a bias o(h). The families are therefore sums of triangle
waves of all frequencies 2^j with amplitudes 2^(-beta j) (Takagi-Landsberg functions), which oscillate by h^beta around
every point at every scale h. Phases are drawn anew in each replication, so that the mean over replications carries no
trace of where the waves and the cubes happen to line up.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lpbench.checks import check_number
from lpbench.errors import ConfigurationError
from lpbench.problem import Problem
from lpbench.seeds import Streams

#: Frequencies 1, 2, ..., 2^15: the finest wave is 2^-15 long, far below every cube or neighborhood that is used.
SCALES = 16
#: The tail index of the heavy-tailed noise exceeds the moment that it must have by this much.
TAIL_MARGIN = 0.25
#: Points worked on at once: the temporaries stay in the processor's cache.
_POINTS_AT_ONCE = 1 << 14


def rough_wave(X: np.ndarray, phases: np.ndarray, beta: float) -> np.ndarray:
    """Mean over the coordinates of sum_j c 2^(-beta j) tri(2^j x_l + phase_lj), with values in [-1, 1].

    ``phases`` are uniform on [0, 1), of shape (d, SCALES). For beta < 1 the function is Hölder of exactly this order at
    every point, for beta = 1 up to a logarithm.
    """
    amplitudes = 2.0 ** (-beta * np.arange(phases.shape[1]))
    wave = np.zeros(X.shape[0])
    for start in range(0, len(X), _POINTS_AT_ONCE):
        chunk = wave[start : start + _POINTS_AT_ONCE]
        t, floors = np.empty((2, chunk.size))
        for x, row in zip(X[start : start + _POINTS_AT_ONCE].T.copy(), phases, strict=True):
            for j, (amplitude, phase) in enumerate(zip(4.0 * amplitudes, row, strict=True)):
                np.multiply(x, 2.0**j, out=t)
                t += phase
                t -= np.floor(t, out=floors)
                # tri / 4 has period 1 and goes from 1/4 at whole numbers to -1/4 half-way between them.
                np.subtract(np.abs(np.subtract(t, 0.5, out=t), out=t), 0.25, out=t)
                chunk += np.multiply(t, amplitude, out=t)
    return wave / (amplitudes.sum() * X.shape[1])


def design(m: int, d: int) -> np.ndarray:
    """Fixed test points of shape (m, d): midpoints of a grid for d = 1, an additive recurrence for d > 1.

    The recurrence x_i = i / g^l mod 1, with g^(d+1) = g + 1, spreads evenly in every dimension (the generalized golden
    ratio), so that the mean over the points is close to the integral over the cube.
    """
    if d == 1:
        return (np.arange(m)[:, None] + 0.5) / m
    g = 2.0
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (d + 1))
    return (0.5 + np.arange(1, m + 1)[:, None] * g ** -np.arange(1.0, d + 1)) % 1.0


def _uniform(streams: Streams, params: Mapping, replication: int) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw a family's training rows X (n, d), uniforms (n,) for the labels, and shared Problem fields."""
    X = streams.generator("X").random((params["n"], params["d"]))
    shared: dict[str, Any] = {"X_train": X, "X_test": design(params["n_test"], params["d"])}
    shared |= {"metric": "excess_risk", "replication": replication}
    return X, streams.generator("y").random(params["n"]), shared


def rough_regression(streams: Streams, params: Mapping, replication: int) -> Problem:
    """Regression with uniform X and eta = :func:`rough_wave`.

    Bounded labels (``moment`` None): Y = +1 with probability (1 + eta) / 2, else -1, so that |Y| <= T = 1 and the
    noise is as large as the bound allows. Heavy tails: Y = eta + V - E V with V Pareto of tail index ``moment`` + 1/4
    and E V^p = 1; |V - E V| <= V, so that (E |Y|^p)^(1/p) <= 2. The noise is skewed on purpose: the bias of clipping
    at T is then of order T^(1-p), as in the worst case, and does not cancel as for a symmetric law.
    """
    beta, moment = check_number("beta", params["beta"], above=0, most=1), params["moment"]
    if moment is not None and not moment >= 2:
        raise ConfigurationError(f"rough_regression: moment={moment!r} must be a number >= 2, or null: bounded labels")
    X, u, shared = _uniform(streams, params, replication)
    phases = streams.generator("phases").random((params["d"], SCALES))
    eta, eta_test = rough_wave(X, phases, beta), rough_wave(shared["X_test"], phases, beta)
    y = np.where(u < (1 + eta) / 2, 1.0, -1.0) if moment is None else eta + _pareto(u, float(moment))
    y_range = (-1.0, 1.0) if moment is None else None
    return Problem(**shared, y_train=y, y_test=eta_test, eta_test=eta_test, y_range=y_range)


def _pareto(u: np.ndarray, moment: float) -> np.ndarray:
    """Pareto variable V with E V^moment = 1 and tail index moment + 1/4, minus its mean, from uniforms on [0, 1)."""
    tail = moment + TAIL_MARGIN
    least = (1.0 - moment / tail) ** (1.0 / moment)
    return least * ((1.0 - u) ** (-1.0 / tail) - tail / (tail - 1.0))


def rough_classes(streams: Streams, params: Mapping, replication: int) -> Problem:
    """K classes, uniform X; two classes (drawn in each replication) compete, the others are background.

    P(Y = a | x) = s (1 + g(x)) / 2 + (1 - s) / K and P(Y = b | x) = s (1 - g(x)) / 2 + (1 - s) / K for the competing
    pair, (1 - s) / K for every other class; s is the ``pair_mass``. The gap between the best two classes is s |g(x)|
    whatever K is. g is a signed power of the wave w: g = sgn(w) |w|^(1 / margin) where w has Hölder exponent
    beta * margin. So g is Hölder of order beta and P(0 < |g| < t) <= C t^margin (w has a bounded density near 0). Below
    ``margin`` (gamma) 1 the rate would not be attained by this construction, above 1 / beta no function that crosses
    the decision boundary has it in dimension one (Audibert and Tsybakov 2007).
    """
    beta = check_number("beta", params["beta"], above=0, most=1)
    mass = check_number("pair_mass", params["pair_mass"], above=0, most=1)
    margin, K = params["margin"], params["classes"]
    if not 1 <= margin <= 1 / beta:
        raise ConfigurationError(f"rough_classes: margin={margin!r} must lie in [1, 1/beta] = [1, {1 / beta:g}]")
    if K < 2:
        raise ConfigurationError(f"rough_classes: classes={K!r} must be a whole number >= 2")
    X, u, shared = _uniform(streams, params, replication)
    phases = streams.generator("phases").random((params["d"], SCALES))
    # The competing pair is random: methods break ties in favor of small classes.
    pair = streams.generator("pair", classes=K).permutation(K)[:2]

    def gap(points: np.ndarray) -> np.ndarray:
        wave = rough_wave(points, phases, beta * margin)
        return np.sign(wave) * np.abs(wave) ** (1.0 / margin)

    y = np.where(u < mass * (1 + gap(X)) / 2, pair[0], pair[1])
    background = u >= mass
    # Given u >= s, (u - s) / (1 - s) is uniform again.
    y[background] = np.minimum((u[background] - mass) / (1 - mass) * K, K - 1).astype(int)
    g = gap(shared["X_test"])
    eta_test = np.full((len(g), K), (1 - mass) / K)
    eta_test[:, pair] += mass / 2 * np.column_stack([1 + g, 1 - g])
    return Problem(**shared, y_train=y, y_test=eta_test.argmax(axis=1), eta_test=eta_test, classes=np.arange(K))


def sign_cubes(params: Mapping) -> tuple[int, float]:
    """Cubes per axis and height of the hard families of the lower bounds: eta = ±height on each cube.

    ``bins`` null: (information * n)^(1 / (2 beta + d)), the width at which the signs are just hidden. The height is
    h^beta / 2. (The proofs smooth the edges; the two-point value of a cube needs no smoothness.)
    """
    exponent = 1.0 / (2.0 * params["beta"] + params["d"])
    bins = params["bins"] or max(1, round((params["information"] * params["n"]) ** exponent))
    return bins, 0.5 * bins ** -float(params["beta"])


def three_point(height: float, moment: float) -> tuple[float, float]:
    """T and P(Y != 0) of labels 0 or ±T whose mean is ±height and for which E |Y|^moment = 1."""
    bound = height ** (-1.0 / (moment - 1.0))
    return bound, height / bound


def sign_classes(streams: Streams, params: Mapping, replication: int) -> Problem:
    """Two classes, P(Y = 1 | x) = (1 ± height) / 2; the sign of each cube is the hypothesis, drawn in each replication.

    The labels of the public sample have the signal height^gamma (LPCT Theorem 3); without a ``gamma`` they are coins.
    """
    signs, test, public, u, shared = _signs(streams, params, replication)
    eta, labels = 0.5 * (1.0 + test), streams.generator("y", part="public")
    y_public = labels.integers(0, 2, params["n_public"])
    if params["gamma"] is not None:
        signal = np.sign(public) * np.abs(public) ** params["gamma"]
        y_public = (labels.random(params["n_public"]) < 0.5 * (1.0 + signal)).astype(int)
    return Problem(
        **shared,
        y_train=(u < 0.5 * (1.0 + signs)).astype(int),
        y_test=(test > 0).astype(int),
        y_public=y_public,
        eta_test=np.column_stack([1.0 - eta, eta]),
        classes=np.array([0, 1]),
    )


def sign_regression(streams: Streams, params: Mapping, replication: int) -> Problem:
    """Labels ±1 of mean ±height, or with ``moment`` p those of :func:`three_point`, so that E |Y|^p = 1."""
    signs, test, _, u, shared = _signs(streams, params, replication)
    if params["moment"] is None:
        bound, y = 1.0, np.where(u < 0.5 * (1.0 + signs), 1.0, -1.0)
    else:
        bound, share = three_point(sign_cubes(params)[1], float(params["moment"]))
        y = np.where(u < share, np.sign(signs) * bound, 0.0)
    public = bound * streams.generator("y", part="public").choice([-1.0, 1.0], params["n_public"])
    return Problem(**shared, y_train=y, y_test=test, y_public=public, eta_test=test, y_range=(-bound, bound))


def _signs(
    streams: Streams, params: Mapping, replication: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw a sign for each cube of the hard families, whose regression function is eta = ±height there.

    Returned are eta at the n training, test and public rows, uniforms (n,) from which labels are made, and the fields
    of a Problem that both families share.
    """
    bins, height = sign_cubes(params)
    hypothesis = height * streams.generator("signs").choice([-1.0, 1.0], (bins,) * params["d"])
    X, u, shared = _uniform(streams, params, replication)
    shared["X_public"] = streams.generator("X", part="public").random((params["n_public"], params["d"]))
    places = (X, shared["X_test"], shared["X_public"])
    signs, test, public = (hypothesis[tuple((x * bins).astype(int).T)] for x in places)
    return signs, test, public, u, shared
