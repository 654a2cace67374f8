"""PSGD: locally private stochastic gradient descent, of a linear model or a network with one hidden layer."""

from lpbench.estimators.psgd.psgd import PSGD

__all__ = ["PSGD"]
