"""Densities of mechanisms as their sources print them, which no code of the package needs: what tests integrate."""

import math
from functools import singledispatch

import numpy as np

from lpbench.privacy import DiscreteLaplace, Gaussian, Hybrid, Laplace, Piecewise, PrivUnitG, Staircase
from lpbench.privacy.piecewise import CELLS


@singledispatch
def log_density(mechanism, reports, values):
    """Log-density of reports given values, with respect to a measure that does not depend on the values."""
    raise TypeError(f"no density of {type(mechanism).__name__} is written down")


@log_density.register
def _(mechanism: PrivUnitG, reports, values):
    return mechanism.log_density(reports, values)


@log_density.register
def _(mechanism: Laplace, reports, values):
    return -np.abs(np.asarray(reports) - values) / mechanism.scale - math.log(2.0 * mechanism.scale)


@log_density.register
def _(mechanism: DiscreteLaplace, reports, values):
    ratio = mechanism.step / mechanism.scale
    steps = np.abs(mechanism.round(reports) - mechanism.round(values))
    return -steps * ratio + math.log(math.tanh(ratio / 2.0))


@log_density.register
def _(mechanism: Gaussian, reports, values):
    z = (np.asarray(reports) - values) / mechanism.sigma
    return -(z**2) / 2.0 - math.log(mechanism.sigma * math.sqrt(2 * math.pi))


@log_density.register
def _(mechanism: Staircase, reports, values):
    place = np.abs(np.subtract(reports, values)) / mechanism.sensitivity
    step, gamma = np.floor(place), mechanism.high_share
    lower = step + (place - step >= gamma)
    log_mass = np.logaddexp(math.log(gamma), math.log1p(-gamma) - mechanism.budget)
    log_top = math.log(-math.expm1(-mechanism.budget)) - math.log(2.0 * mechanism.sensitivity) - log_mass
    return log_top - lower * mechanism.budget


def index(mechanism: Piecewise, reports):
    """Number of the point nearest to each report."""
    return np.rint(np.asarray(reports) / mechanism.step + (CELLS - 1) / 2.0).astype(np.int64)


@log_density.register
def _(mechanism: Piecewise, reports, values):
    reports, values = np.broadcast_arrays(np.asarray(reports, dtype=np.float64), values)
    chances = mechanism.chances(values.ravel())
    return np.log(chances[np.arange(reports.size), index(mechanism, reports).ravel()]).reshape(reports.shape)


@log_density.register
def _(mechanism: Hybrid, reports, values):
    reports, values = np.broadcast_arrays(np.asarray(reports, dtype=np.float64), values)
    true, false = mechanism.weights
    along = (1.0 + np.sign(reports) * values) / 2.0
    two = (along * true + (1.0 - along) * false) / (true + false)
    apart = math.exp(-mechanism.budget / 2.0) if mechanism.share > 0 else 1.0  # probability of one of the two points
    found = np.where(np.abs(reports) == mechanism.point, apart * two, 0.0)
    if mechanism.share > 0:  # at large budgets the two points are among the many
        points = mechanism.piecewise.points
        nearest = np.clip(index(mechanism.piecewise, reports), 0, CELLS - 1)
        many = mechanism.share * np.exp(log_density(mechanism.piecewise, points[nearest], values))
        found = found + np.where(points[nearest] == reports, many, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(found)
