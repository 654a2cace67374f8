"""Lower bounds as floors: the least mean risk that any method can have on the hard family of a theorem's proof.

A method significantly below the least risk of its stated budget has seen more than its reports.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy

from lpbench.analysis.curves import Curve
from lpbench.analysis.rates import loglog_slope
from lpbench.datasets.label_dp import sign_cubes, three_point
from lpbench.members import bare_name, member
from lpbench.papers.label_dp.rates import facts
from lpbench.papers.theory.theorems import LPCT_ORDER, Row
from lpbench.reporting.printed_names import method_title


def two_point(
    model: str,
    *,
    classes: bool,
    n: int,
    cubes: int,
    height: float,
    epsilon: float,
    moment: float | None = None,
    share: float = 1.0,
    public: tuple[int, float] = (0, 0.0),
) -> float:
    """Return the least excess risk of any method, averaged over independent fair signs of the cubes.

    The signs are those of :func:`lpbench.datasets.label_dp.sign_cubes` (Assouad: the cubes are independent problems of
    two points).

    A cube of k rows is a test of two simple hypotheses. ``label_ldp`` (and all that implies it: ``ldp``,
    ``semi_feature_ldp``; and ``none`` with epsilon = inf): every eps-LDP channel of a bit is a garbling of randomized
    response (Kairouz, Oh and Viswanath 2014), so that the Bayes risk of its k answers is exact. ``label_cdp`` (and
    ``cdp``): the exact error of the optimal eps-DP test of a binomial count (Awan and Slavkovic 2018); in regression a
    wrong sign costs height^2 at least.

    Protected features: ``cubes`` counts what the public features tell apart, and a row lies in one of its private cells
    with chance ``share``. Three-point labels, likewise: a row tells of the sign with chance P(Y != 0). A channel then
    sees the sign through a likelihood ratio of at most ((1 + h) e^eps + 1 - h) / ((1 - h) e^eps + 1 + h), diluted by
    the share, and two points whose likelihood ratio is bounded are a garbling of randomized response; the central model
    by group privacy of the labels that are not 0. ``public`` counts further rows, without privacy, whose labels agree
    with the sign of their cell by a signal of their own.
    """
    scale, signal = (height, height) if classes else (height**2, height)
    epsilon = min(epsilon, 500.0)
    central, blind = model in ("label_cdp", "cdp"), 0.0
    if moment is not None:
        share = three_point(height, moment)[1]
        blind = scale * (1.0 - share / cubes) ** n
        if central:
            k = np.arange(n + 1)
            errs = scipy.special.expit(-epsilon * k)
            return max(blind / 2.0, scale * float(scipy.stats.binom.pmf(k, n, share / cubes) @ errs))
        signal = 1.0
    # chances that the optimal channel of a row agrees with the sign, times a common factor
    agrees, differs = ((1.0 + v * math.tanh(epsilon / 2.0)) * share for v in (signal, -signal))
    agrees, differs = (v + (1.0 - share) * (1.0 - math.tanh(epsilon / 2.0)) for v in (agrees, differs))
    keep = 0.5 * (1.0 + signal) if central else agrees / (agrees + differs)
    lead, chance = _votes(n, 1.0 / cubes, keep)
    if central:
        return scale * float(chance @ _private_test(lead / 2.0, epsilon))
    votes, often = _votes(public[0], share / cubes, 0.5 * (1.0 + public[1]))
    odds = lead[:, None] * (math.log(agrees / differs) if differs > 0 else 1e3) + votes * 2.0 * math.atanh(public[1])
    wrong = 0.5 * (1.0 - np.sign(odds)) if classes else 1.0 - np.tanh(odds / 2.0) ** 2
    return max(blind, scale * float(chance @ wrong @ often))


def _votes(most: int, share: float, keep: float) -> tuple[np.ndarray, np.ndarray]:
    """Possible values of "votes for the true sign of a cube minus votes against it", and their probabilities.

    Each of ``most`` users votes with probability ``share``, and for the true sign with probability ``keep``. Values of
    negligible probability are left out.
    """
    turn = np.exp(-2j * math.pi * np.fft.rfftfreq(2 * most + 1))
    chance = np.fft.irfft((1.0 - share + share * (keep * turn + (1.0 - keep) / turn)) ** most, 2 * most + 1)
    likely = np.fft.fftshift(chance) > 1e-14
    return np.flatnonzero(likely) - most, np.fft.fftshift(chance)[likely]


def _private_test(lead: np.ndarray, epsilon: float) -> np.ndarray:
    """Chance that the optimal eps-DP test of two hypotheses errs, for each ``lead``: an array of its shape.

    A lead is half of (votes for the truth minus votes against it): how many votes would have to change for a draw. It
    is at most 1/2 for a lead of 0 or more.
    """
    distance = np.abs(lead)
    steps = np.floor(distance)
    first = np.where(distance == steps, 0.5, 1.0 / (1.0 + math.exp(epsilon)))
    behind = first * np.exp(-epsilon * steps)
    return np.where(lead >= 0, behind, 1.0 - behind)


def least_leak(hypotheses: int, epsilon: float, *, height: float, classes: bool, **family: Any) -> float:
    """Smallest budget at which the best method is seen (80 %, tests at 5 %) below the bound of ``epsilon``."""
    scale = height if classes else height**2

    def seen(spent: float) -> bool:
        value = two_point(epsilon=spent, height=height, classes=classes, **family)
        error = scale * math.sqrt(value / scale * (1.0 - value / scale) / hypotheses)
        return value + (1.645 + 0.842) * error <= floor

    floor = two_point(epsilon=epsilon, height=height, classes=classes, **family)
    low, high = epsilon, 64.0
    if not seen(high):
        return math.inf
    while high > 1.005 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def greatest_floor(n: int, epsilon: float, *, letter: str, n_public: int = 0) -> float:
    """Largest two-point lower bound over widths, for the hard family of HistOfTree (``letter`` H) or of LPCT (L).

    H's are sign cubes (d = 2, s* = alpha = 1), L's are balls (d = gamma = 1): one of width r holds a share r^(alpha
    beta) of the mass; alpha = beta = 1 here. Public rows have the signal h^gamma, and a row lies in a ball with chance
    r.
    """
    values = []
    for bins in 2.0 ** np.arange(0, 4, 0.25):  # widths need not be whole for the value
        height, share = 0.5 / bins, 1.0 / bins
        family = {"n": n, "epsilon": epsilon, "height": height, "share": share}
        if letter == "H":
            values.append(two_point("label_ldp", classes=False, cubes=bins, **family))
        else:
            values.append(share * two_point("label_ldp", classes=True, cubes=1, public=(n_public, height), **family))
    return max(values)


def order_rows(letter: str) -> Iterator[Row]:
    """H-L1, L-L1: the order of the exact floors in n and in the budget beside the theorem's."""
    sizes, budgets = np.array([512, 4096]), np.array([0.25, 0.5])
    over_n = [greatest_floor(int(n), 1.0, letter=letter) for n in sizes]
    over_budget = [greatest_floor(4096, float(e), letter=letter) for e in budgets]
    cases = [("n", sizes, over_n, 1.0), ("e^ε − 1", np.expm1(budgets), over_budget, 2.0)]
    if letter == "L":
        publics = np.array([64, 256])
        cases.append(("n_Q", publics, [greatest_floor(1, 0.5, letter="L", n_public=int(n)) for n in publics], 4 / 3))
    source, e = {"H": ("Th. 4.2", 2 / 5), "L": ("Th. 3", 1 / 2)}[letter]
    states = "(n(e^ε − 1)²)^(−2α / (2α + d + s*))" if letter == "H" else LPCT_ORDER
    for axis, x, values, power in cases:
        yield Row(
            f"{letter}-L1",
            source,
            states,
            f"exponent of {axis} in the exact two-point value",
            power * e,  # d = 1, alpha = beta = gamma = 1
            found=-float(loglog_slope(x, np.array(values))),
            kind="order",
            over=f"{axis} = {x[0]:,.4g} to {x[-1]:,.4g}",
        )


#: Lower bounds of H and L; those of Z are Theorems 1, 3, ..., 11: label LDP and CDP of classes, numbers, heavy tails.
LOWER = {"H": "Th. 4.2", "L": "Th. 3"}
#: Rows of each hard family that a method is held to.
ROWS = 4096


def hard_families(task: str, model: str) -> list[tuple[str, str, float, int]]:
    """Hard families that a method is held to, with masks, largest budgets at which their bounds are sharp, and draws.

    That of label DP for all, that of LPCT for local classifiers, and that of HistOfTree for local regressors that hide
    features: what a report tells of a sign beside a protected feature is bounded closely for small budgets alone.
    """
    protected = "label_only" if model in ("semi_feature_ldp", "label_ldp") else "all_private"
    name, central = ("sign_classes" if task == "classification" else "sign_regression"), model in ("label_cdp", "cdp")
    families = [(f"{name}[bins=16]", protected, 0.1 if central else 1.0, 80)]
    if task == "classification" and not central:
        families.append((f"{name}[bins=16,gamma=1]", protected, 1.0, 80))
    elif model in ("semi_feature_ldp", "ldp"):
        families.append((f"{name}[bins=2,d=2]", "aligned[n_protected=1]", 0.25, 240))  # four signs a draw
    return families


def family_of(dataset: str, mask: str, model: str, n: int) -> tuple[str, dict[str, Any]]:
    """Paper whose hard family a data set under a mask is, and what :func:`two_point` takes of it."""
    task, of_data = facts(dataset)
    bins, height = sign_cubes(of_data | {"n": n})
    hidden = member(mask).params.get("n_protected", 1) if bare_name(mask) == "aligned" else 0
    shape = {"model": model, "classes": task == "classification", "n": n, "height": height}
    shape |= {"cubes": bins ** (of_data["d"] - hidden), "share": bins**-hidden, "moment": of_data.get("moment")}
    if of_data.get("gamma") is None:
        return "H" if hidden else "Z", shape
    return "L", shape | {"public": (of_data["n_public"], height ** of_data["gamma"])}


def floor_row(model: str, tried: Sequence[Curve], settings: int = 1) -> Row:
    """The lowest of the methods against the bound: its mean over replications, each with signs of its own.

    ``settings`` were searched for each method, of which its curve has the best.
    """
    n, epsilon = int(tried[0].x[-1]), tried[0].epsilon
    letter, shape = family_of(tried[0].dataset, tried[0].mask, model, n)
    floor = two_point(epsilon=epsilon, **shape)
    values = [c.samples[:, -1] / floor for c in tried]
    errors = [v.std(ddof=1) / len(v) ** 0.5 + 1e-12 for v in values]
    lowest = int(np.argmin([(v.mean() - 1) / e for v, e in zip(values, errors, strict=True)]))
    leak = least_leak(round(len(values[lowest]) * shape["cubes"] / shape["share"]), epsilon, **shape)
    freedom = len(values[lowest]) - 1
    # position among the lower bounds of Z
    number = 1 if letter in LOWER else 5 - 4 * shape["classes"] + 4 * bool(shape["moment"]) + 2 * (model == "label_cdp")
    # Bonferroni: an interval at 95 % that holds for the lowest of all tried
    wide = scipy.stats.t.isf(0.025 / (settings * len(tried)), freedom) / scipy.stats.t.isf(0.025, freedom)
    seen = (
        f"an optimal method that spends ε = {leak:.2f} would be seen" if leak < 64 else "no larger budget would be seen"
    )
    return Row(
        f"{letter}-L{number // 2 + 1}",
        LOWER.get(letter, f"Th. {number}"),
        "no method's mean error over the hypotheses is below the two-point value",
        f"lowest error of {len(tried)} methods, divided by the two-point value, ε = {epsilon:g}",
        1.0,
        (1.0, math.inf),
        float(values[lowest].mean()),
        float(errors[lowest] * wide),
        freedom,
        kind="exact",
        over=f"n = {n:,}",
        remark=f"two-point value {floor:.3g}; {method_title(tried[lowest].base, {})} has the lowest error; {seen}",
    )
