"""The table of standings: each method on each data set, over a private constant, public data alone, and no privacy.

A *loss* is a mean squared error, or one minus a score of which larger values are better. Two losses are compared on the
replications that both have; where there are none, the ratio is missing. The three references are found once, here:

- the *private constant* of a data set and budget is PrivateConstant or PrivateMajority; PrivateMean where neither was
  run with that range of the label;
- *public only* is the best of :data:`lpbench.members.PUBLIC_ONLY`, learners that ask no user anything; those that read
  what users show are candidates beside methods that read it, under the same mask;
- the *best without privacy* is chosen among all methods without privacy that ran on a data set (trees, learners on
  exact labels, methods at an infinite budget).

The last two are chosen on one half of the replications and scored on the other, both ways round: the smallest of
several test means would be too good.

References of several experiments stand together where data set and seed are the same, so that their splits are; the
public range of a label (:data:`KNOWN_ABOUT`) changes no data, and matters to private methods alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis.ranks import rank_intervals
from lpbench.analysis.rates import Interval, bootstrap_means, ratio_of_means
from lpbench.analysis.scores import CELL, LARGER_IS_BETTER, costs
from lpbench.analysis.significance import LOSS_DIGITS, holm, signed_ranks, two_sided
from lpbench.analysis.summary import (
    CELL_KEYS,
    COSTS,
    NO_COSTS,
    NON_PRIVATE_PANEL,
    split_replications,
)
from lpbench.members import CONSTANTS, PUBLIC_ONLY, bare_name, is_ranked, member

#: Privacy model of a method that protects nothing.
NONE = "none"
#: Part of the inputs of a method that reads what users show.
SHOWN = "public features"
#: A way of selection that a user without test rows can have: chosen by reports, else fixed beforehand.
FAIR = "fair"
#: Parameters of a data set that say what is known about it.
KNOWN_ABOUT = ("label_range",)
#: Draws of the bootstrap over data sets; data sets below which there is no interval over them.
SET_RESAMPLES, FEWEST = 100_000, 5
_POINT = ["panel", "mask", "epsilon", "dataset", "method", "metric", "params"]
_OWN_COLUMNS = (
    "task experiment panel mask epsilon dataset role method selection setting privacy inputs metric loss se "
    "replications seed commit over_constant over_constant_se p_constant over_free over_free_se over_public "
    "over_public_se public_over_free public_over_free_se"
).split()
STANDING_COLUMNS = [*_OWN_COLUMNS, *COSTS]

#: Replications and losses, in the order of the replications.
Losses = tuple[np.ndarray, np.ndarray]
#: Data set, metric, seed, and of a constant the budget.
Place = tuple[Any, ...]


@dataclass(frozen=True)
class Run:
    """Scores of one experiment at its chosen settings, with seed, commit, roles of data sets and privacy models."""

    experiment: str
    chosen: pd.DataFrame  # as in :class:`lpbench.analysis.Summary`
    privacy: Mapping[str, str]  # method -> privacy model
    roles: Mapping[str, str]  # data set without its parameters -> development, held out, sealed
    seed: int = 0
    commit: str = ""
    costs: pd.DataFrame | None = None  # columns PLACE and COSTS of :mod:`lpbench.analysis.summary`


def standings(runs: Iterable[Run], inputs_of: Callable[[Mapping[str, Any]], str] = lambda row: "") -> pd.DataFrame:
    """One row per method at one setting on one data set: columns :data:`STANDING_COLUMNS`.

    ``inputs_of`` says what the method of a row reads.
    ``selection`` names every selection that chose the setting, separated by spaces; :func:`view` has the rows of one.
    ``over_constant``, ``over_free`` and ``over_public`` are ratios of losses with standard errors over replications,
    ``public_over_free`` that of the two references; ``p_constant`` is the one-sided Wilcoxon test over replications
    that the loss is below the constant's.
    """
    rows: list[dict[str, Any]] = []
    losses: list[Losses] = []
    for run in runs:
        cost = {} if run.costs is None else run.costs.set_index(CELL_KEYS)[COSTS].to_dict("index")
        scored = run.chosen[run.chosen["x"].isna() & (run.chosen["metric"] != "seconds")]
        chose: dict[tuple[Any, ...], list[str]] = {}
        for *point, selection in scored[[*_POINT, "selection"]].drop_duplicates().itertuples(index=False):
            chose.setdefault(tuple(point), []).append(selection)
        once = scored.drop_duplicates([*_POINT, "replication"])
        for key, (values, replications) in split_replications(once, _POINT).items():
            row = dict(zip(_POINT, key, strict=True))
            larger = LARGER_IS_BETTER[row["metric"]]
            free = row["panel"] == NON_PRIVATE_PANEL or np.isinf(row["epsilon"])
            losses.append((replications, 1 - values if larger else values))
            model = run.privacy.get(row["method"], "")
            rows.append(
                {
                    **row,
                    "task": "classification" if larger or row["metric"].endswith("accuracy") else "regression",
                    "experiment": run.experiment,
                    "role": run.roles.get(bare_name(row["dataset"]), ""),
                    "selection": " ".join(sorted(chose[key])),
                    "setting": row["params"],
                    "privacy": NONE if free or not is_ranked(row["method"]) else model,
                    "seed": run.seed,
                    "commit": run.commit,
                    **cost.get(tuple(row[name] for name in CELL_KEYS), NO_COSTS),
                }
            )
            rows[-1]["inputs"] = inputs_of(rows[-1])
    constants, free = _constants(rows, losses), _best_on_halves(rows, losses, lambda row: row["privacy"] == NONE)
    masks = {row["mask"] for row in rows if _is_public_only(row) and SHOWN in row["inputs"]}
    public = {mask: _best_on_halves(rows, losses, partial(_is_public_only, mask=mask)) for mask in {"", *masks}}
    gains: dict[int, list[tuple[dict[str, Any], np.ndarray]]] = {}
    for row, loss in zip(rows, losses, strict=True):
        basis, values = (row["metric"], row["seed"]), loss[1]
        same = _data(row["dataset"]), *basis
        row |= {
            "loss": values.mean(),
            "replications": values.size,
            "p_constant": np.nan,
            "se": values.std(ddof=1) / values.size**0.5 if values.size > 1 else np.nan,
        }
        references = {"constant": constants.get((row["dataset"], *basis, row["epsilon"])), "free": free.get(same)}
        references["public"] = public.get(row["mask"] if SHOWN in row["inputs"] else "", public[""]).get(same)
        for name, reference in references.items():
            row |= _over(loss, reference, f"over_{name}")
        row |= _over(references["public"], references["free"], "public_over_free")
        own_losses, theirs = paired(loss, references["constant"])
        if own_losses.size > 1:
            gains.setdefault(own_losses.size, []).append((row, theirs - own_losses))
    for same_size in gains.values():
        for (row, _), p in zip(same_size, signed_ranks(np.column_stack([gain for _, gain in same_size])), strict=True):
            row["p_constant"] = p
    return pd.DataFrame(rows, columns=STANDING_COLUMNS)


def _over(one: Losses | None, reference: Losses | None, name: str) -> dict[str, float]:
    """Return the ratio of two methods' mean losses and its standard error, keyed ``name`` and ``name_se``.

    Both are NaN where they share no replication.
    """
    losses, theirs = paired(one, reference)
    ratio, error = ratio_of_means(losses, theirs) if losses.size > 0 and theirs.mean() > 0 else (np.nan, np.nan)
    return {name: ratio, f"{name}_se": error}


def paired(first: Losses | None, second: Losses | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses of both on their common replications."""
    if first is None or second is None:
        return np.empty(0), np.empty(0)
    if np.array_equal(first[0], second[0]):
        return first[1], second[1]
    _, in_first, in_second = np.intersect1d(first[0], second[0], assume_unique=True, return_indices=True)
    return first[1][in_first], second[1][in_second]


def _constants(rows: Sequence[Mapping[str, Any]], losses: Sequence[Losses]) -> dict[Place, Losses]:
    """Return the losses of the constant baseline for each (data set, metric, seed, budget), from any experiment."""
    best: dict[Place, tuple[tuple[int, int], Losses]] = {}
    for row, loss in zip(rows, losses, strict=True):
        if member(row["method"]).is_constant and row["privacy"] != NONE:
            key = row["dataset"], row["metric"], row["seed"], row["epsilon"]
            # of several experiments that with most replications
            order = CONSTANTS.index(bare_name(row["method"])), -loss[0].size
            if key not in best or order < best[key][0]:
                best[key] = order, loss
    return {key: loss for key, (_, loss) in best.items()}


def _is_public_only(row: Mapping[str, Any], mask: str | None = None) -> bool:
    """Return True for a learner on public rows, at a setting that no test row chose, that sees no more than a mask.

    ``mask`` None is any mask.
    """
    sees = mask in (None, row["mask"]) or SHOWN not in row["inputs"]
    return sees and bare_name(row["method"]) in PUBLIC_ONLY and row["selection"] != "oracle"


def _best_on_halves(
    rows: Sequence[Mapping[str, Any]], losses: Sequence[Losses], is_candidate: Callable[[Mapping[str, Any]], bool]
) -> dict[Place, Losses]:
    """Map (data, metric, seed) to the losses of the candidate that is best on the other half of the replications.

    ``losses`` are (replications, values) of each row. A learner without privacy is a candidate for each mask: it may
    read what users show. Trees read all features.
    """
    candidates: dict[Place, dict[tuple[str, str], tuple[Place, Losses]]] = {}
    for row, loss in zip(rows, losses, strict=True):
        if is_candidate(row):
            by_method = candidates.setdefault((_data(row["dataset"]), row["metric"], row["seed"]), {})
            private = bare_name(row["method"]) not in PUBLIC_ONLY
            name = row["method"], row["mask"] if private and is_ranked(row["method"]) else ""
            # its best setting; of several experiments the one with most replications
            order = (
                private and "oracle" not in row["selection"],
                -loss[0].size,
                row["experiment"],
                row["setting"],
                row["epsilon"],
            )
            if name not in by_method or order < by_method[name][0]:
                by_method[name] = order, loss
    return {
        key: crossed
        for key, by_method in candidates.items()
        if (crossed := best_of_other_half([loss for _, (_, loss) in sorted(by_method.items())])) is not None
    }


def _data(selector: str) -> str:
    """Return a data set's selector without parameters that leave its rows unchanged."""
    return member(selector).without(*KNOWN_ABOUT)


def best_of_other_half(candidates: Sequence[Losses]) -> Losses | None:
    """In each replication the loss of the candidate that is best on the other half of the common replications."""
    common = reduce(np.intersect1d, {id(replications): replications for replications, _ in candidates}.values())
    if common.size < 2:
        return None
    table = np.array(
        [y if replications is common else y[np.isin(replications, common)] for replications, y in candidates]
    )
    halves = np.arange(common.size) % 2
    best = [int(np.round(table[:, halves != half].mean(axis=1), LOSS_DIGITS).argmin()) for half in (0, 1)]
    return common, table[np.where(halves == 0, *best), np.arange(common.size)]


def optimism(scores: pd.DataFrame) -> pd.DataFrame:
    """Measure the gain of choosing on the test rows: the best grid point beside one chosen on half of the replications.

    One row per cell with several grid points: its metric, ``oracle``, the mean of the best point, ``crossed``, that of
    the point which is best on the other half, both ways round, and ``se`` of their paired difference.
    """
    rows = []
    ran = scores[(scores["status"] == "ok") & (scores["replication"] >= 0)]
    cells = ran.groupby([*CELL, "metric"], observed=True, dropna=False, sort=False)
    for key, group in ((key, group) for key, group in cells if group["params"].nunique() > 1):
        wide = group.pivot(index="params", columns="replication", values="value").dropna().to_numpy()
        loss, replications = costs(wide, str(key[-1])), np.arange(wide.shape[1])
        crossed = best_of_other_half([(replications, line) for line in loss]) if len(loss) > 1 else None
        if crossed is not None:
            best = loss[np.round(loss.mean(axis=1), LOSS_DIGITS).argmin()]
            error = np.std(crossed[1] - best, ddof=1) / len(best) ** 0.5
            rows.append((*key, *(costs(v.mean(), str(key[-1])) for v in (best, crossed[1])), error))
    return pd.DataFrame(rows, columns=[*CELL, "metric", "oracle", "crossed", "se"])


def view(table: pd.DataFrame, selection: str) -> pd.DataFrame:
    """Rows of one selection, a cell each; ``fair``: the setting chosen by reports, else the one fixed beforehand."""
    wanted = ["private", "tuning_free"] if selection == FAIR else [selection]
    words = table["selection"].str.split()
    order = np.array([next((k for k, name in enumerate(wanted) if name in given), len(wanted)) for given in words])
    rows = table.assign(_order=order)[order < len(wanted)].sort_values("_order", kind="stable")
    cell = ["experiment", "panel", "mask", "epsilon", "dataset", "method", "metric"]
    return rows.drop_duplicates(cell).drop(columns="_order").sort_index()


def over_sets(rows: pd.DataFrame, control: str = "") -> pd.DataFrame:
    """Summarize one comparison (one selection, mask, budget) over data sets: one row per method, the best rank first.

    Beside the columns of :func:`compare_losses`: ``constant`` and ``free`` are geometric means of the ratios to the
    references, ``worst`` the largest ratio to the constant.
    """
    loss, constant, free = (
        rows.pivot(index="dataset", columns="method", values=name) for name in ("loss", "over_constant", "over_free")
    )
    compared = compare_losses(loss, control).set_index("method")
    means = {"constant": geometric_means(constant), "free": geometric_means(free)}
    return compared.assign(**means, worst=constant.max()).reset_index()


def compare_losses(losses: pd.DataFrame, control: str = "") -> pd.DataFrame:
    """Compare methods (columns) over data sets (rows) by their losses: one row per method, the best rank first.

    ``rank`` is the mean rank with Student's interval, ``rank_sum`` the sum; a method without a loss ranks last.
    ``control`` is the geometric mean of the loss over that of one method named beforehand, ``wins`` and ``losses``
    count the data sets on which *the control* does better and worse, ``p`` is the two-sided Wilcoxon test of the two
    over data sets, after Holm over all methods but the control. Variants of one data set are no independent evidence:
    there is no test where a data set appears twice.
    """
    rank, low, high = rank_intervals(losses.round(LOSS_DIGITS).to_numpy(), larger_is_better=False)
    beside = losses[control] if control in losses else pd.Series(np.nan, index=losses.index)
    ratios, ahead = losses.div(beside, axis=0), losses.sub(beside, axis=0).round(LOSS_DIGITS).to_numpy()
    p = np.full(losses.shape[1], np.nan)
    tested = ratios.notna().all().to_numpy() & (losses.columns != control)
    if tested.any() and len({bare_name(name) for name in losses.index}) == len(losses):
        p[tested] = holm(two_sided(_logarithms(ratios.loc[:, tested].to_numpy())))
    columns = {
        "method": list(losses.columns),
        "datasets": losses.notna().sum().to_numpy(),
        "rank": rank,
        "rank_low": low,
        "rank_high": high,
        "rank_sum": rank * len(losses),
        "control": geometric_means(ratios).to_numpy(),
        "wins": (ahead > 0).sum(axis=0),
        "losses": (ahead < 0).sum(axis=0),
        "p": p,
    }
    return pd.DataFrame(columns).sort_values("rank", kind="stable", ignore_index=True)


def _logarithms(ratios: np.ndarray) -> np.ndarray:
    """Natural logarithms of ratios, clipped to [-50, 50]: a loss of 0 counts as far below any other."""
    with np.errstate(divide="ignore"):
        return np.clip(np.log(ratios), -50.0, 50.0)


def geometric_means(ratios: pd.DataFrame) -> pd.Series:
    """Geometric means over the data sets (rows) on which each method (column) has a ratio."""
    return np.exp(ratios.apply(_logarithms).mean())


def geometric_mean(ratios: Iterable[float]) -> Interval:
    """Geometric mean over data sets, with an interval of the bootstrap over them from :data:`FEWEST` on."""
    logs = _logarithms(np.fromiter(ratios, dtype=float))
    logs = logs[~np.isnan(logs)]
    ends = np.full(2, np.nan)
    if logs.size >= FEWEST:
        ends = np.quantile(bootstrap_means(logs[:, None], draws=SET_RESAMPLES)[:, 0], [0.025, 0.975])
    return Interval(*map(float, np.exp([logs.mean() if logs.size else np.nan, *ends])))


def least_p(datasets: int, methods: int) -> float:
    """Smallest p-value that :func:`compare_losses` can give for these numbers of data sets and methods.

    It is that of a signed-rank test over data sets that one method wins on each of them, times the number of the other
    methods (first step of Holm's correction).
    """
    return min(1.0, (methods - 1) * 2.0 ** (1 - datasets))
