"""The explorer: every chosen score of a run as data that a page can draw, and the library that draws it.

Pages opened from a disk may load scripts but no data, so the numbers of an experiment are a script of their own, which
is loaded when it is asked for. The library is Vega-Lite with vega-embed (BSD licence, ``assets/``).
"""

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis.scores import costs
from lpbench.analysis.summary import CONSTANTS, baseline_means, is_ranked
from lpbench.analysis.variants import bare_name
from lpbench.experiments.method import Method
from lpbench.files import write_text
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures.curves import axis_of
from lpbench.reporting.number_table import cell_name
from lpbench.reporting.numbers import for_script
from lpbench.reporting.pages.leaderboard import PROTECTS
from lpbench.reporting.paper import paper_of
from lpbench.reporting.printed_names import card_of, dataset_title, method_title

#: Folder of the scripts beside the report.
EXPLORER = "explorer"
ASSETS = Path(__file__).parent / "assets"
LIBRARIES = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")
#: Shares of the replications below the numbers that stand for their distribution, and how many it takes.
QUANTILES = tuple(np.linspace(0, 1, 11))
LEAST = 5
_TEXTS = ("panel", "dataset", "mask", "method", "selection", "params")
COLUMNS = (*_TEXTS, "epsilon", "x", "published", "mean", "se", "n", "quantiles")
KEYS = ["panel", "dataset", "mask", "method", "epsilon", "x", "selection"]


def write_explorer(
    entries: Sequence[ReportEntry], cards: Mapping[str, Method], numbers: pd.DataFrame, folder: Path
) -> list[dict[str, str]]:
    """Write the library and a script an experiment, and list them: figures with print first, then by paper."""
    target = folder / EXPLORER
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ASSETS, target)
    found: list[tuple[tuple, dict[str, str]]] = []
    for entry in entries:
        content = data_of(entry, cards, numbers)
        if content is not None:
            script = f"{entry.name.replace('/', '-')}.js"
            text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
            write_text(f"explored({json.dumps(entry.name)}, {text});\n", target / script)
            paper = paper_of(entry.name)
            printed = entry.kind == "figure" and any(row[8] is not None for row in content["rows"])
            about = {"name": entry.name, "title": entry.title, "script": script, "paper": paper.short}
            found.append(((not printed, not paper.claims, paper.order), about))
    return [about for _, about in sorted(found, key=itemgetter(0))]


def data_of(entry: ReportEntry, cards: Mapping[str, Method], numbers: pd.DataFrame) -> dict[str, Any] | None:
    """The chosen scores of an experiment: rows of :data:`COLUMNS`, texts by their number; None if it has none."""
    summary = entry.shown
    if summary is None or entry.kind == "timing" or summary.table["mean"].isna().all():
        return None
    table = summary.table[summary.table["mean"].notna()]
    layout = paper_of(entry.name).tables.get(entry.name)
    ratio = layout is not None and layout.value == "ratio"
    # a table of ratios to the non-private tree is shown, and compared with print, as such
    unit = baseline_means(table) if ratio else pd.Series(1.0, index=table.index)
    table, unit = table[unit.notna()], unit[unit.notna()]
    rows = table.assign(unit=unit).merge(_quantiles(summary.chosen), on=KEYS, how="left")
    mine = numbers[numbers["artefact"] == entry.name]
    printed = dict(zip(mine["cell"], mine["published"], strict=True))
    texts: dict[str, dict[str, int]] = {name: {} for name in _TEXTS}
    lines = []
    for r in rows.to_dict("records"):
        words = [texts[name].setdefault(str(r[name]), len(texts[name])) for name in _TEXTS]
        scores = [for_script(r["mean"] / r["unit"], ".6g"), for_script(r["se"] / r["unit"], ".3g")]
        published = printed.get(cell_name(r), math.nan) if r["selection"] == "oracle" else math.nan
        place = [for_script(v, ".4g") for v in (r["epsilon"], r["x"], published)]
        spread = [for_script(r[q] / r["unit"], ".4g") for q in QUANTILES if not math.isnan(r[q])]
        lines.append([*words, *place, *scores, int(r["n"]), spread])
    methods, datasets = list(texts["method"]), list(texts["dataset"])
    known = {m: card_of(m, cards) for m in methods}
    return {
        "columns": COLUMNS,
        "texts": {name: list(words) for name, words in texts.items()},
        "rows": lines,
        "titles": {m: method_title(m, cards) for m in methods} | {d: dataset_title(d) for d in datasets},
        "protects": {m: PROTECTS.get(c.privacy, c.privacy) if c else "" for m, c in known.items()},
        "axis": axis_of(entry.experiment, next(iter(texts["panel"]), "")),
        "metric": "ratio" if ratio else str(table["metric"].iloc[0]),
        "figure": entry.kind == "figure",
        "first": _first(table, entry.experiment.settings.get("compared", "")),
    }  # fmt: skip


def _first(table: pd.DataFrame, compared: str) -> list[str]:
    """Methods that a table's plot shows first: the one it is about, the best five by mean rank, the constant."""
    ranked = table[table["method"].map(is_ranked)]
    cost = costs(ranked["mean"], str(table["metric"].iloc[0]))
    among = ["panel", "dataset", "mask", "epsilon", "selection"]
    ranks = ranked.assign(cost=cost).groupby(among, dropna=False)["cost"].rank()
    best = ranks.groupby(ranked["method"]).mean().sort_values(kind="stable").index[:5]
    constants = [m for m in ranked["method"].unique() if bare_name(m) in CONSTANTS]
    return list(dict.fromkeys([*([compared] if compared in set(table["method"]) else []), *best, *constants]))


def _quantiles(chosen: pd.DataFrame) -> pd.DataFrame:
    """Quantiles of the replications of every cell that has enough of them."""
    enough = chosen[chosen.groupby(KEYS, dropna=False)["value"].transform("size") >= LEAST]
    found = enough.astype({"value": float}).groupby(KEYS, dropna=False)["value"].quantile(QUANTILES).unstack()
    return found.reindex(columns=QUANTILES).reset_index()
