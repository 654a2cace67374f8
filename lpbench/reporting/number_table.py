"""The table ``numbers.csv``: every published number under each configuration, from papers and a results folder."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.alternatives import (
    BUDGET,
    DIFFERENT,
    EQUIVALENT,
    METHOD,
    NOT_COMPARABLE,
    class_of,
    identified,
)
from lpbench.analysis.numbers import (
    AFTER_THE_FACT,
    MET_BY,
    NO_CAUSE,
    NOTHING,
    NUMBER,
    NUMBER_COLUMNS,
    SUSPECTED,
    Sample,
    cause_of,
    distance_of,
    judged_numbers,
    met_by_chance,
)
from lpbench.errors import NotRunError
from lpbench.experiments import catalog
from lpbench.experiments.results import Artifact, Results
from lpbench.members import BASELINE, bare_name, member
from lpbench.reporting.alternative_table import alternatives_of, number_names, write_alternatives
from lpbench.reporting.interpretations import SUPPORT, Alternative, Bound, Interpretations, Step, Tolerance
from lpbench.reporting.paper import Paper, paper_of

NUMBERS_FILE = "numbers.csv"
#: Class of each number that judges in a run with seed 2026, and what it identifies there.
OTHER_SEED_CLASSES = "classes_seed2026.csv.gz"
#: Configurations beside those of a paper: its last one with what was found after the fact, what was tried, and what was
#: run in none of them.
TRIED, AS_RUN = "tried", "as run"
_AXES = ["panel", "dataset", "mask", "epsilon", "x"]
#: Columns over whose data sets the changes of an interpretation are permuted.
_PERMUTED = ["artifact", "method", "configuration", "mask"]


def write_numbers(
    about: Sequence[Paper], results: Results, folder: Path, artifacts: Collection[str] | None = None
) -> list[Path]:
    """Write ``numbers.csv`` of papers, or of some of their artifacts, and ``alternatives.csv.gz``; return them."""
    pairs = [_PaperNumbers(paper, results).rows(artifacts) for paper in about]
    pairs = [pair for pair in pairs if len(pair[0])] or [(pd.DataFrame(columns=NUMBER_COLUMNS), pd.DataFrame())]
    numbers, alternatives = (pd.concat(parts, ignore_index=True) for parts in zip(*pairs, strict=True))
    write_csv(numbers, folder / NUMBERS_FILE)
    return [folder / NUMBERS_FILE, write_alternatives(alternatives, folder)]


def read_numbers(folder: Path) -> pd.DataFrame:
    """Read ``numbers.csv`` of a report's folder; empty without it."""
    path = folder / NUMBERS_FILE
    if not path.is_file():
        return pd.DataFrame(columns=NUMBER_COLUMNS)
    table = pd.read_csv(path).rename(columns={"reading": "interpretation"})  # of older reports
    texts = [c for c in NUMBER_COLUMNS if c not in _NUMERIC]
    return table.assign(**{c: table[c].astype(object).fillna("") for c in texts})


_NUMERIC = {*("epsilon", "x", "judges", "published", "ours", "se", "replications", "distance", "tolerance", "chance")}


def numbers_about(artifact: Artifact, report: Path) -> pd.DataFrame:
    """Rows of numbers.csv about one artifact: from a report's folder if it has any, else computed from its files."""
    rows = read_numbers(report)
    rows = rows[rows["artifact"] == artifact.name]
    computed = _PaperNumbers(paper_of(artifact.name), Results(artifact.results))
    return rows if len(rows) else computed.configured([artifact])


def printed_numbers(artifact: Artifact) -> pd.DataFrame:
    """Compute the rows of numbers.csv for one artifact, under its judging configuration, with its alternatives."""
    rows = numbers_about(artifact, artifact.results)
    rows = rows[rows["judges"].astype(bool)]
    parts = rows["cell"].str.split("|", expand=True).reindex(columns=range(3))
    cell = {"dataset": parts[0], "method": parts[1], "mask": parts[2], "reproduced": rows["ours"]}
    return rows.assign(**cell, equivalent=(rows["class"] == EQUIVALENT).astype(int))


def kept_by_seed(judged: pd.DataFrame, folder: Path) -> str:
    """Say how many numbers keep their class and identification under the second seed; empty without such a run."""
    if not (folder / OTHER_SEED_CLASSES).is_file() or judged.empty:
        return ""
    second = pd.read_csv(folder / OTHER_SEED_CLASSES, index_col="number").reindex(number_names(judged))
    same_class = (second["class"].to_numpy() == judged["class"]).sum()
    again, named = (of["identifies"].isin([METHOD, BUDGET]).to_numpy() for of in (second, judged))
    return (
        f"Under another seed {same_class:,} of {len(judged):,} numbers keep their outcome, and "
        f"{(again & named).sum()} of the {named.sum()} that identify their method do so again"
    )


def with_margins(alternatives: pd.DataFrame, numbers: pd.DataFrame) -> pd.DataFrame:
    """Add to alternatives the margins and errors from which their classes are computed; keep comparable ones."""
    judged = judged_numbers(numbers)
    judged = judged[judged["class"] != NOT_COMPARABLE]
    reach = (judged["tolerance"] * judged["published"].abs()).where(judged["unit"] == "ratio", judged["tolerance"])
    named = judged.assign(number=number_names(judged), margin=reach, rescale=[*map(_rescale, judged.itertuples())])
    of = ["number", "paper", "artifact", "published", "margin", "rescale"]
    # an empty column is of no kind
    return alternatives.astype({"number": object}).merge(named[of].astype({"number": object}), on="number")


def _rescale(row: Any) -> float:
    """Factor from our standard error to that of a printed number: root of our replications over the paper's.

    It is 1 where none were run.
    """
    return math.sqrt(row.replications / catalog.experiment(row.artifact).replications) if row.replications else 1.0


class _PaperNumbers:
    """Printed numbers of one paper beside ours, row by row: each number under each configuration and interpretation.

    A row is a dictionary or tuple with the columns ``NUMBER_COLUMNS``.
    """

    def __init__(self, paper: Paper, results: Results):
        self.paper, self.results = paper, results
        # each is read once
        self._scores, self._chosen = cache(self._read_scores), cache(self._read_chosen)
        self._trees = cache(self._read_trees)

    def rows(self, artifacts: Collection[str] | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
        """All rows, those of configurations first and then those of tried interpretations; and the alternatives' table.

        ``artifacts`` restricts the rows (None: all of the paper's). Numbers that differ have a cause where one is
        known.
        """
        names = [n for n in self.paper.published if artifacts is None or n in artifacts]
        table = self.configured([self.results.artifact(name) for name in names])
        if table.empty:
            return table, pd.DataFrame()
        beside = self._alternatives(table)
        table = table.assign(identifies=self._identified(table, beside))
        blind = self._met_blindly(table, beside)
        table = pd.concat([table, self._with_found(table)], ignore_index=True)
        why = [
            self._why(row, blind) if row["class"] in (DIFFERENT, NOT_COMPARABLE) else ("", "")
            for row in table.to_dict("records")
        ]
        table = table.assign(cause=[cause for cause, _ in why], reason=[reason for _, reason in why])
        table = table.assign(chance=self._chances(table, blind))
        judged_already = {(_key(row), row["selector"]) for row in table.to_dict("records")}
        tried = [
            self._tried(row, step, sample)
            for row in table.drop_duplicates(NUMBER).to_dict("records")
            for step, sample in self._steps(row)
            if step.experiment or (_key(row), step.method) not in judged_already
        ]
        return pd.concat([table, pd.DataFrame(tried, columns=NUMBER_COLUMNS)], ignore_index=True)[
            NUMBER_COLUMNS
        ], beside

    def configured(self, artifacts: Sequence[Artifact]) -> pd.DataFrame:
        """Return a row for each published number and configuration that has one; ``judges`` marks the row that decides.

        It is that of the artifact's judging configuration if run, else of the first other one, else of the run as it
        is.
        """
        parts = []
        for artifact in artifacts:
            if artifact.comparison is None or artifact.comparison.empty:
                continue
            judge = self.paper.judge_of(artifact.leaf)
            for configuration in [judge, *(c for c in self.paper.configurations if c != judge), AS_RUN]:
                of_artifact = self._configured(artifact, configuration)
                parts.append(of_artifact.assign(is_judge=configuration == judge))
        if not parts:
            return pd.DataFrame(columns=[*NUMBER_COLUMNS, "note"])
        table = pd.concat(parts, ignore_index=True)
        was_run = table["ours"].notna()
        judges = was_run & ~table.where(was_run).duplicated(NUMBER)
        selected = judges.where(table["configuration"] == AS_RUN, was_run | table["is_judge"])
        table = table.drop(columns="is_judge").assign(judges=judges)[selected].reset_index(drop=True)
        table = table.assign(
            paper=self.paper.name, interpretation="", identifies="", cause="", reason="", chance=np.nan
        )
        return self._classed(table)

    def _classed(self, table: pd.DataFrame) -> pd.DataFrame:
        """Add the class of each row and ``se_print``, the print's standard error, taken from the row that judges."""
        error = table["se"] * [*map(_rescale, table.itertuples())]
        errors = {_key(row): e for row, e in zip(table.to_dict("records"), error, strict=True) if row["judges"]}
        prints = [errors.get(_key(row), e) for row, e in zip(table.to_dict("records"), error, strict=True)]
        table = table.assign(se_print=prints)
        return table.assign(**{"class": [self._class(row) for row in table.to_dict("records")]})

    def _class(self, row: Mapping[str, Any]) -> str:
        """Class of a row: equivalent, different, cannot tell or not comparable; empty without a number or margin."""
        if math.isnan(row["ours"]) or math.isnan(row["margin"]):
            return ""
        if any(bound.standing for bound in self._bounds_of(row)):
            return NOT_COMPARABLE
        values = (np.array([row[k]], dtype=float) for k in ("ours", "se", "published", "se_print", "margin"))
        return str(class_of(*values)[0])

    def _bounds_of(self, row: Mapping[str, Any]) -> list[Bound]:
        """List the paper's statements that a printed number cannot be reached on our data, with their computations."""
        return [
            bound
            for bound in self.paper.differences.bounds
            if any(all(row[k] == v for k, v in cell.items()) for cell in bound.cells)
        ]

    # -- alternatives ----------------------------------------------------------------------------------------------

    def _alternatives(self, table: pd.DataFrame) -> pd.DataFrame:
        judged = judged_numbers(table)
        printed = {name: catalog.experiment(name).replications for name in judged["artifact"].unique()}
        alternatives = alternatives_of(judged, self.paper.alternatives, self._rival, printed)
        apart = alternatives["number"].isin(number_names(judged[judged["class"] == NOT_COMPARABLE]))
        return alternatives.assign(**{"class": alternatives["class"].mask(apart, NOT_COMPARABLE)})

    def _rival(self, row: dict[str, Any], one: Alternative) -> Sample | None:
        """Scores of an alternative method or setting in the place of a printed number's row; None if it was not run."""
        method = one.stands_for(row["artifact"], row["selector"])
        relative, on_axis = self._tolerance(row["artifact"]).relative, row["x"] == row["x"]
        figure = row["artifact"].rpartition("/")[2] + row["panel"] if on_axis else row["panel"]
        for name in one.experiments or (row["artifact"],):
            panel = row["panel"] if name == row["artifact"] else figure
            of, beside = (name, (method,), panel, relative, row["mask"]), (row["artifact"],)
            cells = self._scores(*of, "", one.budget, beside)
            # what has no place on the axis is the same at all of them, and so are budgets that are the axis
            for cell in (row, row | {"x": np.nan}):
                if (sample := _find(cells, cell | {"panel": "*"})) is not None:
                    return sample
        return None

    def _identified(self, table: pd.DataFrame, beside: pd.DataFrame) -> list[str]:
        """Say for each row if the number identifies its method, i.e. if all alternatives differ from the print.

        The texts are empty for rows that do not judge or have no counted alternative; ``beside`` is the table of
        alternatives.
        """
        identifies = identified(beside)["identifies"] if len(beside) else pd.Series(dtype=str)
        rivals = set(beside.loc[(beside["counted"] != "") & beside["value"].notna(), "number"])
        return [
            ((identifies[name] if row.equivalent else "") or NOTHING) if row.judges and name in rivals else ""
            for name, row in zip(
                number_names(table), table.assign(equivalent=table["class"] == EQUIVALENT).itertuples(), strict=True
            )
        ]

    def _met_blindly(self, table: pd.DataFrame, beside: pd.DataFrame) -> set[tuple]:
        """Keys of numbers that constants or public rows alone meet within the tolerance: no cause may explain these."""
        names = {one.name for one in self.paper.alternatives if "" in one.methods}
        near = beside[beside["alternative"].isin(names)]
        near = set(near.loc[(near["value"] - near["published"]).abs() <= near["margin"] + 1e-11, "number"])
        rows = zip(number_names(table), table.to_dict("records"), strict=True)
        return {_key(row) for name, row in rows if row["judges"] and name in near}

    def _configured(self, artifact: Artifact, configuration: str) -> pd.DataFrame:
        """The row that stands for each published number of an artifact under a configuration.

        A method that has a variant of the configuration, and was not run in it, has no number there.
        """
        variants, comparison = self.paper.configurations.get(configuration, ()), artifact.comparison
        assert comparison is not None
        name = artifact.name
        table = comparison[comparison["published"].notna()]
        table = (
            table.assign(
                artifact=name,
                selector=table["method"],
                configuration=configuration,
                **{c: table[c].map(bare_name) for c in ("dataset", "mask", "method")},
                _order=[_preference(m, variants) for m in table["method"]],
            )
            .sort_values("_order", kind="stable")
            .drop_duplicates(NUMBER)
        )
        borrowed = np.array([_borrowed(m, variants) for m in table["selector"]], dtype=bool)
        tolerance = self._tolerance(name)
        scores = artifact.chosen
        count = {} if scores is None else scores.groupby(["dataset", "method"])["replication"].nunique().to_dict()
        places = zip(comparison.loc[table.index, "dataset"], table["selector"], strict=True)
        table = table.assign(
            ours=table["reproduced"].mask(borrowed),
            replications=[count.get(key, 0) for key in places],
            unit=self._unit(name),
            tolerance=tolerance.within,
        )
        cells = comparison.loc[table.index].to_dict("records")
        table = table.assign(cell=[cell_name(cell) if cell["method"] else "" for cell in cells])
        ours, published = (table[c].to_numpy(dtype=float) for c in ("ours", "published"))
        distance = distance_of(ours, published, tolerance.relative)
        margin = tolerance.within * (np.abs(published) if tolerance.relative else np.ones(len(table)))
        return table.assign(distance=distance, margin=margin)

    def _tolerance(self, artifact: str) -> Tolerance:
        """Tolerance of an artifact's numbers; NaN where none is stated."""
        return self.paper.output_of(artifact).tolerance

    def _unit(self, artifact: str) -> str:
        layout = self.paper.tables.get(artifact)
        if layout is not None and layout.value != "mean":
            return layout.value
        return "size" if self.paper.output_of(artifact).read else "score"

    # -- causes ----------------------------------------------------------------------------------------------------

    def _why(self, row: Mapping[str, Any], blind: Collection[tuple]) -> tuple[str, str]:
        """Known cause of a number that differs or cannot be compared, and the reason in words (may be empty).

        A number in ``blind``, which a constant meets as well, is explained by no interpretation.
        """
        for bound in self._bounds_of(row):
            return bound.standing or SUSPECTED, bound.why
        judged = self._sample(row)
        if judged and _key(row) not in blind:
            others = [
                (step, sample)
                for step, sample in self._steps(row)
                if step.support not in ("tried", "refuted") and not _is_itself(step, row)
            ]
            others.sort(key=lambda one: [*SUPPORT].index(one[0].support))
            cause = cause_of(row["published"], judged, others, *self._tolerance(row["artifact"]))
            if cause:
                after = cause.support == AFTER_THE_FACT
                return AFTER_THE_FACT if after else f"{MET_BY} {cause.support}", cause.interpretation
        causes = self.paper.differences.causes_of({**row, "experiment": row["artifact"]})
        hints = "; ".join(filter(None, [row["note"], *causes]))
        return (SUSPECTED, hints) if hints else (NO_CAUSE, "")

    def _chances(self, table: pd.DataFrame, blind: Collection[tuple]) -> np.ndarray:
        """Chance, for each row (n,), that anything found after the fact would meet the number, by permutation.

        NaN for rows that have a cause other than that, and for those in ``blind``, which a constant meets as well.
        """
        changed: dict[
            tuple, dict[str, dict[int, tuple]]
        ] = {}  # column -> interpretation -> number of the row -> ours, changed
        for position, row in enumerate(table.to_dict("records")):
            judged = None if row["configuration"] == AFTER_THE_FACT else self._sample(row)
            for step, sample in self._steps(row):
                if judged and step.support == AFTER_THE_FACT and not _is_itself(step, row):
                    shared = np.intersect1d(judged.replications, sample.replications)
                    samples = changed.setdefault(tuple(row[k] for k in _PERMUTED), {})
                    samples.setdefault(step.interpretation, {})[position] = judged.mean(shared), sample.mean(shared)
        chance, published = np.full(len(table), np.nan), table["published"].to_numpy(dtype=float)
        for (artifact, *_), samples in changed.items():
            places = sorted(set().union(*samples.values()))
            arrays = [np.array([of.get(p, (np.nan, np.nan)) for p in places]) for of in samples.values()]
            pairs = [(pair[:, 0], pair[:, 1]) for pair in arrays]
            chance[places] = met_by_chance(published[places], pairs, *self._tolerance(artifact))
        counts = table["cause"].isin([AFTER_THE_FACT, SUSPECTED, NO_CAUSE])
        counts &= np.array([_key(row) not in blind for row in table.to_dict("records")], dtype=bool)
        return np.where(counts, chance, np.nan)

    def _with_found(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rows of the last configuration, with the last interpretation that was found after the fact if any.

        They form one more configuration, which never judges; empty without such an interpretation.
        """
        rows = table[table["configuration"] == [*self.paper.configurations][-1]].to_dict("records")
        steps_of = [[one for one in self._steps(row) if one[0].support == AFTER_THE_FACT] for row in rows]
        if not any(steps_of):
            return table.iloc[:0]
        last = [self._tried(row, *steps[-1]) if steps else row for row, steps in zip(rows, steps_of, strict=True)]
        return pd.DataFrame(last, columns=table.columns).assign(configuration=AFTER_THE_FACT, judges=False)

    def _tried(self, row: dict[str, Any], step: Step, sample: Sample) -> dict[str, Any]:
        """Return the row of a printed number under one interpretation: ``row`` with the sample's scores and class."""
        tolerance = self._tolerance(row["artifact"])
        changed = row | {
            "configuration": TRIED,
            "interpretation": step.interpretation,
            "cell": "",
            "judges": False,
            "ours": sample.mean(),
            "se": sample.se,
            "replications": len(sample.replications),
            "distance": float(distance_of(sample.mean(), row["published"], tolerance.relative)),
            "identifies": "",
            "cause": step.support,
            "reason": "",
            "chance": np.nan,
        }
        return changed | {"class": self._class(changed)}

    def _steps(self, row: Mapping[str, Any]) -> list[tuple[Step, Sample]]:
        """Interpretations of a row's number that were run, as pairs (step, its scores by replication)."""
        return [
            (step, sample)
            for candidates, steps in self._runs
            if row["artifact"] in candidates.artifacts and row["method"] == candidates.method
            if candidates.mask in ("", row["mask"])
            for step, cells in steps
            if (sample := _find(cells, row)) is not None
        ]

    # -- scores by replication ---------------------------------------------------------------------------------------

    def _sample(self, row: Mapping[str, Any]) -> Sample | None:
        """Scores behind a row of a configuration; None where they are not at hand."""
        if row["configuration"] == AFTER_THE_FACT and row["interpretation"]:
            return None
        relative = self._tolerance(row["artifact"]).relative
        return _find(self._scores(row["artifact"], (row["selector"],), "", relative, row["mask"]), row)

    @cached_property
    def _runs(self) -> list[tuple[Interpretations, list[tuple[Step, dict[tuple, Sample]]]]]:
        """All interpretations of the paper: pairs (candidates, steps), a step with its cells' samples by key."""
        runs = []
        for candidates in self.paper.differences.interpretations:
            steps, relative = [], self._tolerance(candidates.artifacts[0]).relative
            for step in candidates.steps:
                cells: dict[tuple, Sample] = {}
                for name in (step.experiment,) if step.experiment else candidates.artifacts:
                    methods = tuple(step.method.split(" or "))
                    cells |= self._scores(
                        name,
                        methods,
                        step.panel,
                        relative,
                        step.mask or candidates.mask,
                        candidates.mask,
                        step.budget,
                        candidates.artifacts,
                    )
                steps.append((step, cells))
            runs.append((candidates, steps))
        return runs

    def _read_scores(
        self,
        name: str,
        methods: tuple[str, ...],
        panel: str,
        relative: bool,
        mask: str,
        by_name: str = "",
        budget: float = 1.0,
        beside: tuple[str, ...] = (),
    ) -> dict[tuple, Sample]:
        """Samples of an experiment's cells by panel (or ``*``), data set, mask, published budget and place on the axis.

        Of several ``methods`` the smallest error of each replication counts. ``by_name`` replaces the mask in the keys,
        ``budget`` is the printed ε over that of the run, and with ``relative`` errors are divided by the non-private
        tree's, also from the experiments ``beside``. Empty keys of data set and mask stand for any.
        """
        rows = self._chosen(name)
        rows = rows[rows["method"].isin(methods)]
        rows = rows[rows["panel"] == panel] if panel else rows
        rows = rows[rows["mask"].isin([m for m in rows["mask"].unique() if mask in ("", bare_name(m))])]
        # an interpretation has its own tree where one was run with it
        base = {d: tree for n in (*beside, name) for d, tree in self._trees(n).items()} if relative else {}
        samples: dict[tuple, Sample] = {}
        if len(methods) > 1:  # of errors the least is the best
            rows = rows.groupby([*_AXES, "replication"], dropna=False, sort=False)["value"].min().reset_index()
        for (panel_name, dataset, by, epsilon, x), scores in rows.groupby(_AXES, dropna=False, sort=False):
            numbers, values = scores["replication"].to_numpy(), scores["value"].to_numpy()
            if relative and dataset not in base:
                continue
            reference = base[dataset].reindex(numbers).to_numpy() if relative else None
            is_finite = np.isfinite(values if reference is None else reference)
            if not is_finite.any():
                continue
            sample = Sample(numbers[is_finite], values[is_finite], None if reference is None else reference[is_finite])
            axes = _place(epsilon * budget), _place(x)
            for key in itertools.product((panel_name, "*"), (bare_name(dataset), ""), (by_name or bare_name(by), "")):
                samples.setdefault((*key, *axes), sample)
        return samples

    def _read_chosen(self, name: str) -> pd.DataFrame:
        """Scores by replication of an experiment's best grid points on the test rows; empty without any."""
        texts = ["panel", "dataset", "mask", "method"]
        with suppress(NotRunError):
            if (chosen := self.results.artifact(name).chosen) is not None:
                return chosen[chosen["selection"] == "oracle"].astype(dict.fromkeys(texts, object))
        return pd.DataFrame(columns=[*_AXES, "method", "replication", "value"])

    def _read_trees(self, name: str) -> dict[str, pd.Series]:
        """Scores of the non-private tree of an experiment, by data set, each a series over replications."""
        rows = self._chosen(name)
        trees = rows[rows["method"] == BASELINE].drop_duplicates(["dataset", "replication"])
        return {dataset: scores.set_index("replication")["value"] for dataset, scores in trees.groupby("dataset")}


def cell_name(row: Mapping[str, Any]) -> str:
    """Return the name of a number's cell, as the column ``cell`` and the pages' links have it."""
    axes = {key: "" if row[key] != row[key] else f"{row[key]:g}" for key in ("epsilon", "x")}
    return "|".join([row["dataset"], row["method"], row["mask"], axes["epsilon"], row["panel"], axes["x"]])


def _find(cells: Mapping[tuple, Sample], row: Mapping[str, Any]) -> Sample | None:
    axes = row["dataset"], row["mask"], _place(row["epsilon"]), _place(row["x"])
    return next((cells[key] for panel in (row["panel"], "*") if (key := (panel, *axes)) in cells), None)


def _place(value: float) -> float | None:
    return None if value != value else float(f"{value:.9g}")


def _key(row: Mapping[str, Any]) -> tuple:
    return (*(row[k] for k in NUMBER[:5]), _place(row["epsilon"]), _place(row["x"]))


@cache
def _variant(selector: str) -> tuple[str, dict[str, Any]]:
    """Variant of a selector, and the variants of its method (name to parameters).

    A bare name has the variant that changes nothing, or "".
    """
    variants = catalog.method(bare_name(selector)).variants
    return member(selector).variant or next((v for v, changed in variants.items() if not changed), ""), variants


def _borrowed(selector: str, variants: tuple[str, ...]) -> bool:
    """Return True if a row's method was run in another variant than the configuration's, so that it has no number."""
    if not selector:
        return False
    variant, of_method = _variant(selector)
    return bool(set(variants) & set(of_method)) and variant not in variants


def _preference(selector: str, variants: tuple[str, ...]) -> tuple:
    """Sort key of the selectors that stand for one published number under a configuration."""
    if not selector:
        return (False,)
    one, variant = member(selector), _variant(selector)[0]
    ordered = variants.index(variant) if variant in variants else len(variants)
    return not one.is_preset, ordered, one.params != {}, variant != "text", selector


def _is_itself(step: Step, row: Mapping[str, Any]) -> bool:
    """Return True if a step is the very run of a row's selector, so that it is no other interpretation."""
    return not step.experiment and step.method == row["selector"]
