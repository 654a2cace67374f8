"""Look into results: what an experiment is, and what stands behind one cell of a table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd

from lpbench.analysis import read_csv
from lpbench.datasets import describe, load_manifest, make_problem
from lpbench.errors import ConfigurationError, unknown_name
from lpbench.experiments import catalogue as registry
from lpbench.experiments.plan import plan_experiment
from lpbench.experiments.seeds import method_streams
from lpbench.experiments.store import Store
from lpbench.selectors import parse_selector


def show(args: argparse.Namespace) -> int:
    """Print what an experiment runs, how much of it is stored, and where its results are."""
    known = registry.experiments()
    if args.experiment not in known:
        raise unknown_name("experiment", args.experiment, known)
    experiment = known[args.experiment]
    folder, published = args.results.resolve() / args.experiment, args.results.resolve() / "reproduced"
    plan = plan_experiment(experiment)
    store = Store(args.results.resolve() / "store")
    done = sum(store.has(b.key) for b in plan.blocks)
    print(f"{experiment['name']}: {experiment.get('title', '')}")
    print(
        f"  {experiment.get('kind', 'table')}, {experiment.get('replications', 1)} replications, "
        f"{len(plan.blocks)} blocks ({done} stored), {sum(b.fits for b in plan.blocks)} fits"
    )
    for group in experiment.get("groups", []):
        print(
            f"  {' '.join(group['dataset'])}\n    mask {', '.join(group.get('mask', []))}; "
            f"epsilon {', '.join(f'{e:g}' for e in group['epsilon'])}\n    {', '.join(group['method'])}"
        )
    for note in experiment.get("notes", []):
        print(f"  - {note}")
    for name, how in sorted(plan.missing.items()):
        print(f"  missing {name}: {how}")
    leaf = f"{args.experiment.rpartition('/')[2]}.md"
    # a checkout has the committed summary
    tables = [path for path in (folder / leaf, published / args.experiment / leaf) if path.is_file()]
    if tables:
        print(tables[0].read_text(encoding="utf-8").rstrip())
    print(
        f"\nNext: lpbench plan {args.experiment} (its cost), lpbench experiment={args.experiment} (run it)"
        + (", lpbench explain DATASET METHOD EPSILON (a cell)" if tables else "")
    )
    return 0


def explain(args: argparse.Namespace) -> int:
    """Print what was run, selected and spent for one cell, with its replications."""
    load_manifest(_base(args.dataset))
    registry.method(_base(args.method))
    cells = _matching_cells(args)
    for folder, row in cells:
        place = [f"epsilon={row['epsilon']:g}"]
        place += [f"panel={row['panel']}"] if row["panel"] else []
        place += [f"x={row['x']:g}"] if pd.notna(row["x"]) else []
        print(f"{row['experiment']}: {row['dataset']} {row['mask']} {row['method']} {' '.join(place)}")
        print(f"  selection {row['selection']}: {row['params']}")
        print(f"  {row['metric']} mean {row['mean']:.6g}, se {row['se']:.3g}, n {row['n']:g}, rank {row['rank']:g}")
        values = _replications(folder, row)
        if values is None:
            print(f"  replications are not at hand; to make them: lpbench experiment={row['experiment']}")
        else:
            print("  replications " + " ".join(f"{v:.6g}" for v in values))
    row = cells[0][1]
    print(f"  spent: {_guarantee(row, args.seed)}")
    return 0


def _matching_cells(args: argparse.Namespace) -> list[tuple[Path, dict]]:
    results = args.results.resolve()
    found, published = [], []
    for path in sorted(results.rglob("summary.csv")):
        table = read_csv(path)
        hit = table[
            _named(table["dataset"], args.dataset)
            & _named(table["method"], args.method)
            & (table["epsilon"] == args.epsilon)
            & (table["mean"].notna())
        ]
        cells = [(path.parent, row) for row in hit.to_dict("records")]
        if "reproduced" in path.relative_to(results).parts:
            published += cells
        else:
            found += cells
    # a checkout has the committed summary, whose replications are made by a run
    found = found or published
    if not found:
        raise ConfigurationError(
            f"no stored result for dataset={args.dataset} method={args.method} epsilon={args.epsilon:g} in {results}; "
            f"run it: lpbench dataset={args.dataset} method={_base(args.method)} epsilon={args.epsilon:g}"
        )
    return _narrowed(found, args)


def _narrowed(cells: list[tuple[Path, dict]], args: argparse.Namespace) -> list[tuple[Path, dict]]:
    """Keep the cells of one mask, experiment, panel and place on the axis, as far as they are asked for."""
    for option in ("mask", "experiment", "panel", "x"):
        wanted = getattr(args, option)
        if wanted is None:
            continue
        kept = [(f, row) for f, row in cells if _is(row[option], wanted, bare=option == "mask")]
        if not kept:
            values = dict.fromkeys(f"{row[option]:g}" if option == "x" else row[option] for _, row in cells)
            known = ", ".join(repr(v) for v in values)
            raise ConfigurationError(f"--{option} {wanted}: the stored results have {known}")
        cells = kept
    return cells


def _is(value: str | float, wanted: str | float, *, bare: bool) -> bool:
    if isinstance(wanted, float):
        # pages print a place on the axis with six digits
        return f"{value:g}" == f"{wanted:g}"
    return value == wanted or (bare and "[" not in wanted and _base(str(value)) == wanted)


def _named(column: pd.Series, selector: str) -> pd.Series:
    """Rows of exactly this selector, or of a bare name with any parameters."""
    return column == selector if "[" in selector else column.map(_base) == selector


def _base(selector: str) -> str:
    return parse_selector(selector)[0]


def _replications(folder: Path, row: dict) -> list[float] | None:
    path = folder / "scores.parquet"
    if not path.is_file():
        return None
    scores = pd.read_parquet(path, filters=[("method", "==", row["method"]), ("params", "==", row["params"])])
    same = (scores["dataset"].astype(str) == row["dataset"]) & (scores["mask"].astype(str) == row["mask"])
    same &= (scores["epsilon"] == row["epsilon"]) & (scores["panel"].astype(str) == row["panel"])
    if pd.notna(row["x"]):
        same &= scores["x"] == row["x"]
    return scores[same].sort_values("replication")["value"].tolist()


def _guarantee(row: dict, seed: int) -> str:
    """Fit replication 0 at the selected setting and report what it spent."""
    spec = registry.method(row["method"])
    dataset, params = parse_selector(row["dataset"])
    mask, mask_params = parse_selector(row["mask"])
    if not describe(dataset, params).available:
        return "unknown (data not at hand)"
    cls = spec.estimator_class
    problem = make_problem(dataset, params, mask, mask_params, 0, seed)
    model = spec.build().for_problem(problem).set_params(**json.loads(row["params"]))
    model.set_params(random_state=method_streams(seed, dataset, mask if cls.uses_mask else None, 0))
    if cls.uses_epsilon:
        model.set_params(epsilon=row["epsilon"])
    model.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
    spent = model.guarantee_
    text = f"{spent.model}, epsilon {spent.epsilon:.6g}, delta {spent.delta:.3g}, {spent.rounds} round(s)"
    return text + (f"; {spent.note}" if spent.note else "")
