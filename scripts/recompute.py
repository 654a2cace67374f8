"""Compute rows of the tables, counts of README and Home, and use.html again from committed scores, by pandas alone."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

ROOT, ROWS = Path(__file__).resolve().parent.parent, 60
KEY = ["experiment", "panel", "dataset", "mask", "method", "epsilon", "x"]
CONSTANTS, TREES = ("private_constant", "private_majority", "private_mean"), ("dt", "ct_w")
PUBLIC, COMPARED = ("public_forest", "public_learner", "ct_q"), "comparison/(regression|classification|public_sample)"
WORDS = ("fails", "cannot decide", "undecided", "holds", "no verdict")


#: Alternatives that were run -> selector in the method's place, or what changes of it.
PATCH = {"labels in the clear": "clear_labels", "label noise doubled": "doubled_label_noise"}
PATCH = {name: f"mutant={to}" for name, to in (PATCH | {"reports not debiased": "no_debiasing"}).items()}
PATCH |= {"random cuts": "rule=random", "public weight 0": "source=private", "public weight infinite": "source=public"}
RIVALS = {"PrivateMean": "private_mean", "PrivateMajority": "private_majority", "public rows alone": "ct_q"}


def mean_of(best: pd.Series, ours: pd.Series, row: dict) -> tuple[float, float]:
    """Mean and standard error, of errors relative to the tree without privacy on the same splits."""
    tree = 1 + 0 * ours
    if row["unit"] == "ratio":
        tree = best.xs((row["artifact"], row["cell"].split("|")[0], "dt"), level=(0, 2, 4))
        tree = tree.groupby(level=-1).first()[ours.index]
    mean = ours.mean() / tree.mean()
    return mean, (ours - mean * tree).sem() / tree.mean()


def class_of(value: float, se: float, error: float, row: dict) -> str:
    """Two one-sided tests at 5 % of the distance from print, whose error is that of our run."""
    if row["cause"].startswith(("contradiction", "our target")):
        return "not comparable"
    margin = row["tolerance"] * (abs(row["published"]) if row["unit"] == "ratio" else 1.0) + 1e-11
    apart, reach = abs(value - row["published"]), 1.645 * np.sqrt(se**2 + error**2)
    return "equivalent" if apart + reach <= margin else "different" if apart - reach > margin else "cannot tell"


def number(best: pd.Series, row: dict) -> dict:
    """Ours, distance and class of a published number, which is taken to be as precise as ours."""
    dataset, method, mask, epsilon, panel, x = row["cell"].split("|")
    ours = best.loc[(row["artifact"], panel, dataset, mask, method, float(epsilon), float(x or -1))]
    mean, error = mean_of(best, ours, row)
    apart, unit = mean - row["published"], abs(row["published"]) if row["unit"] == "ratio" else 1.0
    found = {"ours": mean, "distance": apart / unit, "replications": len(ours)}
    return found | ({"class": class_of(mean, error, error, row)} if row["judges"] else {})


def alternative(best: pd.Series, row: dict) -> dict:
    """Value, error and class of what else might stand in a number's place: one that was run."""
    dataset, method, mask, epsilon, panel, x = row["cell"].split("|")
    name, _, fixed = method.rstrip("]").partition("[")
    change, half = PATCH.get(row["alternative"]), row["alternative"] in ("half of the budget", "noise doubled")
    if row["alternative"] == "noise doubled" and "prune" in name:
        change, half = "mutant=doubled_noise", False
    if change == "rule=random" and "histoftree" in name:
        name = name.replace("cart", "max_edge")
    wanted = f"{name}[{','.join(sorted(filter(None, [*fixed.split(','), change])))}]" if change else method
    wanted = RIVALS.get(row["alternative"], wanted)
    figure = "figure" in row["artifact"]
    wanted = "lpct_max_edge[source=public]" if figure and wanted == "ct_q" else wanted
    own = row["artifact"] if wanted == "ct_q" else "mutants/"
    place = row["artifact"].rpartition("/")[2] + panel if figure else panel
    at = float(epsilon) / (2 if half and wanted != "ct_q" else 1)  # which spends nothing
    for runs, of in ((own, place), ("histoftree/table", "")):
        names = [e for e in best.index.levels[0] if e.startswith(runs)]
        for key in ((e, of, dataset, mask, wanted, at, by) for e in names for by in (float(x or -1), -1.0)):
            if key in best.index:
                value, se = mean_of(best, best.loc[key], row)
                ours = best.loc[(row["artifact"], panel, dataset, mask, method, float(epsilon), float(x or -1))]
                error = mean_of(best, ours, row)[1]
                return {"value": value, "class": class_of(value, se, error, row)}
    return {"value": "no such scores"}


def neighbors(best: pd.Series, judged: pd.DataFrame) -> pd.DataFrame:
    """Our run and what is printed and run near each number: other columns, the next budgets and places, a median."""
    cells = judged["cell"].str.split("|", expand=True)
    sums = []
    for row in judged.to_dict("records"):
        dataset, method, mask, epsilon, panel, x = row["cell"].split("|")
        ours = best.loc[(row["artifact"], panel, dataset, mask, method, float(epsilon), float(x or -1))]
        sums.append(mean_of(best, ours, row))
    value, error = np.array(sums).T
    of = judged.assign(data=cells[0], value=value, error=error, at=judged["x"].fillna(-1.0))
    of["family"] = of["artifact"].where(of["x"].notna(), of["unit"])
    found: list[tuple] = []
    texts = ["panel", "mask", "data", "method", "artifact", "family"]
    of[texts] = of[texts].fillna("")
    rows = of.to_dict("records")
    # on another axis a place may have the number of a budget by chance
    over_budget = {name for name, curve in of.groupby("artifact") if (curve["at"] == curve["epsilon"]).all()}
    for row in rows:
        here = of[(of["data"] == row["data"]) & (of["panel"] == row["panel"])]
        add = lambda name, r, row=row: found.append((row["number"], name, r["value"], r["error"]))  # noqa: E731
        add("our run", row)
        same = here[(here[["mask", "artifact"]] == [row["mask"], row["artifact"]]).all(axis=1)]
        same = same[(same["epsilon"].eq(row["epsilon"]) | (same["epsilon"].isna() & pd.isna(row["epsilon"])))]
        others = same[(same["at"] == row["at"]) & (same["method"] != row["method"])]
        for other in others.to_dict("records"):
            add(f"column {other['method']}", other)
        if len(others):
            found.append((row["number"], "median of other prints", others["published"].median(), 0.0))
        line = here[(here[["mask", "method", "family"]] == [row["mask"], row["method"], row["family"]]).all(axis=1)]
        budgets = line if row["artifact"] in over_budget else line[line["at"] == row["at"]]
        places = line[line["epsilon"].eq(row["epsilon"])] if row["at"] >= 0 else line[:0]
        for name, axis, near in (("budget", "epsilon", budgets), ("place", "at", places)):
            below, above = near[near[axis] < row[axis]], near[near[axis] > row[axis]]
            for side, part in (("below", below.nlargest(1, axis)), ("above", above.nsmallest(1, axis))):
                for other in part.to_dict("records"):
                    add(f"next {name} {side}", other)
    table = pd.DataFrame(found, columns=["number", "alternative", "computed", "error"])
    return table.merge(of.assign(ours=of["error"])[["number", "ours"]], on="number")


def differing(best: pd.Series, beside: pd.DataFrame, judged: pd.DataFrame) -> list[str]:
    """Rows of the whole table of alternatives that are not what is computed, and rows that are missing."""
    keys, known = ["number", "alternative"], judged.set_index("number")
    near = neighbors(best, judged)
    runs = beside[~beside["alternative"].isin(set(near["alternative"])) & beside["value"].notna()]
    table = beside[beside["alternative"].isin(set(near["alternative"]))].merge(near, "outer", on=keys, indicator=True)
    lines = [f"{row.number}, {row.alternative}: {row._merge}" for row in table.query("_merge != 'both'").itertuples()]
    for row in table.query("_merge == 'both'").to_dict("records"):
        computed = class_of(row["computed"], row["error"], row["ours"], known.loc[row["number"]].to_dict())
        close = np.isclose(row["value"], row["computed"], 2e-4, 2e-5, True)
        if not close or (row["class"] != computed and computed != "not comparable"):
            lines.append(
                f"{row['number']}, {row['alternative']}: {row['value']} {row['class']}, {row['computed']} {computed}"
            )
    for row in runs.merge(judged.drop(columns="class"), on="number", suffixes=("", "_ours")).to_dict("records"):
        computed = alternative(best, row)
        if isinstance(computed["value"], str) or not np.isclose(row["value"], computed["value"], 2e-4, 2e-5):
            lines.append(f"{row['number']}, {row['alternative']}: {row['value']}, computed {computed}")
        elif row["class"] != computed["class"] and computed["class"] != "not comparable":
            lines.append(f"{row['number']}, {row['alternative']}: {row['class']}, computed {computed['class']}")
    return lines


def crossed(losses: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Losses of the column that is best on the other half of the replications that all have."""
    wide = losses.pivot_table("loss", "replication", keys, "first").dropna()
    if len(wide) < 2:
        return pd.Series(dtype=float)
    halves = np.arange(len(wide)) % 2
    even, odd = (wide[wide[halves != half].mean().round(12).idxmin()] for half in (0, 1))
    return even.where(halves == 0, odd)


def standing(scores: pd.DataFrame, row: dict) -> dict:
    """Loss on a data set, over that of the constant, of public data alone, and of the best without privacy."""
    own = scores.loc[(*(row[k] for k in KEY[:-1]), -1)].query("params == @row['setting']")
    here = scores.query("data == @own['data'].iloc[0] and metric == @row['metric'] and x == -1")
    here = here.assign(shown=here["mask"].where(~here["method"].isin(TREES), ""))  # trees read no mask
    longest = here.groupby(KEY)["loss"].transform("size").sort_values(ascending=False, kind="stable")
    here = here.loc[longest.index]  # a method that several experiments ran is that with most replications
    public = here[here["method"].str.startswith(PUBLIC) & (here["selections"] != "oracle")]
    # a learner that reads what users show stands beside methods that do, under their mask
    sees = public["method"].str.startswith("public_learner") & ~public["method"].str.contains("shown=false")
    sees &= ~public["mask"].str.startswith(("all_private", "-"))
    mine = "public features" in str(row.get("inputs", "")) and sees & (public["mask"] == row["mask"])
    public = public[~sees | mine]
    here = here[here["best"]]
    free = (here["panel"] == "without privacy") | np.isinf(here["epsilon"]) | here["method"].isin(TREES)
    flat = here["method"].str.startswith(CONSTANTS) & (here["epsilon"] == row["epsilon"]) & ~free
    flat = here[flat & (here["dataset"] == row["dataset"])].pivot_table("loss", "replication", "method", "first")
    named = [flat[name].dropna() for name in CONSTANTS if name in flat]
    others = (
        named[0] if named else flat.sum(axis=1),
        crossed(here[free], ["method", "shown"]),
        crossed(public, ["method"]),
    )
    pairs = (pd.DataFrame({"own": own["loss"], "other": other}).dropna().mean() for other in others)
    ratios = (pair["own"] / (pair["other"] or np.nan) for pair in pairs)
    over = dict(zip(("over_constant", "over_free", "over_public"), ratios, strict=True))
    return {"loss": own["loss"].mean(), "replications": len(own), **over}


def interval(ratios: pd.Series) -> tuple[float, float, float]:
    """1 - geometric mean of ratios of losses over data sets, with Student's interval on logarithms."""
    logs = np.log(ratios.dropna())
    half = stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs) if len(logs) > 1 else np.nan
    return 1 - np.exp(logs.mean()), 1 - np.exp(logs.mean() + half), 1 - np.exp(logs.mean() - half)


def added(known: tuple[pd.DataFrame, pd.DataFrame], row: dict) -> dict:
    """Compute what users add, or the gain over the constant, from the scores of each data set."""
    scores, fair = known
    place = ["experiment", "mask", "method", "epsilon"]
    here = fair[(fair[place] == [row[key] for key in place]).all(axis=1)]
    here = here[here["role"] == row["role"]]
    ratios = pd.Series([standing(scores, r)[f"over_{row['beside']}"] for r in here.to_dict("records")])
    return dict(zip(("gain", "low", "high"), interval(ratios), strict=True)) | {"sets": ratios.notna().sum()}


def instance(best: pd.Series, row: dict) -> dict:
    """Value, 95 % interval and outcome of an instance that is a weighted sum of cells."""
    ends = [[int(n) for n in part.split(":")] for part in str(row["cells"]).split()]
    cells = row["file"].loc[[n for end in ends for n in range(end[0], end[-1] + 1)], KEY].to_numpy()
    columns = pd.concat([best.loc[(*cell, float(x or -1))] for *cell, x in cells], axis=1, join="inner").to_numpy()
    sums = columns @ json.loads(row["arguments"])["weights"]
    low, high = sums.mean() + np.array([-1, 1]) * stats.t.ppf(0.975, len(sums) - 1) * stats.sem(sums)
    least, most = row["region_low"], row["region_high"]
    outcome = "agrees" if low > least and high < most else "contradicts" if high < least or low > most else "undecided"
    return {"value": sums.mean(), "low": low, "high": high, "outcome": outcome}


def answer(fair: pd.DataFrame, row: dict) -> dict:
    """An answer of use.html: the method of least rank sum at its inputs, or what needs no user; both numbers."""
    task, asked, features, sample, epsilon, _, _, adds, aside, _, run = row["cells"]
    inputs = asked + ", public features" * (features == "some") + ", public sample" * (sample == "yes")
    here = fair[(fair["task"] == task) & (fair["inputs"] == inputs) & (fair["epsilon"] == float(epsilon))]
    here = here[here["experiment"].str.fullmatch(COMPARED) & ~here["method"].isin(CONSTANTS)]
    places = [part for _, part in here.groupby(["experiment", "mask"])]
    here = max(places, key=lambda p: (features == "some" or "all_private" in set(p["mask"]), p["dataset"].nunique()))
    held = here[here["role"] == "held out"]
    loss = held.pivot(index="dataset", columns="method", values="loss")
    ranked = pd.DataFrame(
        {"sum": loss.rank(axis=1, na_option="bottom").sum(), "bits": here.groupby("method")["bits"].first()}
    )
    first = ranked.sort_values(["sum", "bits"], kind="stable").index[0]
    reference = "over_public" if sample == "yes" else "over_constant"
    kinds = (part[part["method"] == first][reference] for part in (held, here[here["role"] == "development"]))
    (gain, low, high), other = map(interval, kinds)
    kind = {"classification": "classifier", "regression": "regressor"}[task]
    nobody = ",".join(["public_forest", "ct_q"] if kind == "classifier" else ["public_forest_regressor"])
    constant = {"classification": "private_majority", "regression": "private_constant"}[task]
    if not low > 0:
        first = f"{nobody},public_learner_{kind}" if sample == "yes" else constant
    near = f"={first} " in run.replace("&#39;", "")
    for text, numbers in ((adds, (gain, low, high)), (aside, other)):
        said = [float(number) for number in re.findall(r"-?\d+", text)[:3]]
        if "more error" in text:  # a loss, with the interval of the loss
            said = [-said[0], -said[2], -said[1]]
        near = near and np.isclose(said, 100 * np.array(numbers), 0, 0.51).all()
    return {"cells": row["cells"] if near else [first, gain, low, high, *other]}


def scores_in(folder: Path) -> list[Path]:
    """Return the files of scores; those that say what scores cost stand beside them."""
    return [path for path in sorted(folder.glob("*.parquet")) if not path.stem.endswith("_spent")]


def main(folder: str = str(ROOT / "results" / "reproduced"), seed: str = "0", whole: bool = False) -> int:
    """Print what differs: counts, answers of use.html, random rows of the four tables; returns 1 if anything does.

    ``whole``: every row of the table of alternatives, its class included, takes a minute or two.
    """
    home, rng = Path(folder), np.random.default_rng(int(seed))
    ran = pd.concat(map(pd.read_parquet, scores_in(home / "scores"))).query("status == 'ok'")
    loss = ran["value"].where(ran["metric"].str.contains("mse|excess_risk|gap"), 1 - ran["value"])
    data = ran["dataset"].str.replace(r",?label_range=\w+,?", "", regex=True).str.replace("[]", "")
    best = ran["selections"].str.contains("oracle") | ran["method"].str.startswith("private_selection")
    ran = ran.assign(loss=loss, data=data, best=best, x=ran["x"].fillna(-1)).set_index(
        [*KEY, "replication"], drop=False
    )
    scores = ran.rename_axis([None] * 8).sort_index()
    texts = dict.fromkeys(["cell", "class", "cause", "identifies"], "")
    numbers = pd.read_csv(home / "numbers.csv").fillna(texts).query("`class` != ''")
    judging = pd.read_csv(home / "verdicts.csv").query("judges")
    sums = pd.read_csv(home / "claims_instances.csv").merge(judging, on=["claim", "check"], suffixes=("", "_"))
    sums = sums.query("statistic == 'linear' and source == 'ours' and value.notna()")
    text = {"dtype": {"x": str}, "keep_default_na": False, "index_col": "cell"}
    cells = {path.stem[-1]: pd.read_csv(path, **text) for path in home.glob("claims_cells_*.csv")}
    standings = pd.read_csv(home / "standings.csv.gz", low_memory=False).fillna(
        {"panel": "", "mask": "", "setting": ""}
    )
    standings = standings[standings["experiment"].isin(set(scores["experiment"]))]
    fair = standings.query("privacy != 'none' and selection.str.contains('private|tuning_free')")
    fair = pd.concat([fair[fair["selection"].str.contains("private")], fair]).drop_duplicates(KEY[:-1])
    answers = re.findall("<tr>" + 11 * "<td>(.*?)</td>", (home / "use.html").read_text("utf-8"))
    gains = pd.read_csv(home / "users_add.csv.gz").groupby(["task", "inputs", "epsilon", "role"])
    judged = numbers[numbers["judges"]]
    judged = judged.assign(number=judged["artifact"] + "|" + judged["cell"])
    beside = pd.read_csv(home / "alternatives.csv.gz").fillna({"counted": ""})
    told = (beside["class"] == "different").groupby([beside["number"], beside["counted"]]).all().unstack()
    told = told.reindex(judged["number"]).set_axis(judged.index).fillna(False)
    same = judged["class"] == "equivalent"
    method = same & told["method"]
    of = judged["class"].value_counts()
    met = f"{method.sum():,} of {len(judged):,} printed numbers identify their method, and "
    met += f"{(method & told['budget']).sum():,} of these identify the budget, too. {(same & ~method).sum():,} more are"
    why = f"{of['different']:,} are different. {of['cannot tell']:,} are undecided. {of['not comparable']:,} cannot be"
    rivals = beside[beside["alternative"].isin([*PATCH, *RIVALS, "half of the budget", "noise doubled"])]
    rivals = rivals.merge(judged.drop(columns="class"), on="number", suffixes=("", "_ours"))
    ours = judging.loc[~judging["counted_apart"], "ours_outcome"].replace("mostly", "holds")
    ours = ours.where(judging["counts"], WORDS[4]).groupby(judging["claim"]).agg(lambda of: min(of, key=WORDS.index))
    claims = f"Of {len(ours)} claims in words {(ours == 'holds').sum()} hold"
    short = f"Of {len(judged):,} printed numbers, {method.sum():,} identify their method and {of['different']:,} are"
    held = f"Of {len(ours)} sentences, {(ours == 'holds').sum()} hold in our runs and {(ours == 'fails').sum()} fail"
    table = ['number">' + '</td><td class="number">'.join(f"{(of == WORDS[k]).sum()}" for k in (3, 2, 1, 0, 4))
             for _, of in [*ours.groupby(ours.index.str[0]), ("", ours)]]  # fmt: skip
    pages = (ROOT / "README.md", home / "index.html", home / "report.md")
    readme, front, report = (path.read_text("utf-8") for path in pages)
    wanted = [(readme, short, 1), (readme, held, 1), (front, met, 3), (front, why, 3), (report, met, 1)]
    wanted += [(report, why, 1), (report, claims, 1)]
    wanted += [(front, row + "</td></tr>", table.count(row)) for row in table]
    lines = [f"not stated {count} times: {text}" for page, text, count in wanted if page.count(text) != count]
    for table, compute, of in (
        (numbers[numbers["cell"] != ""], number, scores.loc[scores["best"], "value"]),
        (rivals, alternative, scores.loc[scores["best"], "value"]),
        (sums.assign(file=sums["paper"].map(cells)), instance, scores.loc[scores["best"], "value"]),
        (standings, standing, scores[~scores["experiment"].str.startswith("mutants/")]),
        (gains.sample(1, random_state=rng), added, (scores[~scores["experiment"].str.startswith("mutants/")], fair)),
        (pd.DataFrame({"cells": answers}), answer, fair),
    ):
        several = len(table) if compute is added else min(ROWS, len(table))  # every task, inputs and budget
        for row in table.sample(several, random_state=rng).to_dict("records"):
            for key, value in compute(of, row).items():
                close = isinstance(value, float) and np.isclose(row[key], value, 2e-4, 2e-5, True)
                if row[key] != value and not close:
                    lines.append(f"{[*row.values()][:8]}: {key} is {row[key]}, computed {value}")
    done = f"{4 * ROWS} rows of the tables, what users add, use.html and the counts of README and Home are the same"
    lines += differing(scores.loc[scores["best"], "value"], beside, judged) if whole else []
    done += f"; so are all {len(beside):,} rows of the table of alternatives" * whole
    print("\n".join(lines) or done)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:], whole=True))
