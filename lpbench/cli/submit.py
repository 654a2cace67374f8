"""``lpbench submit``: pack a method of one's own for ``results/submissions``, and verify it as its reviewers will."""

from collections.abc import Sequence
from pathlib import Path

import click

from lpbench.cli import options
from lpbench.cli.rank import EXPERIMENTS
from lpbench.experiments import catalog


@click.command(epilog="Next: commit the folder and open a pull request (CONTRIBUTING.md).")
@click.argument("method", type=options.NameOf("method"))
@click.option("--author", "authors", multiple=True, required=True, metavar="NAME", help="Repeat for more.")
@click.option("--license", "--licence", "license", required=True, metavar="SPDX", help="Of the module, such as MIT.")
@click.option("--paper", required=True, metavar="TEXT", help="Whose method it is: authors, venue, section.")
@click.option(
    "--experiment", type=options.NameOf("experiment"), metavar="NAME", help="[default: the comparison of its task]"
)
@options.count("--workers", "Processes.  [default: one per core]")
@click.option("--folder", type=options.FOLDER_TYPE, metavar="DIR", help="[default: results/submissions]")
@options.results()
def command(
    method: str,
    authors: Sequence[str],
    license: str,
    paper: str,
    experiment: str | None,
    workers: int | None,
    folder: Path | None,
    results: Path,
) -> int:
    """Run a method of your own on the comparison's blocks, pack it, and check the pack.

    METHOD is a name in lpbench_plugins; nothing of another method is run.
    """
    card = catalog.method(method)
    from lpbench.cli.new_method import shown
    from lpbench.experiments.submissions import SUBMISSIONS_FOLDER
    from lpbench.submission.pack import pack
    from lpbench.submission.verify import verify

    submission = pack(
        method,
        experiment or EXPERIMENTS[card.task][0],
        authors=authors,
        license=license,
        paper=paper,
        scratch=results,
        folder=folder or SUBMISSIONS_FOLDER,
        workers=workers,
    )
    print(f"wrote {shown(submission.folder)}: {len(submission.claimed)} scores claimed")
    check = verify(submission, seconds=3600.0)
    for sentence in [*check["wrong"], *filter(None, [check["unfinished"]])]:
        print(f"  {sentence}")
    print(f"checked as its reviewers will, on {len(check['drawn'])} of {check['blocks']} blocks: {check['badge']}")
    return int(check["badge"] == "refuted")
