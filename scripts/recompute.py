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

ROOT, ROWS = Path(__file__).resolve().parent.parent, 40
KEY = ["experiment", "panel", "dataset", "mask", "method", "epsilon", "x"]
WORST = ["holds", "mostly", "undecided", "fails", "no verdict"]
CONSTANTS, TREES = ("private_mean", "private_majority", "private_constant"), ("dt", "ct_w")


def read_scores(folder: Path) -> pd.DataFrame:
    """Scores with the loss, and the data whatever is publicly known of their label's range; trees read no mask."""
    rows = pd.concat([pd.read_parquet(path) for path in sorted((folder / "scores").glob("*.parquet"))])
    rows = rows[rows["status"] == "ok"]
    loss = rows["value"].where(rows["metric"].isin(["mse", "excess_risk"]), 1 - rows["value"])
    data = rows["dataset"].str.replace(r",?label_range=\w+,?", "", regex=True).str.replace("[]", "")
    shown = rows["mask"].where(~rows["method"].isin(TREES), "")
    return rows.assign(loss=loss, data=data, shown=shown, best=rows["selections"].str.contains("oracle"))


def by_replication(scores: pd.DataFrame, where: dict, column: str = "value") -> pd.Series:
    """Scores of one cell by replication."""
    for name, value in where.items():
        known = scores[name].isna() if value != value else scores[name] == value
        scores = scores[np.isclose(scores[name], value) if isinstance(value, float) and value == value else known]
    return scores.set_index("replication")[column].sort_index()


def number(scores: pd.DataFrame, row: dict) -> dict:
    """Ours, distance and class of a published number: the mean, or its ratio to that of the tree without privacy."""
    dataset, method, mask, epsilon, panel, x = row["cell"].split("|")
    place = {"experiment": row["artefact"], "best": True, "panel": panel, "dataset": dataset, "mask": mask}
    ours = by_replication(scores, place | {"method": method, "epsilon": float(epsilon), "x": float(x or "nan")})
    mean, error = ours.mean(), ours.std(ddof=1) / np.sqrt(len(ours))
    if row["unit"] == "ratio":
        tree = scores[(scores["experiment"] == row["artefact"]) & (scores["dataset"] == dataset) & scores["best"]]
        tree = tree[tree["method"] == "dt"].drop_duplicates("replication").set_index("replication")["value"]
        mean, tree = ours.mean() / tree[ours.index].mean(), tree[ours.index]
        error = (ours - mean * tree).std(ddof=1) / tree.mean() / np.sqrt(len(ours))
    apart = mean - row["published"]
    distance = apart / abs(row["published"]) if row["unit"] == "ratio" else apart
    # the print is taken to be as precise as ours: two standard errors of the difference
    noise, near = abs(apart) <= 2 * np.sqrt(2) * error, abs(distance) <= row["tolerance"] + 1e-11
    met = "same within noise" if noise else "within the tolerance" if near else "different"
    return {"ours": mean, "distance": distance, "met": met, "replications": len(ours)}


def longest(rows: pd.DataFrame, names: int) -> pd.DataFrame:
    """A column a method (and mask): its losses where most replications were run, on those that all columns have."""
    each = rows.groupby(["method", "shown", "experiment", "mask", "epsilon"])
    series = [(key[:names], one.set_index("replication")["loss"]) for key, one in each][::-1]  # of equals the first
    return pd.DataFrame(dict(sorted(series, key=lambda one: len(one[1])))).dropna()


def standing(scores: pd.DataFrame, row: dict) -> dict:
    """Loss on a data set, over that of the best private constant, and of the best without privacy on the other half."""
    place = {k: row[k] for k in KEY[:-1]} | {"params": row["setting"], "x": np.nan}
    own = by_replication(scores, place, "loss")
    data = scores.loc[scores["dataset"] == row["dataset"], "data"].iloc[0]
    here = scores[(scores["data"] == data) & (scores["metric"] == row["metric"]) & scores["x"].isna() & scores["best"]]
    free = (here["panel"] == "without privacy") | np.isinf(here["epsilon"]) | here["method"].isin(TREES)
    constant = here["method"].str.startswith(CONSTANTS) & np.isclose(here["epsilon"], row["epsilon"]) & ~free
    constants, wide = longest(here[constant & (here["dataset"] == row["dataset"])], 1), longest(here[free], 2)
    halves = np.arange(len(wide)) % 2
    best = [wide[halves != half].mean().round(12).argmin() if len(wide) > 1 else 0 for half in (0, 1)]
    crossed = pd.Series([wide.iloc[k, best[k % 2]] for k in range(len(wide) * (len(wide) > 1))], dtype=float)
    crossed.index = wide.index[: len(crossed)]
    least = constants[constants.mean().idxmin()] if len(constants) else crossed.iloc[:0]
    found = {"loss": own.mean(), "replications": len(own)}
    for name, reference in (("over_constant", least), ("over_free", crossed)):
        both = own.index.intersection(reference.index)
        found[name] = own[both].mean() / reference[both].mean()
    return found


def instance(scores: pd.DataFrame, row: dict) -> dict:
    """Value, 95 % interval and outcome of an instance that is a weighted sum of cells."""
    parts = [[int(n) for n in part.split(":")] for part in str(row["cells"]).split()]
    cells = [row["file"].loc[n, KEY].to_dict() for part in parts for n in range(part[0], part[-1] + 1)]
    columns = [by_replication(scores, cell | {"best": True}).to_numpy() for cell in cells]
    count = min(map(len, columns))
    sums = np.array([c[:count] for c in columns]).T @ json.loads(row["arguments"])["weights"]
    half = stats.t.ppf(0.975, count - 1) * sums.std(ddof=1) / np.sqrt(count)
    low, high = sums.mean() - half, sums.mean() + half
    inside = low > row["region_low"] and high < row["region_high"]
    outside = high < row["region_low"] or low > row["region_high"]
    outcome = "agrees" if inside else "contradicts" if outside else "undecided"
    return {"value": sums.mean(), "low": low, "high": high, "outcome": outcome}


def tables(folder: Path, scores: pd.DataFrame) -> dict:
    """Rows of the three tables that follow from the scores: the table, how a row is computed, what names it."""
    numbers = pd.read_csv(folder / "numbers.csv").fillna({"cell": "", "met": ""})
    standings = pd.read_csv(folder / "standings.csv.gz", dtype={"panel": object, "mask": object, "setting": object})
    standings = standings[standings["experiment"].isin(set(scores["experiment"]))]
    verdicts = pd.read_csv(folder / "verdicts.csv").query("judges").set_index(["claim", "check"])
    bounds = verdicts[["region_low", "region_high"]]
    verdicts = pd.read_csv(folder / "claims_instances.csv").join(bounds, on=["claim", "check"])
    verdicts = verdicts.query("statistic == 'linear' and source == 'ours' and claim != 'L18'")
    texts = dict.fromkeys(["panel", "dataset", "mask", "method"], object)
    files = {p.stem[-1]: pd.read_csv(p).astype(texts).fillna(dict.fromkeys(texts, "")).set_index("cell")
             for p in folder.glob("claims_cells_*.csv")}  # fmt: skip
    return {
        "numbers": (numbers[(numbers["cell"] != "") & (numbers["met"] != "")], number, ["artefact", "cell"]),
        "verdicts": (verdicts[verdicts["outcome"].isin(["agrees", "contradicts", "undecided"])].assign(
            file=verdicts["paper"].map(files)), instance, ["claim", "instance"]),
        "standings": (standings.fillna(dict.fromkeys(["panel", "mask", "setting"], "")), standing, KEY[:-1]),
    }  # fmt: skip


def check_rows(folder: Path, scores: pd.DataFrame, rng: np.random.Generator) -> list[str]:
    """Random rows of each table that have something else than computed here."""
    lines = []
    for name, (table, compute, keys) in tables(folder, scores).items():
        for k in rng.choice(len(table), min(ROWS, len(table)), replace=False):
            row = table.iloc[k].to_dict()
            for key, value in compute(scores, row).items():
                text = isinstance(value, str)
                if not (row[key] == value if text else np.isclose(row[key], value, 2e-4, 2e-5, equal_nan=True)):
                    lines.append(f"{name} {' '.join(str(row[k]) for k in keys)}: {key} is {row[key]}, computed {value}")
    return lines


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
                lines.append(f"{page.name}: {found and found.group(0)!r}, computed {expected}")
    return lines


def main(folder: str = str(ROOT / "results" / "reproduced"), seed: str = "0") -> int:
    """Print what differs; returns 1 if anything does."""
    place = Path(folder)
    lines = [*check_rows(place, read_scores(place), np.random.default_rng(int(seed))), *check_counts(place)]
    print("\n".join(lines) or f"{3 * ROWS} rows of the tables and the counts of README and front page are the same")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
