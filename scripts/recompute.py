"""Compute rows of the committed tables, and what README and front page count, again from the committed scores.

Pandas on the Parquet files, and nothing of the package. Usage: python scripts/recompute.py [FOLDER] [SEED]
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

ROOT, ROWS = Path(__file__).resolve().parent.parent, 40
KEY = ["experiment", "panel", "dataset", "mask", "method", "epsilon", "x"]
WORST = ["holds", "undecided", "fails", "no verdict"]
CONSTANTS, TREES = ("private_mean", "private_majority", "private_constant"), ("dt", "ct_w")


def read_scores(folder: Path) -> pd.DataFrame:
    """Scores with loss, data without known label ranges, and best: by oracle or private reports; trees read no mask."""
    rows = pd.concat(map(pd.read_parquet, sorted((folder / "scores").glob("*.parquet")))).query("status == 'ok'")
    loss = rows["value"].where(rows["metric"].str.contains("mse|excess_risk|gap"), 1 - rows["value"])
    data = rows["dataset"].str.replace(r",?label_range=\w+,?", "", regex=True).str.replace("[]", "")
    best = rows["selections"].str.contains("oracle") | rows["method"].str.startswith("private_selection")
    rows = rows.assign(loss=loss, data=data, best=best)
    return rows.assign(shown=rows["mask"].where(~rows["method"].isin(TREES), ""))


def by_replication(scores: pd.DataFrame, where: dict, column: str = "value") -> pd.Series:
    """Scores of one cell by replication."""
    for name, value in where.items():
        known = scores[name].isna() if value != value else scores[name] == value
        scores = scores[np.isclose(scores[name], value) if isinstance(value, float) and value == value else known]
    return scores.set_index("replication")[column].sort_index()


def number(scores: pd.DataFrame, row: dict) -> dict:
    """Ours, distance and class of a published number, which is taken to be as precise as ours (two standard errors)."""
    dataset, method, mask, epsilon, panel, x = row["cell"].split("|")
    place = (row["artefact"], panel, dataset, mask, method, float(epsilon), float(x or "nan"))
    ours = by_replication(scores[scores["best"]], dict(zip(KEY, place, strict=True)))
    mean, error = ours.mean(), ours.std(ddof=1) / np.sqrt(len(ours))
    if row["unit"] == "ratio":
        tree = scores.query("experiment == @row['artefact'] and dataset == @dataset and best and method == 'dt'")
        tree = tree.drop_duplicates("replication").set_index("replication")["value"][ours.index]
        mean = ours.mean() / tree.mean()
        error = (ours - mean * tree).std(ddof=1) / tree.mean() / np.sqrt(len(ours))
    apart = mean - row["published"]
    distance = apart / abs(row["published"]) if row["unit"] == "ratio" else apart
    noise, near = abs(apart) <= 2 * np.sqrt(2) * error, abs(distance) <= row["tolerance"] + 1e-11
    met = "same within noise" if noise else "within the tolerance" if near else "different"
    return {"ours": mean, "distance": distance, "met": met, "replications": len(ours)}


def longest(rows: pd.DataFrame, names: int) -> pd.DataFrame:
    """A column a method (and mask): its losses where most replications were run, on those all have; by name."""
    each = rows.groupby(["method", "shown", "experiment", "mask", "epsilon"])
    series = [(key[:names], one.set_index("replication")["loss"]) for key, one in each][::-1]  # of equals the first
    return pd.DataFrame(dict(sorted(series, key=lambda one: len(one[1])))).dropna().sort_index(axis=1)


def standing(scores: pd.DataFrame, row: dict) -> dict:
    """Loss on a data set, over that of the best private constant, and of the best without privacy on the other half."""
    own = by_replication(scores, {k: row[k] for k in KEY[:-1]} | {"params": row["setting"], "x": np.nan}, "loss")
    data = scores.loc[scores["dataset"] == row["dataset"], "data"].iloc[0]
    here = scores[(scores["data"] == data) & (scores["metric"] == row["metric"]) & scores["x"].isna() & scores["best"]]
    free = (here["panel"] == "without privacy") | np.isinf(here["epsilon"]) | here["method"].isin(TREES)
    constant = here["method"].str.startswith(CONSTANTS) & np.isclose(here["epsilon"], row["epsilon"]) & ~free
    constants, wide = longest(here[constant & (here["dataset"] == row["dataset"])], 1), longest(here[free], 2)
    crossed, halves = pd.Series(dtype=float), np.arange(len(wide)) % 2
    if len(wide) > 1:
        even, odd = (wide[wide[halves != half].mean().round(12).idxmin()] for half in (0, 1))
        crossed = even.where(halves == 0, odd)
    least = constants[constants.mean().idxmin()] if len(constants) else crossed.iloc[:0]
    pairs = (pd.DataFrame({"own": own, "other": other}).dropna().mean() for other in (least, crossed))
    constant, best = (pair["own"] / pair["other"] for pair in pairs)
    return {"loss": own.mean(), "replications": len(own), "over_constant": constant, "over_free": best}


def instance(scores: pd.DataFrame, row: dict) -> dict:
    """Value, 95 % interval and outcome of an instance that is a weighted sum of cells."""
    ends = [[int(n) for n in part.split(":")] for part in str(row["cells"]).split()]
    cells = row["file"].loc[[n for end in ends for n in range(end[0], end[-1] + 1)], KEY].to_dict("records")
    columns = [by_replication(scores, cell | {"best": True}).to_numpy() for cell in cells]
    count = min(map(len, columns))
    sums = np.array([c[:count] for c in columns]).T @ json.loads(row["arguments"])["weights"]
    half = stats.t.ppf(0.975, count - 1) * sums.std(ddof=1) / np.sqrt(count)
    low, high = sums.mean() - half, sums.mean() + half
    least, most = row["region_low"], row["region_high"]
    outcome = "agrees" if low > least and high < most else "contradicts" if high < least or low > most else "undecided"
    return {"value": sums.mean(), "low": low, "high": high, "outcome": outcome}


def check_rows(folder: Path, rng: np.random.Generator) -> list[str]:
    """Random rows of each of the three tables that have something else than computed here."""
    scores, lines = read_scores(folder), []
    numbers = pd.read_csv(folder / "numbers.csv").fillna({"cell": "", "met": ""}).query("cell != '' and met != ''")
    standings = pd.read_csv(folder / "standings.csv.gz", dtype={"panel": object, "mask": object, "setting": object})
    standings = standings[standings["experiment"].isin(set(scores["experiment"]))]
    rules = pd.read_csv(folder / "verdicts.csv").query("judges")
    verdicts = pd.read_csv(folder / "claims_instances.csv").merge(rules, on=["claim", "check"], suffixes=("", "_"))
    verdicts = verdicts.query(
        "statistic == 'linear' and source == 'ours' and claim != 'L18' and outcome.str.len() < 12"
    )
    texts = dict.fromkeys(["panel", "dataset", "mask", "method"], object)
    files = {p.stem[-1]: pd.read_csv(p).astype(texts).fillna(dict.fromkeys(texts, "")).set_index("cell")
             for p in folder.glob("claims_cells_*.csv")}  # fmt: skip
    standings = standings.fillna(dict.fromkeys(["panel", "mask", "setting"], ""))
    verdicts = verdicts.assign(file=verdicts["paper"].map(files))
    for table, compute, keys in ((numbers, number, ["artefact", "cell"]), (verdicts, instance, ["claim", "instance"]),
                                 (standings, standing, KEY[:-1])):  # fmt: skip
        for row in table.iloc[rng.choice(len(table), min(ROWS, len(table)), replace=False)].to_dict("records"):
            for key, value in compute(scores, row).items():
                text = isinstance(value, str)
                if not (row[key] == value if text else np.isclose(row[key], value, 2e-4, 2e-5, equal_nan=True)):
                    lines.append(f"{[str(row[k]) for k in keys]}: {key} is {row[key]}, computed {value}")
    return lines


def check_counts(folder: Path) -> list[str]:
    """Published numbers and claims that README and front page count."""
    judged = pd.read_csv(folder / "numbers.csv").fillna({"met": "", "standing": ""}).query("judges and met != ''")
    missed = judged[judged["met"] == "different"]["standing"]
    reason = missed.str.startswith(("impossible", "met by")) & ~missed.str.contains("afterwards")
    wanted = [len(judged), len(judged) - len(missed), (judged["met"] == "same within noise").sum(), reason.sum(),
              missed.str.startswith("impossible").sum(), (~reason).sum()]  # fmt: skip
    first = pd.read_csv(folder / "verdicts.csv").query("judges and not counted_apart").replace("mostly", "holds")
    ours = first[first["counts"]].groupby("claim")["ours_outcome"].agg(lambda found: max(found, key=WORST.index))
    table = [[(of == word).sum() for word in WORST[:3]] for _, of in [*ours.groupby(ours.index.str[0]), ("", ours)]]
    form = r"N printed numbers compared: N met \(N of .*?\), N .*? \(N .*?\), N unexplained"
    texts = [path.read_text("utf-8") for path in (ROOT / "README.md", folder / "index.html")]
    readme, home = (re.sub(r"(\d),(?=\d)", r"\1", text) for text in texts)
    stated = [(readme, form, [wanted]), (home, form, [wanted] * 3),
              (readme, "Of N claims in words N hold", [[first["claim"].nunique(), (ours == "holds").sum()]] * 2),
              (home, 'N</td><td class="number">' * 2 + "N</td></tr>", table)]  # fmt: skip
    read = [[[*map(int, row)] for row in re.findall(form.replace("N", r"(\d+)"), page)] for page, form, _ in stated]
    return [f"stated {f}, computed {e}" for f, (*_, e) in zip(read, stated, strict=True) if f != e]


def main(folder: str = str(ROOT / "results" / "reproduced"), seed: str = "0") -> int:
    """Print what differs; returns 1 if anything does."""
    lines = check_rows(Path(folder), np.random.default_rng(int(seed))) + check_counts(Path(folder))
    print("\n".join(lines) or f"{3 * ROWS} rows of the tables and the counts of README and front page are the same")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
