"""Which rows and columns a table has: the papers' order for their tables, a plain product for ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from lpbench.analysis import competitors, is_ranked, representatives
from lpbench.analysis.summary import BASELINE
from lpbench.reporting.cards import method_title
from lpbench.reporting.published import HISTOFTREE_TABLES, names
from lpbench.selectors import parse_selector


@dataclass(frozen=True)
class Column:
    """One column: a method under a mask.

    Attributes
    ----------
    group, label : str
        The two header lines.
    mask, method : str
        As in the summary; ``paper_mask`` and ``paper_method`` are the keys of the published cells.
    ranked : bool
        Whether the column takes part in rank sums.
    """

    group: str
    label: str
    mask: str
    method: str
    paper_mask: str = ""
    paper_method: str = ""
    ranked: bool = True


@dataclass(frozen=True)
class Layout:
    """A table: rows are data sets, columns methods, one value a cell.

    Attributes
    ----------
    caption : str
    datasets : tuple of (label, selector)
    columns : tuple of Column
    panel : str
    epsilon : float
    value : {"ratio", "mean", "seconds"}
        What a cell shows: the ratio to the non-private tree, the mean score, or seconds as a multiple of CT-W.
    style : {"histoftree", "lpct", "general"}
        How numbers are printed and which tie rule the paper used.
    """

    caption: str
    datasets: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]
    panel: str
    epsilon: float
    value: str
    style: str


#: Order of methods in tables that no paper lays out.
ORDER = [
    *("histoftree_max_edge", "histoftree_cart", "adhistoftree_max_edge", "adhistoftree_cart", "par_dt", "hist", "krr"),
    *("lpct_max_edge", "lpct_cart", "lpct_prune_max_edge", "lpct_prune_cart", "lpct_p", "lpct_q", "lpct_random"),
    *("ct_q", "phist", "lpdt", "pglm", "psgd_linear", "psgd_neural"),
    *("private_mean", "private_majority", "label_dt", "dt", "ct_w"),
]
_HISTOFTREE = {
    "aligned": ["histoftree_max_edge", "histoftree_cart", "par_dt", "hist", "krr"],
    "personalized": [
        *("histoftree_max_edge", "histoftree_cart", "adhistoftree_max_edge", "adhistoftree_cart"),
        *("par_dt", "hist", "krr"),
    ],
}
_LPCT = [
    *("ct_w", "lpct_max_edge", "lpct_cart", "lpct_prune_max_edge", "lpct_prune_cart", "ct_q"),
    *("phist", "lpdt", "pglm", "psgd_linear", "psgd_neural"),
]


def layouts(experiment: str, table: pd.DataFrame, cards: Mapping[str, Mapping]) -> list[Layout]:
    """Return the tables of an experiment, one a panel and budget.

    Parameters
    ----------
    experiment : str
    table : DataFrame
        Summary rows of one selection.
    cards : mapping
        Method selector -> printed name and so on.
    """
    if experiment in HISTOFTREE_TABLES:
        return [_histoftree(table, cards, HISTOFTREE_TABLES[experiment][1])]
    if experiment in ("lpct/table2", "lpct/table3"):
        epsilons = [0.5, 2.0, 8.0] if experiment == "lpct/table2" else [2.0]
        return [_lpct(experiment, table, cards, e) for e in epsilons]
    return _general(table, cards)


def _histoftree(table: pd.DataFrame, cards: Mapping, epsilon: float) -> Layout:
    columns = []
    for mask, methods in _HISTOFTREE.items():
        masks = sorted({m for m in table["mask"] if parse_selector(m)[0] == mask}) or [mask]
        for name in masks:
            present = sorted(set(table.loc[table["mask"] == name, "method"]))
            group = mask if name == mask else name
            columns += _paper_columns(group, name, mask, methods, present, cards)
    datasets = _paper_rows("H", table)
    return Layout(f"Epsilon = {epsilon:g}, MSE relative to the non-private tree", datasets, tuple(columns), "",
                  epsilon, "ratio", "histoftree")  # fmt: skip


def _lpct(experiment: str, table: pd.DataFrame, cards: Mapping, epsilon: float) -> Layout:
    masks = sorted(set(table["mask"])) or [""]
    present = sorted(set(table["method"]))
    columns = _paper_columns("", masks[0], "", _LPCT, present, cards)
    if experiment == "lpct/table3":
        caption = "Seconds for one fit as multiples of CT-W in the same run"
        return Layout(caption, _paper_rows("L", table), tuple(columns), "", epsilon, "seconds", "general")
    caption = f"Epsilon = {epsilon:g}, accuracy in units of 0.1"
    return Layout(caption, _paper_rows("L", table), tuple(columns), "", epsilon, "mean", "lpct")


def _paper_columns(group, mask, paper_mask, methods, present, cards) -> list[Column]:
    """The paper's columns, then whatever else was run (other variants, references), not ranked."""
    columns, used, chosen = [], set(), representatives(present)
    for base in methods:
        name = chosen.get(base, base)
        used.add(name)
        columns.append(Column(group, method_title(name, cards), mask, name, paper_mask, base, is_ranked(name)))
    extra = [m for m in present if m not in used and m != BASELINE]
    return columns + [Column(group, method_title(m, cards), mask, m, ranked=False) for m in extra]


def _paper_rows(paper: str, table: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    """The paper's data sets in its order, then any other."""
    present = sorted(set(table["dataset"]))
    rows = []
    for (label, _), dataset in names("dataset", paper).items():
        selectors = [s for s in present if parse_selector(s)[0] == dataset]
        rows += [(label, s) for s in selectors or [dataset]]
    known = {s for _, s in rows}
    return tuple(rows + [(s, s) for s in present if s not in known])


def _place(method: str) -> tuple:
    """Order of columns: proposed methods, competitors, references; anything else at the end by name."""
    name = parse_selector(method)[0]
    return ORDER.index(name) if name in ORDER else len(ORDER), method


def _general(table: pd.DataFrame, cards: Mapping) -> list[Layout]:
    found = []
    for (panel, epsilon), rows in table.groupby(["panel", "epsilon"], dropna=False):
        ratio = (rows["metric"] == "mse").all() and rows["ratio"].notna().any()
        pairs = sorted(set(zip(rows["mask"], rows["method"], strict=True)), key=lambda p: (p[0], _place(p[1])))
        # the ratio of the baseline to itself says nothing
        pairs = [p for p in pairs if not (ratio and p[1] == BASELINE)]
        masks, ranked = {m for m, _ in pairs}, competitors(m for _, m in pairs)
        columns = tuple(
            Column(mask if len(masks) > 1 else "", method_title(m, cards), mask, m, ranked=is_ranked(m) and m in ranked)
            for mask, m in pairs
        )
        datasets = tuple((d, d) for d in sorted(set(rows["dataset"])))
        seconds = (rows["metric"] == "seconds").all() and (rows["method"] == "ct_w").any()
        value = "ratio" if ratio else "seconds" if seconds else "mean"
        text = {"ratio": "MSE relative to the non-private tree", "seconds": "seconds relative to CT-W"}
        # without the reference in the run, times stand as they are
        what = text.get(value, " and ".join(sorted(set(rows["metric"]) - {""})) or "no result")
        budget = "" if math.isnan(epsilon) else f"Epsilon = {epsilon:g}, "
        part = f"Panel {panel}: " if panel else ""
        found.append(Layout(f"{part}{budget}{what}", datasets, columns, panel, epsilon, value, "general"))
    return found
