"""Write fake results the way a run does, without drawing figures."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.claims import Claim
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.results import Results
from lpbench.experiments.summaries import keep_summary
from lpbench.reporting.artifact import summarize_experiment
from lpbench.reporting.claims import Decision, decide
from lpbench.reporting.comparison import compare
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.number_table import write_numbers
from lpbench.reporting.paper import paper_of, papers
from lpbench.reporting.report import in_order, write_claims
from lpbench.reporting.standings import write_standings
from tests.reporting.fake import CARDS, scores_of, typed


def put(
    folder: Path, experiment: Mapping, scores: pd.DataFrame, *, with_scores: bool = True, cards: Mapping = CARDS
) -> None:
    target = folder / experiment["name"]
    summary = summarize_experiment(typed(experiment), scores, cards)
    write_csv(summary.table, target / "summary.csv")
    write_csv(compare(experiment["name"], paper_of(experiment["name"]), summary), target / "comparison.csv")
    if with_scores:
        scores.to_parquet(target / "scores.parquet", index=False)
        keep_summary(summary, target)


def write_tables(
    results: Path, experiments: Sequence[Experiment], folder: Path, cards: Mapping = CARDS, **whole
) -> None:
    """Write verdicts, numbers and standings of a report, of some experiments."""
    write_claims(results, folder)
    write_numbers(papers(), Results(results), folder)
    entries = sorted((ReportEntry(experiment, results) for experiment in experiments), key=in_order)
    write_standings(entries, cards, folder, **whole)


def verdict(folder: Path, claim: str, experiments: Mapping[str, Mapping], mean: Callable, **options) -> Decision:
    """Make results of some experiments by a formula and decide one claim."""
    for experiment in experiments.values():
        put(folder, experiment, scores_of(experiment, mean, **options))
    return decided(claim, Evidence(folder))


def decided(claim: str, results: Evidence) -> Decision:
    paper = next(paper for paper in papers() if claim_of(claim) in paper.claims)
    return decide(paper, [claim_of(claim)], results)[0]


def claim_of(name: str) -> Claim:
    return next(c for paper in papers() for c in paper.claims if c.name == name)
