"""The table of standings of some artefacts, and its file: one row a method on one data set."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.scores import read_csv
from lpbench.analysis.standings import COLUMNS, NONE, Run, standings
from lpbench.analysis.summary import COSTS, PLACE
from lpbench.experiments.method import Method
from lpbench.experiments.results import Artefact
from lpbench.experiments.submissions import Submission
from lpbench.experiments.timing import fit_seconds
from lpbench.reporting.paper import papers, trial_experiments
from lpbench.reporting.printed_names import card_of

FILE = "standings.csv.gz"
#: What ``settings.data_sets`` of an experiment calls its data sets -> their role.
ROLES = {"development": "development", "conclusions": "held out", "sealed": "sealed"}
#: Start of the name under which a submission's rows stand.
SUBMITTED = "submissions"
#: Significant digits of the file: beyond any standard error.
DIGITS = 5
NOISE = ("se", "over_constant_se", "p_constant", "over_free_se", "seconds")


def standings_of(
    artefacts: Iterable[Artefact], cards: Mapping[str, Method], submitted: Sequence[Submission] = ()
) -> pd.DataFrame:
    """Standings of tables of scores, but of trials, and of submissions, with bits of a user and seconds of a fit."""
    tried = trial_experiments()
    shown = [a for a in artefacts if a.experiment.kind == "table" and a.name not in tried and a.shown is not None]
    sent = [one for one in submitted if one.about["experiment"] in {a.name for a in shown}]
    runs = [run_of(artefact, cards) for artefact in shown]
    for one in sent:
        claimed = one.claimed.assign(panel="", method=one.name, params="{}", selection="private", x=math.nan)
        privacy, seed = {one.name: one.method.privacy}, int(one.about["seed"])
        runs.append(Run(f"{SUBMITTED}/{one.name}", claimed, privacy, {}, seed))
    table = standings_of_runs(runs)
    for artefact in shown:  # of which means alone are kept
        if artefact.full is None:
            table = _with_errors(table, artefact)
    for one in sent:
        mine = table["method"] == one.name
        table.loc[mine, "seconds"], bits = one.cost
        table.loc[mine, "bits"] = table.loc[mine, "epsilon"].map(bits)
    return table


def standings_of_runs(runs: Sequence[Run]) -> pd.DataFrame:
    """Standings, with the bits of the reports of methods on the leaderboard, and the seconds of a fit."""
    from lpbench.audit.table import report_bits  # which brings every estimator, and most commands need few

    table, counted = standings(runs), {name for paper in papers() for name in paper.leaderboard}
    rows = table[["method", "epsilon", "experiment", "privacy"]].itertuples(index=False)
    bits = [report_bits(m, e) if name in counted and model != NONE else math.nan for m, e, name, model in rows]
    return table.assign(bits=bits, seconds=table["method"].map(fit_seconds()))


def run_of(artefact: Artefact, cards: Mapping[str, Method]) -> Run:
    """What the table needs of an artefact with scores, or with means alone."""
    summary = artefact.shown
    assert summary is not None
    chosen = summary.chosen
    if artefact.full is None:
        chosen = summary.table.dropna(subset=["mean"]).assign(value=lambda rows: rows["mean"], replication=-1)
    models = {m: card.privacy for m in chosen["method"].unique() if (card := card_of(m, cards)) is not None}
    named = artefact.experiment.settings.get("data_sets", {})
    roles = {name: ROLES.get(kind, kind) for kind, names in named.items() for name in names}
    costs = summary.table.reindex(columns=[*PLACE, *COSTS]).drop_duplicates(PLACE)
    return Run(artefact.name, chosen, models, roles, artefact.seed, artefact.commit, costs)


def _with_errors(table: pd.DataFrame, artefact: Artefact) -> pd.DataFrame:
    """Standard errors and numbers of replications of an artefact's rows, from its summary."""
    keys = ["experiment", "panel", "mask", "epsilon", "dataset", "method"]
    known = pd.DataFrame(artefact.summary).drop_duplicates(keys)[[*keys, "se", "n"]]
    found = table[keys].merge(known, on=keys, how="left")
    mine = (table["experiment"] == artefact.name).to_numpy()
    return table.assign(
        se=np.where(mine, found["se"], table["se"]), replications=np.where(mine, found["n"], table["replications"])
    )


def write_standings(
    artefacts: Iterable[Artefact], cards: Mapping[str, Method], folder: Path, submitted: Sequence[Submission] = ()
) -> Path:
    """Write ``standings.csv.gz``; return it."""
    table = standings_of(artefacts, cards, submitted)
    digits = dict.fromkeys(table.select_dtypes("floating"), DIGITS) | dict.fromkeys(NOISE, 3)
    numbers = {c: [float(f"{v:.{n}g}") for v in table[c]] for c, n in digits.items()}
    # ranks are of losses: digits that are cut would tie them
    exact = {c: [repr(float(f"{v:.{n}g}")) for v in table[c]] for c, n in {"loss": 12, "epsilon": 17}.items()}
    table = table.assign(**numbers | exact)
    write_csv(table.drop(columns=COSTS) if table["spent"].isna().all() else table, folder / FILE)
    return folder / FILE


def read_standings(folder: Path) -> pd.DataFrame:
    """The table of a report's folder; without rows where there is none."""
    if not (folder / FILE).is_file():
        return pd.DataFrame(columns=[*COLUMNS, "bits", "seconds"])
    table = read_csv(folder / FILE)
    return table.astype({c: object for c in table.columns if table[c].dtype != float})  # rows are taken one by one
