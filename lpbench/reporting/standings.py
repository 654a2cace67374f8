"""The table of standings of some artifacts, and its file: one row per method on one data set."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.analysis import gains, write_csv
from lpbench.analysis.scores import read_csv
from lpbench.analysis.standings import NONE, STANDING_COLUMNS, Run, standings
from lpbench.analysis.summary import CELL_KEYS, COSTS
from lpbench.audit import inputs
from lpbench.datasets import describe
from lpbench.experiments.method import Method
from lpbench.experiments.results import Artifact
from lpbench.experiments.submissions import Submission
from lpbench.experiments.timing import fit_seconds
from lpbench.members import PUBLIC_ONLY, bare_name, member
from lpbench.reporting.paper import papers, trial_experiments
from lpbench.reporting.printed_names import card_of

STANDINGS_FILE = "standings.csv.gz"
#: Start of the name under which a submission's rows stand.
SUBMITTED = "submissions"
#: Significant digits of the file: beyond any standard error.
STANDING_DIGITS = 5
NOISE = "se", "over_constant_se", "p_constant", "over_free_se", "over_public_se", "public_over_free_se", "seconds"
#: Both derived numbers of every task, inputs and budget.
GAINS = "users_add.csv.gz"


def standings_of(
    artifacts: Iterable[Artifact], cards: Mapping[str, Method], submitted: Sequence[Submission] = ()
) -> pd.DataFrame:
    """Standings of tables of scores, but of trials, and of submissions, with bits of a user and seconds of a fit."""
    tried = trial_experiments()
    tables = [a for a in artifacts if a.experiment.kind == "table" and a.name not in tried and a.full is not None]
    sent = [one for one in submitted if one.about["experiment"] in {a.name for a in tables}]
    runs, by_model = [run_of(artifact, cards) for artifact in tables], {}
    for one in sent:
        claimed = one.claimed.assign(panel="", method=one.name, params="{}", selection="private", x=math.nan)
        privacy, seed = {one.name: one.method.privacy}, int(one.about["seed"])
        runs.append(Run(f"{SUBMITTED}/{one.name}", claimed, privacy, {}, seed))
        by_model[one.name] = partial(inputs.inputs_of_submission, one)
    table = standings_of_runs(runs, by_model)
    for one in sent:
        of_submission = table["method"] == one.name
        table.loc[of_submission, "seconds"], bits = one.cost
        table.loc[of_submission, "bits"] = table.loc[of_submission, "epsilon"].map(bits)
    return table


def standings_of_runs(
    runs: Sequence[Run], by_model: Mapping[str, Callable[[str], str]], ranked: str = ""
) -> pd.DataFrame:
    """Make the table of standings from runs, with inputs, bits of a user's reports and seconds of a fit.

    ``by_model`` has the inputs of somebody's own methods, by mask; the caller has to know their bits. Inputs and bits
    are of runs on the leaderboard and in the experiment ``ranked``.
    """
    from lpbench.audit.table import report_bits  # which brings every estimator, and most commands need few

    counted = {ranked, *(name for paper in papers() for name in paper.leaderboard)}

    @cache  # fits are made for each
    def of_mask(method: str, mask: str) -> str:
        return by_model.get(method, partial(inputs.inputs_of, method))(mask)

    def inputs_of(row: Mapping[str, Any]) -> str:
        method, placed = row["method"], row["experiment"] in counted or row["role"] == gains.SEALED
        if row["privacy"] == NONE or not (placed or bare_name(method) in PUBLIC_ONLY or method in by_model):
            return ""
        words = of_mask(method, row["mask"])  # where there are no public rows, none are read
        return words if gains.SAMPLE not in words or public_rows(row["dataset"]) else without_sample(words)

    table = standings(runs, inputs_of)
    boarded = table["experiment"].isin(counted) & (table["privacy"] != NONE) & ~table["method"].isin(by_model)
    rows = table[["method", "epsilon"]].itertuples(index=False)
    bits = [report_bits(*row) if counts else math.nan for row, counts in zip(rows, boarded, strict=True)]
    public = [
        math.nan if not words else public_rows(dataset) if gains.SAMPLE in words else 0
        for words, dataset in table[["inputs", "dataset"]].to_numpy()
    ]
    return table.assign(bits=bits, seconds=table["method"].map(fit_seconds()), public_rows=public)


@cache
def public_rows(dataset: str) -> int:
    """Return the number of public rows that a data set has."""
    one = member(dataset)
    return describe(one.name, one.params).n_public or 0


def without_sample(inputs: str) -> str:
    """Return a text of inputs, such as ``label, public sample``, without the public sample."""
    return ", ".join(word for word in inputs.split(", ") if word != gains.SAMPLE)


def run_of(artifact: Artifact, cards: Mapping[str, Method]) -> Run:
    """Run as the table needs it: an artifact with its scores."""
    summary = artifact.full
    assert summary is not None
    chosen = summary.chosen
    models = {m: card.privacy for m in chosen["method"].unique() if (card := card_of(m, cards)) is not None}
    named = artifact.experiment.settings.get("data_sets", {})
    roles = {name: kind.replace("_", " ") for kind, names in named.items() for name in names}
    costs = summary.table.reindex(columns=[*CELL_KEYS, *COSTS]).drop_duplicates(CELL_KEYS)
    return Run(artifact.name, chosen, models, roles, artifact.seed, artifact.commit, costs)


def write_standings(
    artifacts: Iterable[Artifact], cards: Mapping[str, Method], folder: Path, submitted: Sequence[Submission] = ()
) -> Path:
    """Write ``standings.csv.gz``; return it."""
    table = standings_of(artifacts, cards, submitted)
    gained = gains.gains(table)
    digits = dict.fromkeys(table.select_dtypes("floating"), STANDING_DIGITS) | dict.fromkeys(NOISE, 3)
    numbers = {c: [float(f"{v:.{n}g}") for v in table[c]] for c, n in digits.items()}
    # ranks are of losses: digits that are cut would tie them
    exact = {c: [repr(float(f"{v:.{n}g}")) for v in table[c]] for c, n in {"loss": 12, "epsilon": 17}.items()}
    table = table.assign(**numbers | exact)
    write_csv(table.drop(columns=COSTS) if table["spent"].isna().all() else table, folder / STANDINGS_FILE)
    if len(gained):
        write_csv(gained, folder / GAINS)
    return folder / STANDINGS_FILE


def read_standings(folder: Path) -> pd.DataFrame:
    """The table of a report's folder; without rows where there is none."""
    if not (folder / STANDINGS_FILE).is_file():
        return pd.DataFrame(columns=[*STANDING_COLUMNS, "bits", "seconds", "public_rows"])
    table = read_csv(folder / STANDINGS_FILE)
    return table.astype({c: object for c in table.columns if table[c].dtype != float})  # rows are taken one by one
