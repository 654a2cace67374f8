"""Findings about the printed formulas of the limits of label differential privacy."""

import math

import numpy as np

from lpbench.analysis.exponents import table_i
from lpbench.reporting.paper import Erratum

#: Smoothness, dimension and moment at which exponents are compared.
BETA, D, P = 0.5, 1, 4.0


def _laplace_scale() -> str:
    T, n = 3.0, 10
    labels = np.full(n, T)
    changed = labels.copy()
    changed[0] = -T
    return f"T = {T:g}, {n} labels at T, one moved to -T: the mean moves by {labels.mean() - changed.mean():g} = 2T/n"


def _neighbors() -> str:
    """Computation behind the erratum on k: exponent of eps^2 in the squared noise (k eps^2)^(-(p - 1) / p)."""
    r, a = (P - 1) / P, 2 * P * BETA / (2 * P * BETA + D * (P - 1))
    rate = table_i("regression", "label_ldp", beta=BETA, d=D, moment=P).privacy
    printed, balanced = r * (a + 1), r * a
    return (
        f"p = {P:g}, beta = {BETA:g}, d = {D}: the noise with the printed k falls like (eps^2)^-{printed:.3f}, with "
        f"k = eps^-2 (N eps^2)^a like (eps^2)^-{balanced:.3f}, which is the rate (28), (N eps^2)^-{rate:.3f}"
    )


def _width() -> str:
    """Computation behind the erratum on the cube width: exponents of the squared bias h^(2 beta) in eps N."""
    rate = table_i("regression", "label_cdp", beta=BETA, d=D, moment=P).privacy
    denominator = P * BETA + D * (P - 1)
    return (
        f"p = {P:g}, beta = {BETA:g}, d = {D}: the printed h has squared bias (eps N)^-{2 * BETA / denominator:.3f}; "
        f"with the factor p - 1 it is (eps N)^-{2 * BETA * (P - 1) / denominator:.3f}, and the rate "
        f"(31) is (eps N)^-{rate:.3f}"
    )


def _vote_budget() -> str:
    """Computation behind the erratum on votes, as text: the budget that moving a record between two cubes spends.

    It is twice the log-ratio of one cube's probabilities when one count joins the losing class, as two cubes change.
    """
    epsilon, n = 1.0, 100
    rare = [1 / (1 + math.exp(epsilon / 4 * (n - m))) for m in (0, 1)]
    spent = 2 * math.log(rare[1] / rare[0])
    return f"epsilon = {epsilon:g}, a record moves between two cubes, each with {n} of one class: {spent:.4f} is spent"


def _mean_budget() -> str:
    least = 50.0
    labels = {m: np.ones(m) for m in (50, 51)}
    joined = abs((labels[50].sum() - 1) / 51 - labels[50].sum() / 50)
    spent = 2 * joined / (6 / least)
    return f"n_0 = {least:g}, T = 1, a label -1 moves between two cubes of labels 1: {spent:.4f} epsilon is spent"


ERRATA = (
    Erratum("Theorem 8, eq. (25)", "the noise of a cell mean is printed as 2/(n eps) without T", _laplace_scale),
    Erratum("Theorem 10", "k ~ (N eps^2)^a lacks a factor eps^-2 and misses the rate for eps < 1", _neighbors),
    Erratum("Theorem 12", "the exponent of eps N in h lacks a factor p - 1 (right for p = 2 only)", _width),
    Erratum("Theorem 13, eq. (33)", "exp(eps n / 4) spends half of the budget", _vote_budget),
    Erratum("Theorem 14, eq. (38)", "noise 6T/(n_0 eps) spends under two thirds of the budget", _mean_budget),
)
