"""``lpbench verify``: the levels of reproduction (see :mod:`lpbench.cli.verify_levels`)."""

from collections.abc import Sequence
from pathlib import Path

import click

from lpbench.cli import options
from lpbench.errors import ConfigurationError, NotRunError
from lpbench.experiments import catalog
from lpbench.experiments.config import ROOT_SEED as SEED
from lpbench.experiments.config import Runner
from lpbench.paths import COMMITTED, results_folder

LEVELS = ("bitwise", "numeric", "statistical", "submission")


@click.command(
    epilog="bitwise: same seed, every digit. numeric: but for the last written digit. "
    "statistical: other seed, every cell within its interval. "
    "submission: a random part of its scores, isolated. "
    "See docs/reproduction.md.",
)
@click.argument("level", type=click.Choice(LEVELS), metavar="LEVEL")
@options.experiments()
@click.option("--all", "everything", is_flag=True, help="All blocks, not a sample of each method and experiment.")
@options.count("--replications", "statistical: not the paper's number.")
@options.seed(f"Not of bitwise, numeric.  [default: {SEED + 1}]", default=None)
@options.count("--workers", "Processes.  [default: one per core]")
@click.option(
    "--against",
    type=options.FOLDER_TYPE,
    default=COMMITTED,
    metavar="DIR",
    help="Published results.  [default: those of the checkout]",
)
@options.count("--minutes", "submission: limit of each.", 60)
@click.option(
    "--results", type=options.FOLDER_TYPE, metavar="DIR", help="New results.  [default: results/verify/LEVEL]"
)
def command(
    level: str,
    experiments: Sequence[str],
    everything: bool,
    replications: int | None,
    seed: int | None,
    workers: int | None,
    against: Path,
    minutes: int,
    results: Path | None,
) -> int:
    """Run again and compare with published results, or with what a submission claims.

    EXPERIMENT is a name or a pattern (default: all whose data are at hand); of level submission, a folder.
    """
    if level == "submission":
        return _submissions(experiments, minutes, everything, seed, (replications, workers, results))
    same_seed = level in ("bitwise", "numeric")
    if same_seed and not (seed in (None, SEED) and replications is None):
        raise ConfigurationError(
            f"{level} compares with seed {SEED} and the published replications: leave --seed and --replications out"
        )
    if level == "statistical" and seed == SEED:
        raise ConfigurationError(f"seed {SEED} is the published one: `lpbench verify bitwise` compares with it")
    from lpbench.cli import verify_levels as levels
    from lpbench.experiments.results import Artifact

    chosen = options.matching(experiments)
    if not experiments:
        heads = catalog.heads("experiment", ("kind",))
        tables = [name for name in chosen if heads[name]["kind"] in ("table", "figure")]
        chosen = [name for name in tables if Artifact(against / name, name).was_run]
        if not chosen:
            raise NotRunError(f"--against {against} has no table or figure: nothing to compare with")
    results = results or (results_folder() / "verify" / level).resolve()
    jobs = [levels.job_like(Artifact(against / name, name), same_seed, replications, seed) for name in chosen]
    return int(levels.verify(level, jobs, results, Runner(workers=workers), against, everything) > 0)


def _submissions(
    folders: Sequence[str], minutes: int, everything: bool, seed: int | None, others: Sequence[object]
) -> int:
    """Verify folders of ``results/submissions``, add the findings to their ``verified.json``, return the exit code.

    It is 0, 1 if a submission does not meet its claims, 2 if nothing was checked.
    """
    if not folders or any(others):
        raise ConfigurationError("write lpbench verify submission PATH [--minutes N] [--seed N] [--all]")
    from lpbench.experiments.submissions import MET, Submission
    from lpbench.submission.verify import verify

    badges, nothing = [], True
    for folder in folders:
        submission = Submission(Path(folder).resolve())
        check = verify(submission, seconds=60.0 * minutes, everything=everything, seed=seed)
        submission.add(check)
        badges.append(check["badge"])
        nothing &= not check["drawn"] and not check["wrong"]
        detection = ", ".join(f"{what} {p:.3g}" for what, p in check["detection"].items())
        print(f"{submission.name}: {submission.words}; {check['seconds']:.0f} s")
        print(f"  run again: {', '.join(check['drawn']) or 'nothing'} (drawn with seed {check['seed']})")
        print(f"  probability to find tampering: {detection}")
        held = [what for what, had in check["isolation"].items() if had is True]
        print(f"  isolation by {check['isolation']['by']}: {', '.join(held) or 'none'}")
        for sentence in [*check["wrong"], *filter(None, [check["unfinished"]])]:
            print(f"  {sentence}")
    return 2 if nothing else int(any(badge not in MET for badge in badges))
