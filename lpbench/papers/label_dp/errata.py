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
    return (
        f"at T = {T:g}, one of {n} labels T is set to -T. The mean moves by {labels.mean() - changed.mean():g} = 2T/n"
    )


def _neighbors() -> str:
    """Computation behind the erratum on k: exponent of eps^2 in the squared noise (k eps^2)^(-(p - 1) / p)."""
    r, a = (P - 1) / P, 2 * P * BETA / (2 * P * BETA + D * (P - 1))
    rate = table_i("regression", "label_ldp", beta=BETA, d=D, moment=P).privacy
    printed, balanced = r * (a + 1), r * a
    return (
        f"at p = {P:g}, β = {BETA:g} and d = {D}, the noise with the printed k is of order (ε²)^-{printed:.3f}. With "
        f"k = ε^-2 (N ε²)^a the noise is of order (ε²)^-{balanced:.3f}. The rate (28) is (N ε²)^-{rate:.3f}"
    )


def _width() -> str:
    """Computation behind the erratum on the cube width: exponents of the squared bias h^(2 beta) in eps N."""
    rate = table_i("regression", "label_cdp", beta=BETA, d=D, moment=P).privacy
    denominator = P * BETA + D * (P - 1)
    return (
        f"at p = {P:g}, β = {BETA:g} and d = {D}, the printed h has squared bias (ε N)^-{2 * BETA / denominator:.3f}. "
        f"With the factor p - 1 the squared bias is (ε N)^-{2 * BETA * (P - 1) / denominator:.3f}. The rate "
        f"(31) is (ε N)^-{rate:.3f}"
    )


def _vote_budget() -> str:
    """Computation behind the erratum on votes, as text: the budget that moving a record between two cubes spends.

    It is twice the log-ratio of one cube's probabilities when one count joins the losing class, as two cubes change.
    """
    epsilon, n = 1.0, 100
    rare = [1 / (1 + math.exp(epsilon / 4 * (n - m))) for m in (0, 1)]
    spent = 2 * math.log(rare[1] / rare[0])
    return f"at ε = {epsilon:g}, a record moves between two cubes of {n} rows of one class. The move spends {spent:.4f}"


def _mean_budget() -> str:
    least = 50.0
    labels = {m: np.ones(m) for m in (50, 51)}
    joined = abs((labels[50].sum() - 1) / 51 - labels[50].sum() / 50)
    spent = 2 * joined / (6 / least)
    return f"at n_0 = {least:g} and T = 1, a label -1 moves between cubes of labels 1. The move spends {spent:.4f} ε"


ERRATA = (
    Erratum("Theorem 8, eq. (25)", "the printed noise 2/(n ε) of a cell mean lacks the factor T", _laplace_scale),
    Erratum("Theorem 10", "the printed k ~ (N ε²)^a lacks a factor ε^-2 and misses the rate for ε < 1", _neighbors),
    Erratum("Theorem 12", "the exponent of ε N in h lacks a factor p - 1 and is right for p = 2 alone", _width),
    Erratum("Theorem 13, eq. (33)", "the mechanism with exp(ε n / 4) spends half of the budget", _vote_budget),
    Erratum("Theorem 14, eq. (38)", "the noise 6T/(n_0 ε) spends less than two thirds of the budget", _mean_budget),
)
