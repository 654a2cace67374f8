"""Template context of one experiment's section: finding, pictures or tables, verdicts, differences, files, command."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from lpbench.analysis.numbers import judged_numbers
from lpbench.experiments.method import Method
from lpbench.reporting.artifact import OPTIMISM
from lpbench.reporting.baselines import Constants, by_selection
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages.causes import misses, said
from lpbench.reporting.pages.names import anchor_of, concerned, group_of, label_of
from lpbench.reporting.pages.tables import shown_tables, under_configurations
from lpbench.reporting.printed_names import in_words, mask_name

_SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"')


def unit(
    entry: ReportEntry,
    cards: Mapping[str, Method],
    constants: Constants,
    standings: pd.DataFrame,
    numbers: pd.DataFrame,
    claims: Sequence[Mapping],
    errata: Sequence,
) -> dict:
    """Collect the template's data for one experiment: tables, figures, claims, numbers, errata."""
    # seconds differ from run to run: they stand on the page About
    contents = shown_tables(entry, cards, constants, standings, numbers) if entry.kind != "timing" else []
    paper, output = entry.paper, entry.paper.output_of(entry.name)
    plain, second = [*(output.read(entry.folder, standings, cards) if output.read else ()), None, None][:2]
    grid = plain and plain.grid
    whats = [f.removesuffix(".svg").removeprefix(entry.leaf).strip("_").replace("_", " ") for f in entry.pictures]
    pictures = [
        picture(entry.folder / file, f"{entry.address}/{file}", f"{entry.title}: {what}".removesuffix(": "))
        for file, what in zip(entry.pictures, whats, strict=True)
    ]
    met, *explained = said(numbers, label_of(entry.name, entry.title)) or [""]
    if entry.name in paper.tables:
        tables = [under_configurations(table, paper.configurations) for table in contents]
    else:  # columns of ours have several inputs: the leaderboard has them, and what sums them up stands here
        summed_up = pictures or plain or entry.experiment.settings.get("data_sets")
        tables = [[("", table)] for table in contents[:1] if not summed_up]
    group = ("drawings", "Drawings") if entry.kind == "drawing" and not plain else group_of(entry.name, entry.title)
    group = (output.section.replace(" ", "-").lower(), output.section) if output.section else group
    return {
        "name": entry.name,
        "anchor": anchor_of(entry.name),
        "label": label_of(entry.name, entry.title),
        "group": group,
        "title": entry.title,
        "claims": [c for c in claims if c["concerns"](entry.leaf)],
        "finding": plain.finding if plain else "",
        "verdict": met,
        "explained": explained,
        "judged": judged_numbers(numbers),
        "optimism": _optimism(entry),
        "errata": [e for e in errata if concerned(e["where"], entry.name)],
        "wide": bool(tables or plain or grid) or any(p["broad"] for p in pictures),
        "pictures": pictures,
        "tables": tables,
        "selections": _selections(standings, cards) if entry.name in paper.tables else [],
        "plain": plain,
        "second": second,
        "grid": grid,
        "timing": entry.kind == "timing",
        "misses": misses(numbers, cards),
        "notes": entry.notes,
        "made": _made(entry),
    }


def _optimism(entry: ReportEntry) -> str:
    """Describe how much the best grid points gain over those chosen on the other half; empty without a run.

    The text counts cells that lose more than two standard errors.
    """
    path = entry.folder / OPTIMISM
    rows = pd.read_csv(path) if path.is_file() else pd.DataFrame()
    if rows.empty:
        return ""
    apart, accuracy = (rows["crossed"] - rows["oracle"]).abs(), (rows["metric"] == "accuracy").all()
    size = 100 * (apart if accuracy else apart / rows["oracle"])[apart > 2 * rows["se"]]
    unit = "percentage points" if accuracy else "%"
    return (
        f"Selection bias: in {len(size)} of {len(rows)} cells the best grid point's score differs by more than 2 "
        "standard errors from its score on replications that did not choose this point"
        + (f" (median difference {size.median():.2g} {unit}, largest {size.max():.2g} {unit})." if len(size) else ".")
    )


def picture(path: Path, href: str, alt: str) -> dict:
    """Address, text alternative and size (known before the picture is there, so that the page does not jump)."""
    size = _SIZE.search(path.read_text(encoding="utf-8")[:2000])
    width, height = (round(float(v) * 4 / 3) for v in size.groups()) if size else (0, 0)
    # beyond 700 pixels a picture is not shrunk to a small screen, and takes a row of its own
    return {"href": href, "alt": alt, "width": width, "height": height, "broad": width > 700}


def _selections(standings: pd.DataFrame, cards: Mapping[str, Method]) -> list[list[str]]:
    """Rows of texts on selection by test rows against defaults: methods, wins of each, and the cost of not tuning."""
    rows = []
    for row in by_selection(standings, cards):
        where = ", ".join(filter(None, [in_words(row["panel"]), mask_name(row["mask"])]))
        wins = [f"{row[s]} ({row[f'{s}_significant']})" for s in ("oracle", "tuning_free")]
        cells = row["title"], where, f"{row['epsilon']:g}", str(row["datasets"])
        rows.append([*cells, *wins, f"{row['cost']:.2f}"])
    return rows


def _made(entry: ReportEntry) -> str:
    """Describe a run: replications and seed; a note if scores were published without a record; empty if not run."""
    record = entry.record
    if not record:
        return "as published before, scores by replication not kept" if entry.was_run else ""
    config = record["config"]
    replications = config["experiment"]["replications"]
    count = [] if entry.kind == "drawing" else [f"{replications} replication{'s' if replications > 1 else ''}"]
    return ", ".join([*count, f"seed {config['seed']}"])
