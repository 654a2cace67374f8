"""Selection of a method's setting from its grid: by the test rows (oracle), fixed in advance, or by privatized reports.

``oracle`` is what both papers print: the grid point whose mean test score over the replications is best. It is chosen
with the test rows, so it flatters methods with large grids. ``tuning_free`` is the one setting that a method states
without looking at test rows. ``private`` is the setting that a method chose by privatized reports alone, with users
who were paid from the same budget. An experiment that has such methods compares them with those that have nothing to
choose, whose only setting is private as well. Selections are never mixed in one comparison.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lpbench.analysis.scores import CELL, LARGER_IS_BETTER, POINT, canonical_params, first_rows, point_numbers
from lpbench.analysis.significance import LOSS_DIGITS


@dataclass(frozen=True)
class Setting:
    """Hyperparameters that a method states without looking at test rows, in one part of an experiment."""

    params: str  #: JSON object of the grid point.
    #: False if the point joined the sweep only to be the stated setting: the oracle must not choose it.
    on_grid: bool = True
    #: Under which selection the setting is shown, "tuning_free" or "private"; a method with private selection is shown
    #: under no other.
    selection: str = "tuning_free"


#: (panel, mask, method) -> the stated setting.
Settings = Mapping[tuple[str, str, str], Setting]


@dataclass(frozen=True)
class Selected:
    """Chosen grid points of every cell and selection, their scores, and reasons for cells without one."""

    #: One row per cell and selection: :data:`CELL`, metric, selection, params, mean, std, n; empty params and NaN where
    #: no point is complete.
    cells: pd.DataFrame
    #: The scores of the chosen points: :data:`CELL`, metric, selection, params, replication, value.
    chosen: pd.DataFrame
    reasons: pd.DataFrame  #: :data:`CELL`, selection, reason for the cells without a value.


def select(scores: pd.DataFrame, settings: Settings | None = None) -> Selected:
    """Choose the grid point of every cell: by oracle and, where a setting is stated beforehand, without tuning.

    A point that lacks a replication (skipped, failed or timed out) is not eligible; a cell without an eligible point
    keeps a row without a value, and the reason.

    Parameters
    ----------
    scores : DataFrame
        As returned by :func:`lpbench.analysis.scores.check_scores`.
    settings : mapping, optional
        See :data:`Settings`.

    Returns
    -------
    Selected
        Chosen points by cell and selection, their scores, and reasons for cells without one.
    """
    numbers = point_numbers(scores)
    points = _points(scores, numbers)
    private = {method for (_, _, method), setting in (settings or {}).items() if setting.selection == "private"}
    points["stated"], off_grid = _stated(points, settings or {})
    points["chose"] = points["method"].isin(private)
    complete = points[points["complete"]]
    oracle = _best(complete[~off_grid[complete.index] & ~complete["chose"]])
    stated = complete[complete["stated"] & ~complete["chose"]]
    selections = [oracle.assign(selection="oracle"), stated.assign(selection="tuning_free")]
    if private:
        alone = ~points.duplicated(CELL, keep=False)
        fair = complete["stated"] & (complete["chose"] | alone[complete.index])
        selections.append(complete[fair].assign(selection="private"))
    cells = pd.concat(selections, ignore_index=True)
    chosen = _chosen(scores, numbers, cells)
    heads = scores.iloc[first_rows(numbers)]
    reasons = _reasons(scores, heads, points, cells, private)
    return _selected(chosen, reasons, _metric_of(heads, reasons))


def selected_of(rows: pd.DataFrame) -> Selected:
    """Chosen grid points from their scores alone, to the last bit what :func:`select` gave.

    Parameters
    ----------
    rows : DataFrame
        As :mod:`lpbench.experiments.committed` keeps them.

    Returns
    -------
    Selected
        As :func:`select` returns it.
    """
    rows = rows.assign(selection=rows["selections"].str.split()).explode("selection", ignore_index=True)
    ran, empty = (rows[rows["replication"] >= 0], rows[rows["replication"] < 0])
    keys = [*CELL, "metric", "selection", "params"]
    chosen, reasons = ran[[*keys, "replication", "value"]], empty[[*CELL, "selection", "reason"]]
    return _selected(chosen, reasons, empty["metric"].tolist())


def _selected(chosen: pd.DataFrame, reasons: pd.DataFrame, metric: Sequence[str]) -> Selected:
    """Sort chosen points and reasons, and add mean, standard deviation and metric to every cell.

    ``metric`` is that of each row of ``reasons``, cells without a score.
    """
    keys, order = [*CELL, "metric", "selection", "params"], [*CELL, "selection"]
    chosen = chosen.sort_values([*order, "replication"], kind="stable", ignore_index=True)
    moments = chosen.groupby(keys, dropna=False, sort=False)["value"].agg(["mean", "std", "size"])
    cells = moments.rename(columns={"size": "n"}).reset_index()
    empty = reasons.drop(columns="reason").assign(params="", mean=np.nan, std=np.nan, n=0, metric=metric)
    cells = pd.concat([cells, empty[cells.columns]], ignore_index=True) if len(empty) else cells
    cells, reasons = (table.sort_values(order, kind="stable", ignore_index=True) for table in (cells, reasons))
    return Selected(cells, chosen, reasons)


def _points(scores: pd.DataFrame, numbers: np.ndarray) -> pd.DataFrame:
    """Mean, standard deviation and completeness of each grid point; ``numbers`` (n,) is the point of each row.

    Text columns become plain strings.
    """
    ran = (scores["replication"] >= 0).to_numpy()
    rows, numbers = scores[ran], numbers[ran]
    first = first_rows(numbers)
    moments = rows["value"].groupby(numbers).agg(["mean", "std", "size"]).rename(columns={"size": "n"})
    ok = (rows["status"] == "ok").to_numpy()
    complete = np.logical_and.reduceat(ok, first) if len(first) else ok
    points = rows[POINT].iloc[first].reset_index(drop=True)
    return _plain(points).assign(number=numbers[first], **moments.reset_index(drop=True), complete=complete)


def _chosen(scores: pd.DataFrame, numbers: np.ndarray, cells: pd.DataFrame) -> pd.DataFrame:
    """Scores by replication of the chosen points in ``cells``; a point chosen by both selections appears for each.

    ``numbers`` (n,) is the grid point of each row of ``scores``.
    """
    wanted = np.isin(np.arange(len(scores) and numbers[-1] + 1), cells["number"])
    is_chosen = (scores["status"] == "ok").to_numpy() & wanted[numbers]
    values = scores.loc[is_chosen, ["replication", "value"]].assign(number=numbers[is_chosen])
    keys = cells[[*CELL, "metric", "selection", "params", "number"]]
    return keys.merge(values, on="number").drop(columns="number")


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{c: frame[c].astype(object) for c in frame.columns if frame[c].dtype == "category"})


def _stated(points: pd.DataFrame, settings: Settings) -> tuple[pd.Series, pd.Series]:
    """Two flags for each point: it is its method's stated setting; and it is, but the grid does not contain it."""
    stated_params = {key: (canonical_params(s.params), s.on_grid) for key, s in settings.items()}
    places = zip(points["panel"], points["mask"], points["method"], strict=True)
    of_points = [stated_params.get(cell, (None, True)) for cell in places]
    stated = points["params"] == pd.Series([params for params, _ in of_points], index=points.index, dtype=object)
    return stated, stated & ~np.array([on_grid for _, on_grid in of_points], dtype=bool)


def _best(points: pd.DataFrame) -> pd.DataFrame:
    """The point with the best mean in each cell; of equal ones the first in the order of their JSON."""
    sign = points["metric"].map({m: -1.0 if larger else 1.0 for m, larger in LARGER_IS_BETTER.items()}).astype(float)
    ordered = points.assign(cost=(sign * points["mean"]).round(LOSS_DIGITS))
    ordered = ordered.sort_values([*CELL, "cost", "params"], kind="stable")
    return ordered.drop_duplicates(CELL).drop(columns="cost")


def _reasons(
    scores: pd.DataFrame, heads: pd.DataFrame, points: pd.DataFrame, cells: pd.DataFrame, private: set[str]
) -> pd.DataFrame:
    """Rows of cells that have no oracle or private row, or whose stated setting did not run, with the reasons.

    ``heads`` are all cells that were planned, ``private`` the methods that choose by reports.
    """
    columns = [*CELL, "selection", "reason"]
    all_cells = _plain(heads[CELL].drop_duplicates())
    all_cells["selection"] = np.where(all_cells["method"].isin(private), "private", "oracle")
    lost = points["stated"] & ~points["complete"] & ~points["chose"]
    not_run = points[lost][CELL].assign(selection="tuning_free")
    wanted = pd.concat([all_cells, not_run], ignore_index=True)
    have = cells[[*CELL, "selection"]].assign(have=True)
    wanted = wanted.merge(have, on=[*CELL, "selection"], how="left")
    wanted = wanted[wanted["have"].isna()].drop(columns="have")
    if wanted.empty:
        return pd.DataFrame(columns=columns).astype({"epsilon": float, "x": float})
    lost = _plain(scores.loc[scores["status"] != "ok", [*CELL, "status", "reason"]].drop_duplicates())
    lost["reason"] = [f"{s}: {r}" if r else s for s, r in zip(lost["status"], lost["reason"], strict=True)]
    lost_reasons = lost.groupby(CELL, dropna=False)["reason"].agg(lambda reasons: "; ".join(sorted(set(reasons))[:3]))
    missing = wanted.merge(lost_reasons.astype(object).reset_index(), on=CELL, how="left")
    return missing.fillna({"reason": "no grid point is eligible"})[columns]


def _metric_of(heads: pd.DataFrame, empty: pd.DataFrame) -> list[str]:
    """Metric for each cell of ``empty``: that of its data set elsewhere in the experiment, else the common one.

    Empty where neither is known.
    """
    metrics = heads.loc[heads["metric"] != "", ["dataset", "metric"]].drop_duplicates()
    by_dataset = dict(zip(metrics["dataset"], metrics["metric"], strict=True))
    anywhere = sorted(set(by_dataset.values()))
    default = anywhere[0] if len(anywhere) == 1 else ""
    return [by_dataset.get(d, default) for d in empty["dataset"]]
