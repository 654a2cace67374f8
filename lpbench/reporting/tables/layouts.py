"""Rows and columns of result tables: the papers' order for their tables, a plain product for ours."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from lpbench.analysis import competitors, representatives
from lpbench.analysis.summary import barred
from lpbench.experiments.method import Method
from lpbench.members import BASELINE, bare_name, is_ranked
from lpbench.reporting.paper import Paper, TableLayout, papers
from lpbench.reporting.printed_names import card_of, dataset_title, in_words, mask_name, method_title
from lpbench.reporting.published import published_cells


@dataclass(frozen=True)
class TableColumn:
    """One column of a table: a method under a mask, with its title and group.

    ``paper_mask`` and ``paper_method`` are its keys among printed cells (empty: not printed).
    """

    group: str  # the line above the label
    label: str
    mask: str  # as in the summary
    method: str
    paper_mask: str = ""  # as among the published cells
    paper_method: str = ""
    ranked: bool = True  # whether the column takes part in rank sums


@dataclass(frozen=True)
class Layout:
    """Rows (data sets) and columns (methods) of one table, before it is filled with numbers.

    ``datasets`` are (title, selector); ``value`` is "mean", "ratio" or "seconds", ``style`` how numbers are printed.
    """

    caption: str
    datasets: tuple[tuple[str, str], ...]
    columns: tuple[TableColumn, ...]
    panel: str
    epsilon: float
    value: str  # as in TableLayout
    style: str


def marked(cards: Mapping[str, Method], table: pd.DataFrame) -> dict[str, Method]:
    """Return methods whose printed names carry the reason why they have no rank or star."""
    bars = {method: why.partition(":")[0] for method, why in barred(table).items()}
    barred_cards = {method: card for method in bars if (card := card_of(method, cards)) is not None}
    return {**cards, **{m: replace(card, title=f"{card.title} ({bars[m]})") for m, card in barred_cards.items()}}


def layouts(experiment: str, paper: Paper, table: pd.DataFrame, cards: Mapping[str, Method]) -> list[Layout]:
    """Return the tables of an experiment, one a panel and budget."""
    spec = paper.tables.get(experiment)
    if spec is not None:
        return [_paper_layout(spec, table, cards, epsilon) for epsilon in spec.epsilons]
    return _general(table, cards, published_cells(experiment, paper))


def _paper_layout(spec: TableLayout, table: pd.DataFrame, cards: Mapping[str, Method], epsilon: float) -> Layout:
    """Lay out a paper's table at one ε: its columns and rows, then whatever else ``table`` has."""
    columns = []
    for mask, methods in spec.columns.items():
        for name in _masks(mask, table):
            present = sorted(set(table.loc[table["mask"] == name, "method"]))
            columns += _paper_columns(mask_name(name) if mask else "", name, mask, methods, present, cards)
    caption = spec.caption.format(epsilon=epsilon)
    return Layout(caption, _paper_rows(spec, table), tuple(columns), "", epsilon, spec.value, spec.style)


def _masks(mask: str, table: pd.DataFrame) -> list[str]:
    """Selectors of a paper's mask in a run; without one the run has one mask."""
    masks = sorted(m for m in set(table["mask"]) if not mask or bare_name(m) == mask)
    return (masks if mask else masks[:1]) or [mask]


def _paper_columns(group, mask, paper_mask, methods, present, cards) -> list[TableColumn]:
    """The paper's columns for one mask, then other methods that were run (variants, references), not ranked.

    ``methods`` are the paper's, ``present`` those run; ``mask`` is our selector and ``paper_mask`` the paper's name.
    """
    columns, used, chosen = [], set(), representatives(present)
    for base in methods:
        name = chosen.get(base, base)
        used.add(name)
        columns.append(TableColumn(group, method_title(name, cards), mask, name, paper_mask, base, is_ranked(name)))
    extra = [m for m in present if m not in used and m != BASELINE]
    return columns + [TableColumn(group, method_title(m, cards), mask, m, ranked=False) for m in extra]


def _paper_rows(spec: TableLayout, table: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    """Pairs of a row's title and its data set: those of the paper in its order, then those that only we have run.

    A title is ours, with the paper's in brackets where that is another: ``Red wine (RED)``.
    """
    present = sorted(set(table["dataset"]))
    rows = []
    for label, dataset in spec.rows:
        selectors = [s for s in present if bare_name(s) == dataset]
        for selector in selectors or [dataset]:
            title = dataset_title(selector)
            rows.append((title if title.lower() == label.lower() else f"{title} ({label})", selector))
    listed = {s for _, s in rows}
    return tuple(rows + [(dataset_title(s), s) for s in present if s not in listed])


def _general(table: pd.DataFrame, cards: Mapping[str, Method], published: pd.DataFrame) -> list[Layout]:
    """Lay out experiments without a printed table: a layout for each panel and ε, masks x methods by data sets.

    Proposed methods come first, then competitors, references, others by name. ``published`` are printed cells, for the
    keys of columns.
    """
    order = [method for paper in papers() for method in paper.methods]

    def place(pair: tuple[str, str]) -> tuple[str, int, str]:
        name = bare_name(pair[1])
        return pair[0], order.index(name) if name in order else len(order), pair[1]

    # points of a figure are no cells of a table
    cells = published[published["x"].isna()]
    printed = set(zip(cells["mask"], cells["method"], strict=True))
    layouts = []
    for (panel, epsilon), rows in table.groupby(["panel", "epsilon"], dropna=False):
        ratio = (rows["metric"] == "mse").all() and rows["ratio"].notna().any()
        pairs = sorted(set(zip(rows["mask"], rows["method"], strict=True)), key=place)
        # the ratio of the baseline to itself says nothing
        pairs = [p for p in pairs if not (ratio and p[1] == BASELINE)]
        masks, ranked = {m for m, _ in pairs}, competitors({m for _, m in pairs} - barred(table).keys())
        columns = tuple(
            TableColumn(
                mask_name(mask) if len(masks) > 1 else "",
                method_title(m, cards),
                mask,
                m,
                *_printed_as(mask, m, printed),
                is_ranked(m) and m in ranked,
            )
            for mask, m in pairs
        )
        datasets = tuple((dataset_title(d), d) for d in sorted(set(rows["dataset"])))
        seconds = (rows["metric"] == "seconds").all() and (rows["method"] == "ct_w").any()
        value = "ratio" if ratio else "seconds" if seconds else "mean"
        text = {"ratio": "MSE relative to the non-private tree", "seconds": "seconds relative to CT-W"}
        # without the reference in the run, times stand as they are
        what = text.get(value, in_words(" and ".join(sorted(set(rows["metric"]) - {""})) or "no result"))
        budget = "" if math.isnan(epsilon) else f"Epsilon = {epsilon:g}, "
        prefix = f"Panel {in_words(panel)}: " if panel else ""
        accuracy = (rows.loc[rows["metric"] != "", "metric"] == "accuracy").all()
        what, style = ("accuracy (%)", "per_cent") if accuracy and value == "mean" else (what, "general")
        layouts.append(Layout(f"{prefix}{budget}{what}", datasets, columns, panel, epsilon, value, style))
    return layouts


def _printed_as(mask: str, method: str, printed: set[tuple[str, str]]) -> tuple[str, str]:
    """Keys of a column among the published cells; two empty ones where it was not published."""
    name = bare_name(method)
    return next(((m, name) for m in (bare_name(mask), "") if (m, name) in printed), ("", ""))
