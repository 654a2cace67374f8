"""``lpbench report``: reports and pages of stored results, and the verb that replaces the committed report."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import click

from lpbench.cli import options
from lpbench.errors import ConfigurationError, NotRunError
from lpbench.paths import COMMITTED, IN_CHECKOUT, REPRODUCED


@click.command(epilog="Refused? Run the whole paper as registered, from a clean commit, then the same command.")
@options.experiments()
@click.option("--replace", "--overwrite", is_flag=True, help="Replace the committed report, in reproduced/.")
@options.tracking()
@options.tracking_uri()
@options.results(exists=True)
def command(experiments: Sequence[str], replace: bool, tracking: str, tracking_uri: str | None, results: Path) -> int:
    """Rewrite reports and pages from stored results, those of interrupted runs too.

    EXPERIMENT is a name or a pattern such as 'histoftree/*': the reports that show it (default: all). With --replace:
    a paper's committed scores give way to those of a run of all its experiments, as registered, with no fewer
    numbers, from a clean commit; then the committed report is written from the committed scores.
    """
    names = options.matching(experiments) if experiments else []
    from lpbench.cli.reproduce import print_reports
    from lpbench.experiments.results import Results
    from lpbench.pipeline import track_results, write_unfinished
    from lpbench.reporting.publish import report_run

    if replace:
        _replace(results, names)
        return 0
    tracked = tracking == "mlflow" or tracking_uri is not None
    if tracked:
        print(f"{track_results(results, tracking_uri)} runs written to MLflow")
    for line in write_unfinished(results, names):
        print(line)
    stored = Results(results)
    chosen = [a for run in (stored, *stored.runs()) for a in run.finished() if not names or a.name in names]
    folders = list(dict.fromkeys(artifact.results for artifact in chosen))
    if not folders and tracked and any(stored.cells()):
        return 0  # single cells have no report
    if not folders:
        what = f"no result of {', '.join(experiments)}" if experiments else "no finished experiment"
        raise ConfigurationError(
            f"--results {results} has {what}; run one: lpbench reproduce {' '.join(experiments) or 'NAME'}, or write "
            "the report of the committed scores: lpbench report --replace"
        )
    for folder in folders:
        print_reports(report_run(results, names, "" if folder == results else folder.relative_to(results).as_posix()))
    if not any(artifact.was_run for artifact in chosen):
        raise NotRunError("the reports show no result: every block failed, as they say")
    return 0


def _replace(results: Path, names: Sequence[str]) -> None:
    """Replace the committed report, and print which papers' scores were not replaced, and why."""
    from lpbench.cli.reproduce import print_reports
    from lpbench.experiments.committed import SCORES
    from lpbench.reporting.publish import replace_committed

    if not IN_CHECKOUT and not (results / REPRODUCED / SCORES).is_dir():
        shutil.copytree(COMMITTED, results / REPRODUCED, dirs_exist_ok=True)
    report, refused = replace_committed(results, names)
    for paper, reasons in refused.items():
        print(f"refused: the committed scores of {paper} stay ({len(reasons)} reasons):")
        for reason in reasons:
            print(f"  {reason}")
    print_reports([report])
