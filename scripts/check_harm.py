"""Whether our methods are ever worse than the best private constant, or get worse with more users or a larger budget.

    python scripts/check_harm.py OUT.csv [--coverage] [--splits 40] [--users 100,300,1000,3000,0] [--only ...]

Every development set and every kind of corrupted labels, users drawn from the training rows (0: all of them), budgets
from 0.25 to 16. Scores are appended to OUT.csv as they come, and what is there already is not run again. Prints the
cells whose error exceeds 1.05 of the better constant (one-sided t-tests over splits, Holm over cells), the geometric
mean of the ratios, and the neighbours in users or budget between which the error rises. With --coverage: coverage of
intervals and sets at several levels, all asked in one fit, and cells that are significantly short.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t, ttest_1samp

from lpbench.analysis import holm
from lpbench.datasets import make_problem
from lpbench.estimators import PrivateConstant, PrivateMajority, PrivateMean, ResidualGP, ResidualScore
from lpbench.papers.comparison.intervals import MEASURED, measured
from lpbench.problem import Problem
from lpbench.seeds import Streams
from lpbench.selectors import parse_selector

BUDGETS, USERS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0), (100, 300, 1000, 3000, 0)
SPLITS, SEED, LIMIT, ALPHA = 40, 777, 1.05, 0.05
DRAWN = ("one_hot", "skewed", "persons")
REGRESSION = (
    "aquatic_toxicity", "building", "fish_toxicity", "istanbul_stock", "music_origin[label_range=scale]", "portfolio",
    "pyrimidines", "red_wine[label_range=scale]", "student[label_range=scale]", "visits", "airfoil",
    *(f"{name}[labels={labels}]" for name in ("fish_toxicity", "student", "airfoil")
      for labels in ("permuted", "lognormal", "cauchy", "zeros")),
    *(f"{name}[repeat]" for name in ("fish_toxicity", "airfoil")), *DRAWN,
)  # fmt: skip
CLASSES = (
    "diabetes", "election", "employee", "landcover[private_fraction=0.56]", "german", "titanic",
    *(f"{name}[labels=permuted]" for name in ("diabetes", "german", "titanic")), "diabetes[repeat]",
)  # fmt: skip
INTERVAL_BUDGETS, LEVELS = (1.0, 2.0, 4.0, 8.0), (0.5, 0.8, 0.9, 0.95)
#: Public features alone, a public sample alone, both: whether the mask and the public sample are kept.
GIVEN = {"features": (True, False), "sample": (False, True), "both": (True, True)}


def drawn(name: str, split: int) -> Problem:
    """A protected one-hot or skewed feature that explains most of the label, or fifty persons with a level each."""
    rng, n = np.random.default_rng([SEED, split]), 6000
    shown, level, x = rng.random((n, 3)), rng.integers(0, 7, n), rng.beta(6.0, 1.2, n)
    person = np.minimum(np.arange(n) // 60, 50) + (np.arange(n) - 3000).clip(0)  # tested on others, with a row each
    means, own = np.array([-2.0, -1.2, 1.5, -0.3, 0.8, 2.0, -1.0]), rng.standard_normal(n)
    traits = (rng.random((n, 4))[person] + 0.02 * shown[:, :1]).clip(0, 1)
    parts = {
        "one_hot": (np.eye(7)[level], means[level], {"levels": np.repeat([0, -1], [7, 3])}),
        "skewed": (x[:, None], 10.0 * (x - 0.85), {}),
        "persons": (traits, own[person], {"units": person[:3000]}),
    }
    protected, effect, context = parts[name]
    X, y = np.hstack([protected, shown]), np.clip(effect + 0.6 * rng.standard_normal(n) + shown[:, 0], -5, 5)
    mask = np.tile(np.arange(X.shape[1]) < (0 if name == "persons" else protected.shape[1]), (3000, 1))
    return Problem(X[:3000], y[:3000], X[3000:], y[3000:], mask, y_range=(-5.0, 5.0), context=context)


def problems(selector: str, users: list[int], split: int) -> Iterator[tuple[int, Problem]]:
    """One split at several numbers of users; ``repeat``: every training row stands there three times."""
    repeat = selector.endswith("[repeat]")
    name, params = parse_selector(selector.removesuffix("[repeat]"))
    problem = drawn(name, split) if name in DRAWN else make_problem(name, params, "aligned", {}, split, SEED)
    order = Streams(SEED).generator("users", split=split).permutation(len(problem.y_train))
    if repeat:
        order = np.repeat(order[: order.size // 3], 3)
    for n in users:
        rows = order[: n or None]
        if n <= order.size:
            mask = None if problem.mask is None else problem.mask[rows]
            few = {} if problem.units is None else {"units": problem.units[rows]}
            part = replace(problem, X_train=problem.X_train[rows], y_train=problem.y_train[rows], mask=mask)
            yield n, replace(part, context={**problem.context, **few})


def runs(selector: str, users: list[int], split: int, budgets: tuple[float, ...]) -> Iterator[dict[str, object]]:
    """Errors of every method and budget in one split."""
    for n, problem in problems(selector, users, split):
        if problem.metric == "mse":
            methods = {"ours features": (ResidualGP(), problem), "constant": (PrivateConstant(), problem)}
            methods["mean"] = PrivateMean(), problem
            exact = problem.score(np.full(len(problem.y_test), problem.y_train.mean()))
        else:
            known = problem.classes if problem.classes is not None else np.unique(problem.y_train)
            methods = {"constant": (PrivateMajority(classes=known), problem)}
            for given, (shown, sample) in GIVEN.items():
                seen = problem if shown else replace(problem, mask=None)
                seen = seen if sample else replace(seen, X_public=None, y_public=None)
                methods[f"ours {given}"] = ResidualScore(classes=known), seen
            values, counts = np.unique(problem.y_train, return_counts=True)
            exact = 1.0 - problem.score(np.full(len(problem.y_test), values[counts.argmax()]))
        row = {"dataset": selector, "users": n, "split": split}
        yield {**row, "epsilon": np.inf, "method": "exact", "error": float(exact)}
        for method, (estimator, seen) in methods.items():
            streams = Streams(SEED).child("run", dataset=selector, split=split)
            values = estimator.sweep(seen, budgets, {}, streams).values[:, 0]
            for epsilon, value in zip(budgets, values, strict=True):
                error = float(value) if problem.metric == "mse" else 1.0 - float(value)
                yield {**row, "epsilon": epsilon, "method": method, "error": error}


def intervals(selector: str, split: int) -> Iterator[dict[str, object]]:
    """Coverage and width of every level and budget in one split, all users, beside those of exact labels."""
    ((_, problem),) = problems(selector, [0], split)
    for epsilon in INTERVAL_BUDGETS:
        streams = Streams(SEED).child("run", dataset=selector, split=split)
        for level, cells in zip(LEVELS, measured(problem, epsilon, streams, LEVELS), strict=True):
            row = {"dataset": selector, "split": split, "epsilon": epsilon, "level": level}
            yield {**row, **dict(zip(MEASURED, cells, strict=True))}


def report_intervals(table: pd.DataFrame) -> None:
    """Print mean coverage of every level with its lower bound, its width over the exact one's, and short cells."""
    cells = table.groupby(["dataset", "epsilon", "level"])
    found = cells["coverage"].agg(["mean", "sem"]).reset_index()
    found["p"] = [_p(level - part["coverage"].to_numpy()) for (_, _, level), part in cells]
    found["p_holm"] = holm(found["p"].to_numpy())
    for level, part in table.groupby("level"):
        by_split = part.groupby("split")["coverage"].mean()
        bound = by_split.mean() - t.ppf(0.95, len(by_split) - 1) * by_split.sem()
        width = part.groupby(["dataset", "epsilon"])[["width", "exact_width"]].mean()
        ratio = np.exp(np.log(width["width"] / width["exact_width"]).mean())
        print(f"level {level}: coverage {by_split.mean():.4f}, at least {bound:.4f}; width {ratio:.2f} exact ones")
    short = found[(found["p"] < 0.001) | (found["p_holm"] < ALPHA)]
    print(f"{len(found)} cells, {(found['p_holm'] < ALPHA).sum()} significantly short\n{short.to_string()}")


def harm(table: pd.DataFrame) -> pd.DataFrame:
    """Cells with the ratio to the better constant and the one-sided p of exceeding LIMIT times it, after Holm."""
    keys, rows = ["dataset", "users", "epsilon"], []
    wide = table.pivot_table(index=[*keys, "split"], columns="method", values="error")
    floors = [name for name in ("constant", "mean") if name in wide]
    for ours in (name for name in wide if name.startswith("ours")):
        for cell, part in wide.dropna(subset=[ours]).groupby(level=keys):
            best = part[part[floors].mean().idxmin()].to_numpy()
            excess = part[ours].to_numpy() - LIMIT * best
            rows.append((*cell, ours, part[ours].mean() / best.mean(), _p(excess)))
    found = pd.DataFrame(rows, columns=[*keys, "method", "ratio", "p"])
    return found.assign(p_holm=holm(found["p"].to_numpy()))


def rises(table: pd.DataFrame) -> pd.DataFrame:
    """Neighbours in users or budget with the one-sided p of a rise of our error, after Holm."""
    rows: list[tuple] = []
    # All users are more than any number of them.
    ours = table[table["method"].str.startswith("ours")].assign(users=table["users"].replace(0, 10**9))
    for axis, other in (("users", "epsilon"), ("epsilon", "users")):
        for (method, dataset, fixed), part in ours.groupby(["method", "dataset", other]):
            wide = part.pivot_table(index="split", columns=axis, values="error").dropna()
            for low, high in zip(wide.columns[:-1], wide.columns[1:], strict=True):
                change = (wide[high] - wide[low]).to_numpy()
                rows.append((method, dataset, axis, low, high, fixed, wide[high].mean() / wide[low].mean(), _p(change)))
    found = pd.DataFrame(rows, columns=["method", "dataset", "axis", "low", "high", "fixed", "ratio", "p"])
    return found.assign(p_holm=holm(found["p"].to_numpy()))


def _p(values: np.ndarray) -> float:
    if values.size < 2 or np.ptp(values) == 0:
        return float(not (values > 0).any())
    return float(ttest_1samp(values, 0.0, alternative="greater").pvalue)


def report(table: pd.DataFrame) -> None:
    """Print what was found."""
    cells = harm(table)
    print(f"{len(cells)} cells of {table['split'].nunique()} splits")
    print(cells.groupby("method")["ratio"].agg(lambda r: np.exp(np.log(r).mean())).rename("geometric mean").to_string())
    print(cells[(cells["p_holm"] < ALPHA) | (cells["ratio"] > LIMIT)].sort_values("p").to_string())
    wide = table.pivot_table(index=["dataset", "users", "epsilon"], columns="method", values="error")
    if "ours both" in wide:
        over = wide["ours both"] / wide[["ours features", "ours sample"]].min(axis=1)
        print("both over the better of features and sample\n" + over.unstack().round(3).to_string())
    up = rises(table)
    print(f"{len(up)} pairs of neighbours, {(up['p_holm'] < ALPHA).sum()} significant rises")
    print(up[(up["p_holm"] < ALPHA) | (up["p"] < 0.001)].sort_values("p").to_string())


def main() -> None:
    """Run what is missing and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--users", type=lambda text: list(map(int, text.split(","))), default=list(USERS))
    parser.add_argument("--budgets", type=lambda text: tuple(map(float, text.split(","))), default=BUDGETS)
    parser.add_argument("--only", default="", help="data sets, separated by semicolons")
    parser.add_argument("--coverage", action="store_true", help="intervals instead of errors")
    parser.add_argument("--task", choices=["regression", "classification"])
    options = parser.parse_args()
    names = {"regression": REGRESSION, "classification": CLASSES}.get(options.task, (*REGRESSION, *CLASSES))
    names = tuple(name for name in names if not options.only or name in options.only.split(";"))
    done = set()
    if options.out.exists():
        done = set(map(tuple, pd.read_csv(options.out)[["dataset", "split"]].drop_duplicates().to_numpy()))
    for split in range(options.splits):
        for name in names:
            if (name, split) not in done:
                ran = intervals(name, split) if options.coverage else runs(name, options.users, split, options.budgets)
                found = pd.DataFrame(ran)
                found.to_csv(options.out, mode="a", header=not options.out.exists(), index=False)
    (report_intervals if options.coverage else report)(pd.read_csv(options.out))


if __name__ == "__main__":
    main()
