"""The table ``numbers.csv``: every published number under each configuration, from papers and a results folder."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.numbers import (
    COLUMNS,
    DIFFERENT,
    FOUND,
    IMPOSSIBLE,
    MET_BY,
    NEAR,
    NUMBER,
    SAME,
    SUSPECTED,
    UNEXPLAINED,
    Sample,
    by_configuration,
    cause_of,
    distance_of,
    met_by_chance,
    met_class,
)
from lpbench.cast import BASELINE, bare_name, member
from lpbench.errors import NotRunError
from lpbench.experiments import catalogue
from lpbench.experiments.results import Artefact, Results
from lpbench.reporting.interpretations import SUPPORT, Interpretations, Step, Tolerance
from lpbench.reporting.paper import Paper, paper_of

FILE = "numbers.csv"
#: Configurations beside those of a paper: its last one with what was found after the fact, what was tried, and what was
#: run in none of them.
WITH_FOUND, TRIED, AS_RUN = "found", "tried", "as run"
_AXES = ["panel", "dataset", "mask", "epsilon", "x"]


def write_numbers(
    about: Sequence[Paper], results: Results, folder: Path, artefacts: Collection[str] | None = None
) -> Path:
    """Write ``numbers.csv`` of papers, or of some of their artefacts; return it."""
    parts = [_PaperNumbers(paper, results).rows(artefacts) for paper in about]
    parts = [part for part in parts if len(part)]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
    write_csv(table, folder / FILE)
    return folder / FILE


def read_numbers(folder: Path) -> pd.DataFrame:
    """Read ``numbers.csv`` of a report's folder; empty without it."""
    path = folder / FILE
    if not path.is_file():
        return pd.DataFrame(columns=COLUMNS)
    table = pd.read_csv(path)
    texts = [c for c in COLUMNS if c not in _NUMERIC]
    return table.assign(**{c: table[c].astype(object).fillna("") for c in texts})


_NUMERIC = {*("epsilon", "x", "judges", "published", "ours", "se", "replications", "distance", "tolerance", "chance")}


def numbers_about(artefact: Artefact, report: Path) -> pd.DataFrame:
    """Rows of one artefact: those of a report's table if it has any, else what the artefact's own files say."""
    rows = read_numbers(report)
    rows = rows[rows["artefact"] == artefact.name]
    own = _PaperNumbers(paper_of(artefact.name), Results(artefact.results))
    return rows if len(rows) else own.configured([artefact])


def met_numbers(artefact: Artefact) -> pd.DataFrame:
    """A row a published number of one artefact that was run, with 1 or 0 whether it is compared, and met."""
    paper = paper_of(artefact.name)
    rows = _PaperNumbers(paper, Results(artefact.results)).configured([artefact])
    rows = rows[rows["judges"].astype(bool)]
    parts = rows["cell"].str.split("|", expand=True).reindex(columns=range(3))
    compared = (rows["met"] != "").astype(int)
    met = rows["met"].isin([SAME, NEAR]).astype(int)
    cell = {"dataset": parts[0], "method": parts[1], "mask": parts[2], "reproduced": rows["ours"]}
    return rows.assign(**cell, met=met, compared=compared)


def lines_by_configuration(rows: pd.DataFrame) -> list[str]:
    """Numbers met under each configuration of each paper, its tables and its curves apart, a sentence each."""
    words = {"code": "authors' code"}
    return [
        f"{paper_of(n['paper']).short}, {n['what']}, {words.get(n['configuration'], n['configuration'])}"
        f"{' (judges)' * bool(n['judges'])}: "
        f"{n['met']} of {n['compared']} met ({n['same']} the same within noise), {n['impossible']} impossible in "
        f"print, {n['explained']} met by another interpretation, {n['found']} by what was found afterwards, "
        f"{n['unexplained']} unexplained"
        for n in by_configuration(rows)
    ]


class _PaperNumbers:
    def __init__(self, paper: Paper, results: Results):
        self.paper, self.results = paper, results
        # each is read once
        self._scores, self._chosen = cache(self._read_scores), cache(self._read_chosen)
        self._trees = cache(self._read_trees)

    def rows(self, artefacts: Collection[str] | None = None) -> pd.DataFrame:
        """All rows: configurations with causes of what they miss, then what was tried."""
        names = [n for n in self.paper.published if artefacts is None or n in artefacts]
        table = self.configured([self.results.artefact(name) for name in names])
        if table.empty:
            return table
        table = pd.concat([table, self._with_found(table)], ignore_index=True)
        why = [
            self._why(row) if row["met"] == DIFFERENT else (row["standing"], row["reason"])
            for row in table.to_dict("records")
        ]
        table = table.assign(standing=[standing for standing, _ in why], reason=[reason for _, reason in why])
        table = table.assign(chance=self._chances(table))
        there = {(_key(row), row["selector"]) for row in table.to_dict("records")}
        tried = [
            self._tried(row, step, sample)
            for row in table.drop_duplicates(NUMBER).to_dict("records")
            for step, sample in self._steps(row)
            if step.experiment or (_key(row), step.method) not in there
        ]
        return pd.concat([table, pd.DataFrame(tried, columns=COLUMNS)], ignore_index=True)[COLUMNS]

    def configured(self, artefacts: Sequence[Artefact]) -> pd.DataFrame:
        """A row a published number and configuration that has one, judged by the first of its judge and the others."""
        parts = []
        for artefact in artefacts:
            if artefact.comparison is None or artefact.comparison.empty:
                continue
            judge = self.paper.judge_of(artefact.leaf)
            for configuration in [judge, *(c for c in self.paper.configurations if c != judge), AS_RUN]:
                part = self._configured(artefact, configuration)
                parts.append(part.assign(is_judge=configuration == judge))
        if not parts:
            return pd.DataFrame(columns=[*COLUMNS, "note"])
        table = pd.concat(parts, ignore_index=True)
        known = table["ours"].notna()
        judges = known & ~table.where(known).duplicated(NUMBER)
        kept = judges.where(table["configuration"] == AS_RUN, known | table["is_judge"])
        table = table.drop(columns="is_judge").assign(judges=judges)[kept].reset_index(drop=True)
        return table.assign(paper=self.paper.name, reading="", standing="", reason="", chance=np.nan)

    def _configured(self, artefact: Artefact, configuration: str) -> pd.DataFrame:
        """The row that stands for each published number of an artefact under a configuration.

        A method that has a variant of the configuration, and was not run in it, has no number there.
        """
        variants, comparison = self.paper.configurations.get(configuration, ()), artefact.comparison
        assert comparison is not None
        name = artefact.name
        table = comparison[comparison["published"].notna()]
        table = (
            table.assign(
                artefact=name,
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
        scores = artefact.chosen
        count = {} if scores is None else scores.groupby(["dataset", "method"])["replication"].nunique().to_dict()
        places = zip(comparison.loc[table.index, "dataset"], table["selector"], strict=True)
        table = table.assign(
            ours=table["reproduced"].mask(borrowed),
            replications=[count.get(place, 0) for place in places],
            unit=self._unit(name),
            tolerance=tolerance.within,
        )
        cells = comparison.loc[table.index].to_dict("records")
        table = table.assign(cell=[cell_name(cell) if cell["method"] else "" for cell in cells])
        ours, published, se = (table[c].to_numpy(dtype=float) for c in ("ours", "published", "se"))
        distance = distance_of(ours, published, tolerance.relative)
        met = met_class(ours, published, se, *tolerance)
        return table.assign(distance=distance, met=met)

    def _tolerance(self, artefact: str) -> Tolerance:
        """Tolerance of an artefact's numbers; NaN where none is stated."""
        return self.paper.output_of(artefact).tolerance

    def _unit(self, artefact: str) -> str:
        layout = self.paper.tables.get(artefact)
        if layout is not None and layout.value != "mean":
            return layout.value
        return "size" if self.paper.output_of(artefact).read else "score"

    # -- causes ----------------------------------------------------------------------------------------------------

    def _why(self, row: Mapping[str, Any]) -> tuple[str, str]:
        """What stands behind a number that is not met, and the reason."""
        for bound in self.paper.differences.bounds:
            if any(all(row[k] == v for k, v in cell.items()) for cell in bound.cells):
                return IMPOSSIBLE, bound.why
        if judged := self._sample(row):
            others = [
                (step, sample)
                for step, sample in self._steps(row)
                if step.support not in ("tried", "refuted") and not _is_itself(step, row)
            ]
            others.sort(key=lambda one: [*SUPPORT].index(one[0].support))
            found = cause_of(row["published"], judged, others, *self._tolerance(row["artefact"]))
            if found:
                return FOUND if found.support == "found" else f"{MET_BY} {found.support}", found.reading
        causes = self.paper.differences.causes_of({**row, "experiment": row["artefact"]})
        hints = "; ".join(filter(None, [row["note"], *causes]))
        return (SUSPECTED, hints) if hints else (UNEXPLAINED, "")

    def _chances(self, table: pd.DataFrame) -> np.ndarray:
        """Chance with which each unexplained number would be met by what was found after the fact, if permuted."""
        changed: dict[tuple, list[tuple]] = {}  # interpretation and column -> number of the row, print, ours, changed
        for place, row in enumerate(table.to_dict("records")):
            judged = None if row["configuration"] == WITH_FOUND else self._sample(row)
            for step, sample in self._steps(row):
                if judged and step.support == "found" and not _is_itself(step, row):
                    shared = np.intersect1d(judged.replications, sample.replications)
                    column = (step.reading, row["method"], row["configuration"], row["artefact"], row["mask"])
                    values = (row["published"], judged.mean(shared), sample.mean(shared))
                    changed.setdefault(column, []).append((place, *values))
        chance = np.full(len(table), np.nan)
        for column, rows in changed.items():
            places, published, ours, found = np.array(rows).T
            drawn = met_by_chance(published, ours, found, *self._tolerance(column[3]))
            chance[places.astype(int)] = np.fmax(chance[places.astype(int)], drawn)
        return np.where(table["standing"].isin([FOUND, SUSPECTED, UNEXPLAINED]), chance, np.nan)

    def _with_found(self, table: pd.DataFrame) -> pd.DataFrame:
        """The last configuration again, with the last interpretation of each method that was found after the fact."""
        rows = table[table["configuration"] == [*self.paper.configurations][-1]].to_dict("records")
        found = [[one for one in self._steps(row) if one[0].support == "found"] for row in rows]
        if not any(found):
            return table.iloc[:0]
        last = [self._tried(row, *steps[-1]) if steps else row for row, steps in zip(rows, found, strict=True)]
        return pd.DataFrame(last, columns=table.columns).assign(configuration=WITH_FOUND, judges=False)

    def _tried(self, row: dict[str, Any], step: Step, sample: Sample) -> dict[str, Any]:
        """The row of a number under one interpretation."""
        tolerance = self._tolerance(row["artefact"])
        ours, se, published = (np.array([v], dtype=float) for v in (sample.mean(), sample.se, row["published"]))
        return row | {
            "configuration": TRIED,
            "reading": step.reading,
            "cell": "",
            "judges": False,
            "ours": ours[0],
            "se": se[0],
            "replications": len(sample.replications),
            "distance": float(distance_of(ours, published, tolerance.relative)[0]),
            "met": str(met_class(ours, published, se, *tolerance)[0]),
            "standing": step.support,
            "reason": "",
            "chance": np.nan,
        }

    def _steps(self, row: Mapping[str, Any]) -> list[tuple[Step, Sample]]:
        """Interpretations of a number that were run, with their scores."""
        return [
            (step, sample)
            for candidates, steps in self._runs
            if row["artefact"] in candidates.artefacts and row["method"] == candidates.method
            if candidates.mask in ("", row["mask"])
            for step, cells in steps
            if (sample := _find(cells, row)) is not None
        ]

    # -- scores by replication ---------------------------------------------------------------------------------------

    def _sample(self, row: Mapping[str, Any]) -> Sample | None:
        """Scores behind a row of a configuration; None where they are not at hand."""
        if row["configuration"] == WITH_FOUND and row["reading"]:
            return None
        relative = self._tolerance(row["artefact"]).relative
        return _find(self._scores(row["artefact"], (row["selector"],), "", relative, row["mask"]), row)

    @cached_property
    def _runs(self) -> list[tuple[Interpretations, list[tuple[Step, dict[tuple, Sample]]]]]:
        """Interpretations with their steps, each with the samples of its cells."""
        found = []
        for candidates in self.paper.differences.interpretations:
            steps, relative = [], self._tolerance(candidates.artefacts[0]).relative
            for step in candidates.steps:
                cells: dict[tuple, Sample] = {}
                for name in (step.experiment,) if step.experiment else candidates.artefacts:
                    methods = tuple(step.method.split(" or "))
                    cells |= self._scores(
                        name,
                        methods,
                        step.panel,
                        relative,
                        step.mask or candidates.mask,
                        candidates.mask,
                        step.budget,
                        candidates.artefacts,
                    )
                steps.append((step, cells))
            found.append((candidates, steps))
        return found

    def _read_scores(
        self,
        name: str,
        methods: tuple[str, ...],
        panel: str,
        relative: bool,
        mask: str,
        shown: str = "",
        budget: float = 1.0,
        beside: tuple[str, ...] = (),
    ) -> dict[tuple, Sample]:
        """Samples of an experiment's cells by panel (or ``*``), data set, mask, published budget and place."""
        rows = self._chosen(name)
        rows = rows[rows["method"].isin(methods)]
        rows = rows[rows["panel"] == panel] if panel else rows
        rows = rows[rows["mask"].isin([m for m in rows["mask"].unique() if mask in ("", bare_name(m))])]
        # an interpretation has its own tree where one was run with it
        base = {d: tree for n in (*beside, name) for d, tree in self._trees(n).items()} if relative else {}
        found: dict[tuple, Sample] = {}
        if len(methods) > 1:  # of errors the least is the best
            rows = rows.groupby([*_AXES, "replication"], dropna=False, sort=False)["value"].min().reset_index()
        for (place, dataset, by, epsilon, x), part in rows.groupby(_AXES, dropna=False, sort=False):
            numbers, values = part["replication"].to_numpy(), part["value"].to_numpy()
            if relative and dataset not in base:
                continue
            reference = base[dataset].reindex(numbers).to_numpy() if relative else None
            there = np.isfinite(values if reference is None else reference)
            if not there.any():
                continue
            sample = Sample(numbers[there], values[there], None if reference is None else reference[there])
            axes = _place(epsilon * budget), _place(x)
            for key in itertools.product((place, "*"), (bare_name(dataset), ""), (shown or bare_name(by), "")):
                found.setdefault((*key, *axes), sample)
        return found

    def _read_chosen(self, name: str) -> pd.DataFrame:
        """Scores of an experiment's best grid points; empty without any."""
        texts = ["panel", "dataset", "mask", "method"]
        with suppress(NotRunError):
            if (kept := self.results.artefact(name).chosen) is not None:
                return kept[kept["selection"] == "oracle"].astype(dict.fromkeys(texts, object))
        return pd.DataFrame(columns=[*_AXES, "method", "replication", "value"])

    def _read_trees(self, name: str) -> dict[str, pd.Series]:
        """Scores of the non-private tree of an experiment, by data set."""
        rows = self._chosen(name)
        trees = rows[rows["method"] == BASELINE].drop_duplicates(["dataset", "replication"])
        return {dataset: part.set_index("replication")["value"] for dataset, part in trees.groupby("dataset")}


def cell_name(row: Mapping[str, Any]) -> str:
    """What was run for a number, as the column ``cell`` has it and pages' links do."""
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
    """Variant of a selector, or of its bare name the one that changes nothing, and the variants that its method has."""
    known = catalogue.method(bare_name(selector)).variants
    return member(selector).variant or next((v for v, changed in known.items() if not changed), ""), known


def _borrowed(selector: str, variants: tuple[str, ...]) -> bool:
    """Whether a method has a variant of a configuration and was run in another."""
    if not selector:
        return False
    variant, known = _variant(selector)
    return bool(set(variants) & set(known)) and variant not in variants


def _preference(selector: str, variants: tuple[str, ...]) -> tuple:
    """Sort key of the selectors that stand for one published number under a configuration."""
    if not selector:
        return (False,)
    one, variant = member(selector), _variant(selector)[0]
    ordered = variants.index(variant) if variant in variants else len(variants)
    return not one.is_preset, ordered, one.params != {}, variant != "text", selector


def _is_itself(step: Step, row: Mapping[str, Any]) -> bool:
    """Whether an interpretation is what was run for a row."""
    return not step.experiment and step.method == row["selector"]
