"""End of a run in print: a cell's numbers, an experiment's tables and verdicts, the cells of a sweep."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpbench.analysis.summary import stated_privacy
from lpbench.experiments.results import Artifact
from lpbench.reporting.printed_names import in_words

if TYPE_CHECKING:
    import pandas as pd

    from lpbench.reporting.plain_table import PlainTable

#: Width of tables in a pipe or a file: cells of wider tables are broken at blanks.
_WIDE = 160
#: Keys that have a column in the table of a sweep anyway, or decide only what a single cell prints.
_IN_COLUMNS = ("dataset", "mask", "method", "epsilon", "selection")
_NONE = (float("nan"), float("nan"))
_SWEEP_REMARK = (
    "oracle: the best grid point on the test rows, which no user has; tuning-free: one setting fixed without them, or "
    "chosen by privatized reports; "
    "baseline: private, without features."
)


def print_cell(summary: pd.DataFrame, selection: str, reused: bool) -> None:
    """Print a line for each row of a single cell's summary."""
    chosen = summary[summary["selection"] == selection]
    if chosen.empty:
        chosen = summary
        print(f"(no {selection} setting is defined for this method; showing the others)")
    for row in chosen.to_dict("records"):
        # one replication has no standard error; two digits, without an exponent where they can do without
        spread = f" +- {float(format(row['se'], '.2g')):g}" if row["se"] == row["se"] else ""
        print(
            f"{row['dataset']} {row['mask']} {row['method']} epsilon={row['epsilon']:g} {row['selection']}: "
            f"{row['metric']} {row['mean']:.6g}{spread} (n={row['n']:g}) {row['params']}; {cost_of(row)}"
            + ("  [stored]" if reused else "")
        )


def cost_of(row: Mapping[Any, Any]) -> str:
    """Say how much users spent for a score, in which privacy model, and what the audit found."""
    verdict = row["audit"].partition(":")[0]
    if row["spent"] != row["spent"]:
        return verdict or "no privacy"
    delta = f", delta {row['spent_delta']:.3g}" if row["spent_delta"] else ""
    return f"spent {row['spent']:.6g}{delta} ({in_words(row['spent_model'])}), {verdict}"


def print_verdicts(names: Sequence[str], results_dir: Path) -> None:
    """Print the outcome of each claim about some experiments, as the results folder decides it."""
    from lpbench.reporting.claims import decide_about
    from lpbench.reporting.evidence import Evidence
    from lpbench.reporting.plain_table import PlainTable

    if decisions := decide_about(names, Evidence(results_dir)):
        heads = ("claim", "in print", "here", "statement", "checks: in print / here")
        rows = []
        for d in decisions:
            checks = [f"{v.check.name}: {v.published_outcome} / {v.ours_outcome}" for v in d.verdicts]
            rows.append((d.claim.name, *d.outcomes, d.claim.title, "; ".join(filter(None, [*checks, d.reason]))))
        print_tables([PlainTable("The paper's claims", heads, tuple(rows))])


def print_beside_print(artifact: Artifact, report: Path) -> None:
    """Print how many of an artifact's published numbers are met, and the known causes of the other differences."""
    from lpbench.reporting.number_table import numbers_about
    from lpbench.reporting.pages.causes import said

    for line in said(numbers_about(artifact, report)):
        if line:
            print(f"{artifact.name}: {line}")


def print_sweep(cells: Mapping[str, Mapping[str, str]], results_dir: Path, path: Path) -> None:
    """Print and save one table of a multirun's cells, by their folders; each key that was swept has a column."""
    import pandas as pd

    from lpbench.analysis import write_csv
    from lpbench.analysis.summary import COSTS
    from lpbench.experiments import catalog
    from lpbench.pipeline import baseline_scores
    from lpbench.reporting.numbers import print_score
    from lpbench.reporting.plain_table import PlainTable

    if not cells:
        return
    artifacts = {name: Artifact(results_dir / name, "single") for name in cells}
    keys = dict.fromkeys(key for given in cells.values() for key in given if key not in _IN_COLUMNS)
    swept = [key for key in keys if len({given.get(key) for given in cells.values()}) > 1]
    baselines, rows, printed = baseline_scores(list(artifacts.values()), results_dir), [], []
    for name, cell in artifacts.items():
        table: Any = cell.summary
        first, given = table.iloc[0], {key: cells[name].get(key, "") for key in swept}
        scores = {row.selection: (row.mean, row.se) for row in table.itertuples()}
        # a method is shown under one of the two
        without = scores.get("tuning_free", scores.get("private", _NONE))
        columns = {"oracle": scores.get("oracle", _NONE), "tuning-free": without}
        columns["baseline"] = baselines.get(cell.folder, _NONE)
        setting = {key: first[key] for key in ("dataset", "mask", "method")}
        stated = stated_privacy(catalog.method(first["method"]).privacy, first["audit"])
        setting["privacy"] = in_words(stated) or "not stated"
        numbers = {
            f"{head}{end}": v for head, pair in columns.items() for end, v in zip(("", "_se"), pair, strict=True)
        }
        seed = {"seed": cell.record["config"]["seed"], "n": int(table["n"].max())}
        cost = {key: first[key] for key in COSTS}
        reason = "" if cell.was_run or cell.full is None else "; ".join(dict.fromkeys(cell.full.reasons["reason"]))
        rows.append(
            setting
            | {"epsilon": first["epsilon"], **given}
            | seed
            | {"metric": first["metric"], **numbers}
            | cost
            | {"reason": reason}
        )
        texts = ["–" if mean != mean else print_score(mean, se) for mean, se in columns.values()]
        note = reason or cost_of(first).removeprefix("spent ")
        printed.append((*setting.values(), f"{first['epsilon']:g}", *given.values(), first["metric"], *texts, note))
    heads = ("dataset", "mask", "method", "privacy", "ε", *swept, "metric", *columns, "spent")
    print_tables([PlainTable("", heads, tuple(printed), _SWEEP_REMARK)])
    write_csv(pd.DataFrame(rows), path)
    print(f"table: {path}")


def print_tables(tables: Sequence[PlainTable]) -> None:
    """Print tables, within the terminal's width where there is one."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _WIDE, highlight=False)
    for table in tables:
        printed = Table(
            title=Text(table.legend) if table.legend else None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False
        )
        for head in table.heads:
            printed.add_column(Text(head), overflow="fold")
        for row in table.rows:
            printed.add_row(*map(Text, row))
        console.print(printed)
        if table.remark:
            console.print(Text(table.remark), soft_wrap=not sys.stdout.isatty())
