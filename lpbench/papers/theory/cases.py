"""Theorems on trial: differences of exponents, rows that need no curve, and lower bounds of each experiment."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis.rates import LEVEL, bootstrap_means
from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment
from lpbench.papers.theory.computed import (
    cost_rows,
    coverage_rows,
    grr_rows,
    mask_rows,
    reason_rows,
    response_rows,
)
from lpbench.papers.theory.lower_bounds import floor_row, order_rows
from lpbench.papers.theory.theorems import LPCT_ORDER, Case, Row, trial
from lpbench.reporting.evidence import Evidence

UPPER = "(n ε² / log n)^(−2α / (2α + d + s*))"
PRUNED = (
    "LPCT-prune: the rate of L-T1 if public data (Q) dominate; the rate of L-T1 to the power (α + d) / (1 + d) if "
    "private data (P) dominate"
)
CLASSES = "(N (ε² ∧ 1) / ln K)^(−β(γ + 1) / (2β + d))"
CENTRAL = "N^(−β(γ + 1) / (2β + d)) + (ε N)^(−β(γ + 1) / (β + d))"
NUMBERS = "(N (ε² ∧ 1))^(−2β / (2β + d))"
CENTRAL_NUMBERS = "N^(−2β / (2β + d)) + (ε N)^(−2β / (β + d))"
TAILS = "(N ε²)^(−2β(p − 1) / (2pβ + d(p − 1))) + N^(−2β / (2β + d))"
CENTRAL_TAILS = "N^(−2β / (2β + d)) + (ε N)^(−2β(p − 1) / (pβ + d(p − 1)))"


def cases(theorem: str, source: str, states: str, *rows: tuple[Any, ...], **shared: Any) -> list[Case]:
    """Build the cases of one statement, one for each of ``rows``: (what is judged, panel, panel compared, width).

    The last two may be left out; ``source`` is the place in the paper, and ``states`` the theorem's value in words.
    """
    return [Case(theorem, source, states, *row, **shared) for row in rows]


#: Leaf of an experiment -> its cases. Panels are those of conf/experiment/theory.
CASES: dict[str, list[Case]] = {
    "histoftree": cases(
        *("H-T1", "Th. 4.2, Cor. 4.4", UPPER),
        ("s*: 0 against 1, d = 1, α = 1", "s0", "s1"),
        ("α: 1 against ½, s* = d = 1", "s1", "rough"),
        ("α: 1 against ½, s* = 0, d = 1", "s0", "rough_s0"),
        ("d: 1 against 2, s* = 0, α = 1", "s0", "s0_d2"),
        ("ε² against n, s* = d = 1, α = 1", "s1_budget", "s1"),
    ),
    "lpct": [
        *cases(
            *("L-T1", "Th. 3, 4", LPCT_ORDER),
            ("γ: ½ against 2, over n_Q", "public_05", "public_2"),
            ("γ: ½ against 5, over n_Q", "public_05", "public_5"),
            ("n_Q (γ = ½) against n_P", "public_05", "private"),
            ("ε² against n_P", "private_budget", "private"),
        ),
        Case(
            "L-T5",
            "Th. 7",
            PRUNED,
            "the risk falls as n_Q grows, where public data (Q) dominate",
            "prune_public",
            resolves=False,
        ),
        Case("L-T5", "Th. 7", PRUNED, "the risk falls as n_P grows, where private data (P) dominate", "prune_p"),
    ],
    "label_dp": [
        *cases(
            *("Z-T1", "Th. 2, Table I, Remark 1", CLASSES),
            ("label LDP against full LDP", "votes", "votes_full"),
            ("d: 1 against 2", "votes", "votes_d2"),
            ("β: 1 against ½", "votes_smooth", "votes"),
            ("γ: 2 against 1", "votes_margin", "votes"),
            ("K: bits against plain RR", "classes_bits", "classes_rr"),
            ("K: RR with prior against plain RR", "classes_prior", "classes_rr"),
            ("K: ALIBI against plain RR", "classes_alibi", "classes_rr"),
        ),
        Case("Z-T2", "Th. 4", CENTRAL, "label CDP against label LDP", "votes_central", "votes"),
        *cases(
            *("Z-T3", "Th. 6, Table I", NUMBERS),
            ("label LDP against full LDP", "means", "means_full"),
            ("β: 1 against ½", "means_smooth", "means"),
            ("ε² against N", "means_budget", "means"),
        ),
        *cases(
            *("Z-T4", "Th. 8", CENTRAL_NUMBERS),
            ("label CDP against label LDP", "means_central", "means"),
            ("ε against N (equal exponents)", "central_budget", "means_central", 2 / 3),
        ),
        *cases(
            *("Z-T5", "Th. 10", TAILS),
            ("p: 16 against 2", "tails_16", "tails_2"),
            ("p: 4 against 2", "tails_4", "tails_2"),
        ),
        Case(
            "Z-T6",
            "Th. 12",
            CENTRAL_TAILS,
            "p = 2: private against non-private (equal exponents)",
            "tails_central",
            "tails_plain",
            0.1,
        ),
        Case(
            "Z-T7",
            "Th. 13",
            CENTRAL,
            "full CDP against label CDP (equal exponents)",
            "votes_cdp",
            "votes_central",
            1 / 6,
        ),
        Case(
            "Z-T8",
            "Th. 14",
            CENTRAL_NUMBERS,
            "full CDP against label CDP (equal exponents)",
            "means_cdp",
            "means_central",
            1 / 6,
        ),
    ],
}


#: Leaf of an experiment -> rows that need no curve.
COMPUTED: dict[str, Callable[[], Iterator[Row]]] = {
    "histoftree": lambda: itertools.chain(order_rows("H"), mask_rows(), grr_rows(), cost_rows("H"), reason_rows("H")),
    "lpct": lambda: itertools.chain(
        order_rows("L"), response_rows(), coverage_rows(0), cost_rows("L"), reason_rows("L")
    ),
    "label_dp": lambda: iter(()),
}


def judged(results: Evidence, experiment: Experiment) -> Iterator[Row]:
    """Yield the judged rows of an experiment: its theorems' cases, then its lower bounds."""
    lines, table = results.curves(experiment.name), results.summary(experiment.name)
    for case in CASES[experiment.name.rpartition("/")[2]]:
        yield trial(case, lines, table, experiment)
    panels = [(c.panel, c.dataset, c.epsilon) for c in lines if c.panel.startswith("floor")]
    for family in dict.fromkeys(panels):
        tried = [c for c in lines if (c.panel, c.dataset, c.epsilon) == family]
        for model in ("label_ldp", "label_cdp"):
            central = {c.method: catalog.method(c.base).privacy in ("label_cdp", "cdp") for c in tried}
            of_model = [c for c in tried if central[c.method] == (model == "label_cdp")]
            if of_model:
                yield floor_row(model, of_model)


def worth(results: Evidence) -> pd.DataFrame:
    """Private rows with the excess risk of each number of public ones, where LPCT's curves meet; 95 % by bootstrap."""
    (private,) = results.curves("theory/lpct", "lpct_p", panel="private")
    rows = []
    for public in results.curves("theory/lpct", "lpct_q"):
        drawn = [np.vstack([c.mean, bootstrap_means(c.samples)]) for c in (private, public)]
        pairs = ((np.log(np.minimum.accumulate(p))[::-1], np.log(q)) for p, q in zip(*drawn, strict=True))
        equal = np.exp([np.interp(q, p, np.log(private.x)[::-1], left=np.nan, right=np.nan) for p, q in pairs])
        for n_public, values in zip(public.x, equal.T, strict=True):
            if np.isfinite(values).mean() > LEVEL:
                ends = np.nanquantile(values[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
                rows.append((public.parameter("gamma", 0.5), n_public, private.epsilon, values[0], *ends))
    return pd.DataFrame(rows, columns=["gamma", "n_public", "epsilon", "private_rows", "low", "high"])
