"""``lpbench report``: report and pages from stored results."""

import gc
import shutil
from collections.abc import Sequence
from pathlib import Path

import click

from lpbench.cli import options
from lpbench.errors import ConfigurationError, NotRunError
from lpbench.experiments import catalogue
from lpbench.paths import COMMITTED, IN_CHECKOUT, REPRODUCED


@click.command()
@options.experiments()
@options.tracking()
@options.tracking_uri()
@options.overwrite()
@options.results(exists=True)
def command(experiments: Sequence[str], tracking: str, tracking_uri: str | None, overwrite: bool, results: Path) -> int:
    """Rewrite reports and pages from stored results, those of interrupted runs too.

    EXPERIMENT is a name or a pattern such as 'histoftree/*': the reports that show it (default: all).
    """
    names = options.matching(experiments) if experiments else []
    from lpbench.cli.reproduce import print_reports
    from lpbench.experiments.committed import SCORES
    from lpbench.experiments.results import Results
    from lpbench.pipeline import track_results, write_unfinished
    from lpbench.reporting.publish import publish

    tracked = tracking == "mlflow" or tracking_uri is not None
    if tracked:
        print(f"{track_results(results, tracking_uri)} runs written to MLflow")
    for line in write_unfinished(results, names):
        print(line)
    gc.disable()  # tables of cells are no cycles; to search them for some takes an eighth of the time
    click.get_current_context().call_on_close(gc.enable)
    found = Results(results)
    shown = [a for run in (found, *found.runs()) for a in run.finished() if not names or a.name in names]
    folders = list(dict.fromkeys(artefact.results for artefact in shown))
    if not IN_CHECKOUT and not (results / REPRODUCED / SCORES).is_dir():
        shutil.copytree(COMMITTED, results / REPRODUCED, dirs_exist_ok=True)
    own = set(catalogue.own_names("experiment"))
    if (results / REPRODUCED / SCORES).is_dir() and results not in folders and not (names and set(names) <= own):
        wanted = names or catalogue.experiment_names()
        stored = [a for a in map(Results(results / REPRODUCED).artefact, wanted) if a.is_finished or a.was_run]
        folders = [results] * bool(stored) + folders  # all of it is made from committed scores
        shown += stored
    if not folders and tracked and any(found.cells()):
        return 0  # single cells have no report
    if not folders:
        what = f"no result of {', '.join(experiments)}" if experiments else "no finished experiment"
        raise ConfigurationError(
            f"--results {results} has {what}; run one: lpbench reproduce {' '.join(experiments) or 'NAME'}"
        )
    for folder in folders:
        within = "" if folder == results else folder.relative_to(results).as_posix()
        print_reports(publish(results, names, within, overwrite=overwrite and not within))
    if not any(artefact.was_run for artefact in shown):
        raise NotRunError("the reports show no result: every block failed, as they say")
    return 0
