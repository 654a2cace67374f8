"""One method beside every other one on all, development, held-out and sealed data sets.

An experiment names the data sets of each role in ``settings.data_sets``, the seed of the development in
``settings.development_seed``, and in ``settings.compared`` the method that all others are compared with.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from lpbench.analysis import ALPHA, is_ranked
from lpbench.analysis.standings import FEWEST, NONE, least_p, over_sets, view
from lpbench.experiments.method import Method
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures.ranks import control_of
from lpbench.reporting.printed_names import dataset_title, mask_name, method_title

#: Role of data sets (empty: all) -> heading.
TITLES = {
    "": "All data sets",
    "development": "Development data sets",
    "held out": "Held-out data sets",
    "sealed": "Sealed data sets",
}


def shown_by_role(entry: ReportEntry, rows: pd.DataFrame, cards: Mapping[str, Method]) -> dict:
    """Legend and tables of an experiment from its standings; empty where its data sets have no role."""
    rows = view(rows[(rows["privacy"] != NONE) & rows["method"].map(is_ranked)], "oracle")
    if rows.empty or not rows["role"].any():
        return {}
    control = control_of(entry.experiment, list(rows["method"]))
    roles = [role for role in TITLES if not role or (rows["role"] == role).any()]
    tables = [_table(rows[rows["role"] == role] if role else rows, role, control, cards) for role in roles]
    return {"legend": _legend(entry, method_title(control, cards)), "tables": tables}


def _table(
    rows: pd.DataFrame, role: str, control: str, cards: Mapping[str, Method]
) -> tuple[str, list[str], list[list[str]]]:
    """Title, heads and rows, the compared method on top."""
    sets = sorted(map(dataset_title, rows["dataset"].unique()))
    names = f"{len(sets)}" if len(sets) >= FEWEST else f"{len(sets)}: {', '.join(sets)}"
    several = rows["mask"].nunique() > 1
    heads, cells = ["Method"], {method: [method_title(method, cards)] for method in [control, *rows["method"].unique()]}
    for (panel, mask, epsilon), part in rows.groupby(["panel", "mask", "epsilon"]):
        found = over_sets(part, control, ("control",))
        place = ", ".join(filter(None, [panel, mask_name(mask) * several, f"ε = {epsilon:g}"]))
        heads.append(f"{place} (p ≥ {least_p(part['dataset'].nunique(), len(found)):.2g})")
        lowest, texts = found["rank_sum"].min(), {}
        for row in found.itertuples():
            text = f"{row.rank_sum:g}" + (" ◂" if row.rank_sum == lowest else "")
            if row.method != control and row.control == row.control:
                text += f"; ×{row.control:.2f}{'†' if row.p < ALPHA else ''}"
                text += (
                    f" [{row.control_low:.2f}, {row.control_high:.2f}]" if row.control_low == row.control_low else ""
                )
                text += f"; {row.wins}:{row.losses}"
            texts[row.method] = text
        for method, line in cells.items():
            line.append(texts.get(method, ""))
    return f"{TITLES[role]} ({names})", heads, list(cells.values())


def _legend(entry: ReportEntry, name: str) -> str:
    seed = entry.record.get("config", {}).get("seed")
    settings = entry.experiment.settings
    return (
        f"{name} beside every other method. It was developed on the development sets with seed "
        f"{settings.get('development_seed', '?')}; the numbers here are from "
        f"{'the seed of the run' if seed is None else f'seed {seed}'}. A cell: rank sum of the row's method (◂: the "
        f"smallest); its loss over that of {name}, geometric mean over data sets with a 95 % interval over them "
        f"({FEWEST} or more; †: two-sided Wilcoxon test over data sets, level 0.05 after Holm over the other methods; "
        f"p: the least that this test can give); on how many data sets {name} is better : worse. Columns of published "
        "methods are their best grid points on the test rows unless the notes say otherwise."
    )
