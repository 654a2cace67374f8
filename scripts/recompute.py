"""Compute rows of the committed tables, and what README and front page count, again from the committed scores.

Written from the captions of the tables and METHODS alone: pandas on the Parquet files, and nothing of the package.
``python scripts/recompute.py [FOLDER] [SEED]`` prints what differs and ends with status 1 where anything does.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

ROOT = Path(__file__).resolve().parent.parent
ROWS = 40
KEY = ["experiment", "panel", "dataset", "mask", "method", "epsilon", "x"]
WORST = ["holds", "mostly", "undecided", "fails", "no verdict"]


def read_scores(folder: Path) -> pd.DataFrame:
    """Scores of the grid points that are best on the test rows."""
    found = pd.concat([pd.read_parquet(path) for path in sorted((folder / "scores").glob("*.parquet"))])
    return found[found["selections"].str.contains("oracle") & (found["status"] == "ok")]


def by_replication(scores: pd.DataFrame, where: dict) -> pd.Series:
    """Scores of one cell by replication."""
    rows = scores
    for name, value in where.items():
        if isinstance(value, float):
            rows = rows[rows[name].isna()] if np.isnan(value) else rows[np.isclose(rows[name], value)]
        else:
            rows = rows[rows[name] == value]
    return rows.set_index("replication")["value"].sort_index()


def number(scores: pd.DataFrame, row: dict) -> dict:
    """Ours, distance and class of a published number: the mean, or its ratio to that of the tree without privacy."""
    dataset, method, mask, epsilon, panel, x = row["cell"].split("|")
    place = {"experiment": row["artefact"], "panel": panel, "dataset": dataset, "mask": mask, "method": method}
    ours = by_replication(scores, place | {"epsilon": float(epsilon), "x": float(x or "nan")})
    mean, error = ours.mean(), ours.std(ddof=1) / np.sqrt(len(ours))
    if row["unit"] == "ratio":
        same = (scores["experiment"] == row["artefact"]) & (scores["dataset"] == dataset) & (scores["method"] == "dt")
        tree = scores[same].drop_duplicates("replication").set_index("replication")["value"].reindex(ours.index)
        mean = ours.mean() / tree.mean()
        error = (ours - mean * tree).std(ddof=1) / tree.mean() / np.sqrt(len(ours))
    apart = mean - row["published"]
    distance = apart / abs(row["published"]) if row["unit"] == "ratio" else apart
    # the print is taken to be as precise as ours: two standard errors of the difference
    noise, near = abs(apart) <= 2 * np.sqrt(2) * error, abs(distance) <= row["tolerance"] + 1e-11
    met = "same within noise" if noise else "within the tolerance" if near else "different"
    return {"ours": mean, "distance": distance, "met": met, "replications": len(ours)}


def instance(scores: pd.DataFrame, cells: pd.DataFrame, row: dict) -> dict:
    """Value, 95 % interval and outcome of an instance that is a weighted sum of cells."""
    parts = [[int(n) for n in part.split(":")] for part in str(row["cells"]).split()]
    numbers = [n for part in parts for n in range(part[0], part[-1] + 1)]
    columns = [by_replication(scores, cells.loc[n, KEY].to_dict()).to_numpy() for n in numbers]
    count = min(map(len, columns))
    sums = np.array([c[:count] for c in columns]).T @ json.loads(row["arguments"])["weights"]
    half = stats.t.ppf(0.975, count - 1) * sums.std(ddof=1) / np.sqrt(count)
    low, high = sums.mean() - half, sums.mean() + half
    inside = low > row["region_low"] and high < row["region_high"]
    outside = high < row["region_low"] or low > row["region_high"]
    outcome = "agrees" if inside else "contradicts" if outside else "undecided"
    return {"value": sums.mean(), "low": low, "high": high, "outcome": outcome}


def differing(row: dict, found: dict, name: str) -> list[str]:
    """What a row has otherwise than computed here."""
    return [
        f"{name}: {key} is {row[key]}, computed {value}"
        for key, value in found.items()
        if (row[key] != value if isinstance(value, str) else not np.isclose(row[key], value, rtol=2e-4, atol=2e-5))
    ]


def check_numbers(folder: Path, scores: pd.DataFrame, rng: np.random.Generator) -> list[str]:
    """Random rows of ``numbers.csv``."""
    table = pd.read_csv(folder / "numbers.csv").fillna({"cell": "", "met": ""})
    table = table[(table["cell"] != "") & (table["met"] != "")].reset_index(drop=True)
    rows = table.iloc[rng.choice(len(table), min(ROWS, len(table)), replace=False)].to_dict("records")
    return [line for row in rows for line in differing(row, number(scores, row), f"{row['artefact']} {row['cell']}")]


def check_verdicts(folder: Path, scores: pd.DataFrame, rng: np.random.Generator) -> list[str]:
    """Random instances behind ``verdicts.csv`` that are weighted sums."""
    verdicts = pd.read_csv(folder / "verdicts.csv")
    verdicts = verdicts[verdicts["judges"]].set_index(["claim", "check"])[["region_low", "region_high"]]
    table = pd.read_csv(folder / "claims_instances.csv")
    table = table[(table["statistic"] == "linear") & (table["source"] == "ours") & (table["claim"] != "L18")]
    table = table[table["outcome"].isin(["agrees", "contradicts", "undecided"])].join(verdicts, on=["claim", "check"])
    texts = dict.fromkeys(["panel", "dataset", "mask", "method"], object)
    files = {p.stem[-1]: pd.read_csv(p).astype(texts).fillna(dict.fromkeys(texts, "")).set_index("cell")
             for p in folder.glob("claims_cells_*.csv")}  # fmt: skip
    rows = table.iloc[rng.choice(len(table), min(ROWS, len(table)), replace=False)].to_dict("records")
    return [
        line
        for row in rows
        for line in differing(row, instance(scores, files[row["paper"]], row), f"{row['claim']} {row['instance']}")
    ]


def check_counts(folder: Path) -> list[str]:
    """Published numbers and claims that README and front page count."""
    numbers = pd.read_csv(folder / "numbers.csv").fillna({"met": "", "standing": ""})
    judged = numbers[numbers["judges"] & (numbers["met"] != "")]
    missed = judged[judged["met"] == "different"]["standing"]
    reason = missed.str.startswith(("impossible", "met by")) & ~missed.str.contains("afterwards")
    wanted = [len(judged), len(judged) - len(missed), (judged["met"] == "same within noise").sum(), reason.sum(),
              missed.str.startswith("impossible").sum(), (~reason).sum()]  # fmt: skip
    verdicts = pd.read_csv(folder / "verdicts.csv")
    first = verdicts[verdicts["judges"] & ~verdicts["counted_apart"]]
    ours = first[first["counts"]].groupby("claim")["ours_outcome"].agg(lambda found: max(found, key=WORST.index))
    claims = [first["claim"].nunique(), ours.isin(["holds", "mostly"]).sum()]
    lines = []
    for page in (ROOT / "README.md", folder / "index.html"):
        text = re.sub(r"(?<=\d),(?=\d)", "", page.read_text(encoding="utf-8"))
        form = r"(\d+) printed numbers compared: (\d+) met \((\d+) of .*?\), (\d+) .*? \((\d+) .*?\), (\d+) unexplained"
        for pattern, expected in ((form, wanted), (r"Of (\d+) claims in words (\d+) hold here", claims)):
            found = re.search(pattern, text)
            if found is None or [int(n) for n in found.groups()] != [int(n) for n in expected]:
                said = found and found.group(0)
                lines.append(f"{page.name}: {said!r}, computed {expected}")
    return lines


def main(folder: str = str(ROOT / "results" / "reproduced"), seed: str = "0") -> int:
    """Print what differs; returns 1 if anything does."""
    place, rng = Path(folder), np.random.default_rng(int(seed))
    scores = read_scores(place)
    lines = [*check_numbers(place, scores, rng), *check_verdicts(place, scores, rng), *check_counts(place)]
    print("\n".join(lines) or f"{2 * ROWS} rows of the tables and the counts of README and front page are the same")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
