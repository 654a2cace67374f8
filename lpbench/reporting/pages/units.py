"""Template context of one experiment's section: finding, pictures or tables, verdicts, differences, files, command."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lpbench.experiments.method import Method
from lpbench.reporting.artefact import OPTIMISM
from lpbench.reporting.baselines import Constants, by_selection
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures.ranks import BUDGETS, RANKS
from lpbench.reporting.pages.audit import FILE as AUDIT
from lpbench.reporting.pages.causes import badges, misses, said
from lpbench.reporting.pages.names import anchor_of, concerned, group_of, is_numbered, label_of
from lpbench.reporting.pages.tables import SELECTION_WORDS, points, shown_tables, under_configurations
from lpbench.reporting.paper import paper_of
from lpbench.reporting.printed_names import in_words, mask_name
from lpbench.reporting.render import render

#: Plots that every table gets, and what a page calls them.
VIEWS = {
    RANKS: "Average ranks",
    BUDGETS: "Scores against the budget, data set by data set",
}
#: Pixels beyond which a picture is not shrunk to a small screen, and takes a row of its own.
BROAD = 700
#: What stands in the place of measured numbers.
MEASURED_ELSEWHERE = "Seconds differ from run to run; those of this one are on the page About."
#: Characters of an experiment's folded tables beyond which a script beside the page holds them, and its folder.
MANY, TABLES = 8_000, "tables"
_SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"')


@dataclass(frozen=True)
class PageFolder:
    """Where pages are written."""

    folder: Path  # of the report's files, and of the artefacts under their entries' addresses
    stored: bool = False  # whether the scores lie next to the artefacts

    @property
    def audited(self) -> bool:
        """Whether there are findings of a privacy audit."""
        return (self.folder / AUDIT).is_file()


def unit(
    entry: ReportEntry, cards: Mapping[str, Method], constants: Constants,
    standings: pd.DataFrame, numbers: pd.DataFrame, claims: Sequence[Mapping], errata: Sequence,
) -> dict:  # fmt: skip
    """Collect what the page shows of one experiment; ``standings`` and ``numbers`` are its own rows."""
    # seconds differ from run to run: they stand on the checks page
    shown = shown_tables(entry, cards, constants, standings, numbers) if entry.kind != "timing" else []
    paper = paper_of(entry.name)
    read, compare, grid = paper.text_tables.get(entry.name), paper.compared.get(entry.name), paper.grids.get(entry.name)
    plain = read(entry.folder) if read else compare(standings, cards) if compare else None
    pictures = entry.pictures
    tables, laid_out = [t for t in shown if t.selection == "oracle"], entry.name in paper.tables
    about = [c for c in claims if c["concerns"](entry.leaf)]
    met, explained = said(numbers)
    main = [_picture(entry, f) for f in pictures["main"]]
    views = [(title, [_picture(entry, f) for f in pictures[kind]]) for kind, title in VIEWS.items()]
    views = [(title, shown_there) for title, shown_there in views if shown_there]
    group = ("drawings", "Drawings") if entry.kind == "drawing" and not plain else group_of(entry.name)
    group = next(
        ((slug.replace(" ", "-").lower(), slug) for slug, names in paper.sections.items() if entry.name in names), group
    )
    narrow = group[0] != anchor_of(entry.name)
    if len(main) > 1 and (narrow or main[0]["broad"]):
        # no room beside it: panels of one figure stand side by side
        views, main = [("Further figures", main[1:]), *views], main[:1]
    return {
        "name": entry.name,
        "anchor": anchor_of(entry.name),
        "label": label_of(entry.name),
        "group": group,
        "title": entry.title,
        **_heads(entry, (plain and plain.finding) or _finding(entry, about)),
        "claims": about,
        "badges": badges(numbers, about),
        "verdict": met,
        "optimism": _optimism(entry),
        "explained": explained,
        "errata": [e for e in errata if concerned(e["where"], entry.name)],
        "wide": not narrow,
        "long": bool(shown or plain or grid),
        "pictures": main,
        "bare": not (main or views or shown or plain or grid),
        "views": views,
        "tables": tables,
        "configured": under_configurations(tables[0], paper.configurations) if tables and laid_out else [],
        # a table of a paper stands open; of ours, whose columns are many, what sums it up, if there is anything
        "first_table": bool(tables) and (laid_out or not (pictures[RANKS] or plain)),
        "free_tables": [t for t in shown if t.selection != "oracle"],
        "selections": _selections(standings, cards),
        "plain": plain,
        "second": second(entry.folder) if (second := paper.second_tables.get(entry.name)) else None,
        "grid": grid(entry.folder) if grid else None,
        "measured": MEASURED_ELSEWHERE if entry.kind == "timing" else "",
        "misses": misses(numbers, cards),
        "points": points(entry, numbers),
        "notes": entry.notes,
        "made": _made(entry),
        "command": f"lpbench reproduce {entry.name}",
    }  # fmt: skip


def defer_long_tables(unit: Mapping) -> dict[str, object]:
    """What a unit shows of its folded tables: nothing new if they are short, else the script that holds them."""
    folded = [*(unit["tables"][1:] if unit["first_table"] else unit["tables"]), *unit["free_tables"]]
    tables = [render("late_table.html.j2", table=table, selections=SELECTION_WORDS) for table in folded]
    if unit["points"]:
        tables.append(render("late_points.html.j2", points=unit["points"], title=unit["title"]))
    if sum(map(len, tables)) <= MANY:
        return {"late": "", "late_script": ""}
    address = f"{TABLES}/{unit['name'].replace('/', '-')}.js"
    held = json.dumps(tables, ensure_ascii=False, separators=(",", ":"))
    return {"late": address, "late_script": f"(window.TABLES ??= {{}})[{json.dumps(address)}] = {held};\n"}


def _finding(entry: ReportEntry, claims: Sequence[Mapping]) -> str:
    """The heading: the verdict on the paper's claim and the claim, else the title."""
    if claims:
        first = claims[0]
        return f"{first['words'][:1].upper()}{first['words'][1:]}: {first['statement']}"
    return entry.title


def _heads(entry: ReportEntry, finding: str) -> dict[str, str]:
    """Headings of a unit alone in its section and of a panel among others, and what is told above or below each once.

    An artefact without a number has the finding, or its title, for a name.
    """
    label, title = label_of(entry.name), entry.title
    found = finding != title
    alone = f"{label}. {finding}" if found and is_numbered(entry.name) else label
    return {
        "heading": alone if is_numbered(entry.name) else finding,
        "subheading": title if found or is_numbered(entry.name) else "",
        "finding": finding,
        "eyebrow": title if found else label,
    }


def links(entry: ReportEntry, place: PageFolder) -> dict:
    """Addresses of an experiment's files as seen from the pages; beside the run, of its scores too."""
    files = [
        (f, f"{entry.address}/{f}")
        for f in entry.files
        if (place.folder / entry.address / f).is_file() and not (f.endswith(".csv") and _is_empty(entry.folder / f))
    ]
    stored = place.stored and (entry.folder / "scores.parquet").is_file()
    return {"files": files, "scores": f"{entry.address}/scores.parquet" if stored else ""}


def _optimism(entry: ReportEntry) -> str:
    """How much better the best grid points are than those chosen on the other half; empty where no run says it."""
    path = entry.folder / OPTIMISM
    rows = pd.read_csv(path) if path.is_file() else pd.DataFrame()
    if rows.empty:
        return ""
    apart, accuracy = (rows["crossed"] - rows["oracle"]).abs(), (rows["metric"] == "accuracy").all()
    size = 100 * (apart if accuracy else apart / rows["oracle"])[apart > 2 * rows["se"]]
    unit = "percentage points" if accuracy else "%"
    return (
        f"Chosen on one half of the replications and scored on the other, {len(size)} of {len(rows)} best grid points "
        "are worse by more than two standard errors"
        + (f": by {size.median():.2g} {unit} in the median, {size.max():.2g} at most." if len(size) else ".")
    )


def _is_empty(path: Path) -> bool:
    """Whether a CSV file has heads and nothing else."""
    with path.open(encoding="utf-8") as file:
        next(file, "")
        return not next(file, "").strip()


def _picture(entry: ReportEntry, file: str) -> dict:
    """Address, text alternative and size (known before the picture is there, so that the page does not jump)."""
    found = _SIZE.search((entry.folder / file).read_text(encoding="utf-8")[:2000])
    width, height = (round(float(v) * 4 / 3) for v in found.groups()) if found else (0, 0)
    what = file.removesuffix(".svg").removeprefix(entry.leaf).strip("_").replace("_", " ")
    alt = f"{entry.title}: {what}" if what else entry.title
    broad = width > BROAD
    return {"href": f"{entry.address}/{file}", "alt": alt, "width": width, "height": height, "broad": broad}


def _selections(standings: pd.DataFrame, cards: Mapping[str, Method]) -> list[list[str]]:
    rows = []
    for row in by_selection(standings, cards):
        where = ", ".join(filter(None, [in_words(row["panel"]), mask_name(row["mask"])]))
        wins = [f"{row[s]} ({row[f'{s}_significant']})" for s in ("oracle", "tuning_free")]
        rows.append(
            [row["title"], where, f"{row['epsilon']:g}", str(row["datasets"]), *wins, f"loss × {row['cost']:.2f}"]
        )
    return rows


def _made(entry: ReportEntry) -> str:
    record = entry.record
    if not record:
        return "as published before, scores by replication not kept" if entry.was_run else ""
    config = record["config"]
    replications = config["experiment"]["replications"]
    count = [] if entry.kind == "drawing" else [f"{replications} replication{'s' if replications > 1 else ''}"]
    return ", ".join([*count, f"seed {config['seed']}"])
