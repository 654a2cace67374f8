"""Verify a submission: contract, audit, then random blocks again, with the published seed and with a secret one.

The named files alone are copied. The contract runs in a fresh process under :mod:`lpbench.audit.isolation` and hands
back text. Audit and scores are made here: the method and its devices run in places of their own, without records, test
labels or the users' seed. Blocks are drawn after the claims are fixed; those that an earlier verification of the same
files ran again are drawn last, so that repeated verifications reach all of them.
"""

import math
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

import lpbench
from lpbench.audit.apart import kind_of
from lpbench.audit.foreign import foreign_complaints
from lpbench.audit.keeper import Places
from lpbench.audit.methods import CURATOR_SEED, USERS_SEED
from lpbench.audit.samples import audit_sample
from lpbench.datasets import describe, list_datasets
from lpbench.errors import ConfigurationError, LpbenchError
from lpbench.experiments import catalog
from lpbench.experiments.config import ROOT_SEED
from lpbench.experiments.method import Method
from lpbench.experiments.records import git_commit
from lpbench.experiments.single_method import at_one_setting
from lpbench.experiments.spent import keeps_model
from lpbench.experiments.submissions import CLAIMED_COLUMNS, REQUIREMENTS, SCORE, Submission
from lpbench.members import member
from lpbench.submission.apart import scores_apart, worse_in_secret
from lpbench.submission.contract import CONTRACT
from lpbench.submission.pack import requirements

#: Share of cells, tampered with at random, that the drawn blocks find with probability 0.99.
TAMPERED = 0.05
#: Relative difference between processors that a stated rounding admits: a Gaussian process that searches its scales
#: moved by 9e-8 (docs/reproduction.md), and no rank turns on this.
NUMERIC = 1e-6
#: The scores of no block, of the types that claims have.
_NO_SCORES = pd.DataFrame(columns=CLAIMED_COLUMNS).astype({"epsilon": float, "replication": int, "value": float})


def verify(
    submission: Submission, *, seconds: float, everything: bool = False, seed: int | None = None
) -> dict[str, Any]:
    """Verify a submission within so many seconds; returns the entry of ``verified.json``.

    Without ``everything`` as many blocks are run again as find 5 % of cells tampered with at random with probability
    0.99; they are drawn by ``seed``, by default the operating system's randomness, which is recorded.
    """
    with tempfile.TemporaryDirectory(prefix="lpbench-files-") as folder:
        os.chmod(folder, 0o755)
        return _verify(copied(submission, Path(folder).resolve()), seconds, everything, seed)


def copied(submission: Submission, folder: Path) -> Submission:
    """Copy the files of a submission; it is refused if one is missing, and if there are others, or links."""
    paths = {str(p.relative_to(submission.folder)): p for p in sorted(submission.folder.rglob("*"))}
    for name, path in paths.items():
        if path.is_symlink() or not (name in submission.files or name == "methods"):
            raise ConfigurationError(f"{path} is no file of a submission, which has {', '.join(submission.files)}")
    if missing := [name for name in submission.files[:-1] if name not in paths]:
        raise ConfigurationError(f"{submission.folder} has no {missing[0]}; `lpbench submit` writes all files")
    target = folder / submission.name
    (target / "methods").mkdir(parents=True)
    for name in submission.files:
        if name in paths:
            shutil.copyfile(paths[name], target / name, follow_symlinks=False)
            (target / name).chmod(0o644)
    for directory in (target, target / "methods"):  # read by accounts with fewer rights than ours
        directory.chmod(0o755)
    return Submission(target)


def _verify(submission: Submission, seconds: float, everything: bool, seed: int | None) -> dict[str, Any]:
    """Run drawn blocks again and compare; the badge needs equal scores, isolation and the whole sample."""
    start = time.monotonic()
    seed = secrets.randbits(63) if seed is None else seed
    claims = list(dict.fromkeys(f"{d} {m}" for d, m in submission.claimed[["dataset", "mask"]].itertuples(index=False)))
    reached = [block for block in claims if _at_hand(block.split(" ")[0])]
    cells = submission.claimed["epsilon"].nunique()
    number = len(claims) if everything else least_drawn(len(claims), cells, TAMPERED)
    drawn = draw(reached, submission.rerun, number, seed)
    wrong = _incomplete(submission)
    run = _Run()
    libraries = (submission.folder / REQUIREMENTS).read_text(encoding="utf-8").splitlines() == requirements()
    if not wrong:  # nothing is run for claims that are not whole
        run = _run(submission, drawn, seconds)
        wrong += run.wrong
        wrong += worse_in_secret(submission.claimed, run.in_secret)
        mismatches = differences(submission.claimed, run.scores, NUMERIC if run.rounding else 0.0)
        if libraries:
            wrong += mismatches
        elif mismatches:
            run.unfinished = f"other libraries than those of {REQUIREMENTS}, and other scores; {mismatches[0]}"
    if not (wrong or run.drawn or run.unfinished):
        run.unfinished = "no block was run again: none of the data that it claims scores on are at hand"
    complete = bool(run.isolation) and all(run.isolation.values()) and not run.unfinished
    ran = run.drawn
    return {
        "badge": "refuted" if wrong else "verified" if complete else "unverified",
        "wrong": wrong,
        "unfinished": run.unfinished,
        "drawn": ran,
        "blocks": len(claims),
        "seed": seed,
        "secret": run.secret,
        "detection": {
            "one tampered block": found_in_blocks(len(claims), len(ran)) if reached == claims else 0.0,
            "5 % of cells at random": found_in_cells(len(claims), cells, len(ran), TAMPERED),
        },
        "isolation": {"by": run.by, **run.isolation},
        "same libraries": libraries,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "lpbench": lpbench.__version__,
        "commit": git_commit(),
        "seconds": round(time.monotonic() - start, 1),
        "digest": submission.digest,
        "cost": run.cost,
    }


def draw(blocks: Sequence[str], before: Sequence[str], number: int, seed: int) -> list[str]:
    """Draw ``number`` blocks without replacement; those run again before are drawn only when no others are left."""
    order = [str(b) for b in np.random.default_rng(seed).permutation(sorted(blocks))]
    return sorted(order, key=lambda block: block in before)[:number]


def differences(claimed: pd.DataFrame, again: pd.DataFrame, tolerance: float) -> list[str]:
    """A sentence for each block whose claimed scores are not those of the second run."""
    rerun = claimed.merge(again[["dataset", "mask"]].drop_duplicates(), on=["dataset", "mask"])
    joined = again.merge(rerun, on=SCORE, how="outer", suffixes=("", "_claimed"))
    same = joined["metric"] == joined["metric_claimed"]
    same &= (joined["value"] - joined["value_claimed"]).abs() <= tolerance * joined["value"].abs()
    sentences = []
    for (dataset, mask), rows in joined[~same].groupby(["dataset", "mask"]):
        first = rows.iloc[0]
        before, now = float(first["value_claimed"]), float(first["value"])
        sentences.append(
            f"block {dataset} {mask}: {len(rows)} scores are other ones, the first at epsilon = {first['epsilon']:g}, "
            f"replication {first['replication']}: claimed {before}, run again {now}"
        )
    return sentences


def _at_hand(dataset: str) -> bool:
    parsed = member(dataset)
    return parsed.name in list_datasets() and describe(parsed.name, dict(parsed.params)).available


def _incomplete(submission: Submission) -> list[str]:
    """List with one sentence about claimed scores that the experiment has not, and missing ones of claimed blocks.

    Empty where there are none.
    """
    experiment = catalog.experiment(str(submission.about["experiment"]))
    wanted = {
        (d, m, float(e), r)
        for group in experiment.groups
        if not group.panel
        for d in group.dataset
        for m in group.mask
        for e in group.epsilon
        for r in range(experiment.replications)
    }
    have = set(submission.claimed[SCORE].itertuples(index=False, name=None))
    started = {score[:2] for score in have}
    many, few = len(have - wanted), sum(score[:2] in started for score in wanted - have)
    return [f"claimed.csv has {many} scores too many and lacks {few} of the blocks it claims"] if many or few else []


@dataclass
class _Run:
    """Findings of a verification: sentences about what is wrong, scores under both seeds, cost, isolation."""

    by: str = "none"
    isolation: dict[str, bool] = field(default_factory=dict)  # what it holds, tried from inside
    wrong: list[str] = field(default_factory=list)  # what the checks found
    drawn: list[str] = field(default_factory=list)  # blocks that were run again
    scores: pd.DataFrame = field(default_factory=_NO_SCORES.copy)  # of these blocks
    in_secret: pd.DataFrame = field(default_factory=_NO_SCORES.copy)  # with the secret seed
    secret: int = field(default_factory=lambda: secrets.randbits(63))
    rounding: str = ""  # see LocalEstimator
    cost: dict[str, Any] = field(default_factory=dict)  # ``seconds`` of one fit, and ``bits`` by budget
    unfinished: str = ""  # why it ended early, if it did


def _run(submission: Submission, drawn: Sequence[str], seconds: float) -> _Run:
    """Check the contract of a submission, then audit and score its method, all in isolated processes.

    ``drawn`` are the blocks ("data set mask") to score, within ``seconds``; the result has what was found.
    """
    end = time.monotonic() + seconds
    run = _Run()
    with Places(seconds=seconds, path=[submission.folder]) as places:
        run.by, run.isolation = places.by, places.held
        _contract(run, places, submission)
        if places.by == "none":
            run.unfinished = run.unfinished or f"isolation: {places.words}"
        method, stated = at_one_setting(submission.method), submission.about["guarantee"]
        method = replace(method, privacy=stated["model"])
        complaints = dict.fromkeys(foreign_complaints(places, method.estimator, method.params, method.privacy))
        run.wrong += [f"audit: {complaint}" for complaint in complaints]
        if submission.method.privacy not in ("", stated["model"]):
            run.wrong.append(f"submission.yaml states {stated['model']}, and its method {submission.method.privacy}")
        if run.wrong:
            return run
        try:
            run.wrong += _misstated(places, method, stated, sorted(submission.claimed["epsilon"].unique()))
            _score(run, submission, places, method, drawn, end)
        except LpbenchError as error:
            run.wrong.append(f"block {(*drawn[len(run.drawn) :], 'none')[0]}: {error}")
        if places.seconds_of_fits:
            run.cost["seconds"] = float(f"{median(places.seconds_of_fits):.5g}")
    return run


def _misstated(places: Places, method: Method, stated: dict[str, Any], budgets: Sequence[float]) -> Iterator[str]:
    """Yield sentences where submission.yaml misstates the guarantee, or where a budget changes nothing.

    ``stated`` is the file's guarantee, ``budgets`` the claimed ones in increasing order.
    """
    kind = kind_of(places, method.estimator)
    sample, spent = audit_sample(kind(**method.params)), {}
    for budget in (stated["asked"], budgets[0], budgets[-1]) if kind.uses_epsilon else ():
        params = {**method.params, "epsilon": budget, **sample.stated(kind().get_params())}
        spent[budget] = kind(**params, random_state=CURATOR_SEED).learn_from(sample.users(USERS_SEED)).guarantee_
    if spent and not keeps_model(stated["model"], model := spent[stated["asked"]].model, kind.protects):
        yield f"submission.yaml states {stated['model']}, and the reports say {model}"
    if spent and spent[stated["asked"]].epsilon > stated["epsilon"] * (1.0 + 1e-9):
        most = spent[stated["asked"]].epsilon
        yield f"submission.yaml states epsilon = {stated['epsilon']:g}, and users spend {most:g}"
    if spent and len(budgets) > 1 and spent[budgets[0]].epsilon >= spent[budgets[-1]].epsilon:
        yield f"users spend {spent[budgets[-1]].epsilon:g} whether epsilon is {budgets[0]:g} or {budgets[-1]:g}"


def _score(run: _Run, submission: Submission, places: Places, model: Method, drawn: Sequence[str], end: float) -> None:
    """Score the drawn blocks with the published and the secret seed, until the time ``end``; results go to ``run``."""
    experiment = catalog.experiment(str(submission.about["experiment"]))
    claimed = submission.claimed
    for block in drawn:
        if time.monotonic() > end:
            run.unfinished = run.unfinished or "over the limit of time"
            return
        budgets = sorted(claimed.loc[claimed["dataset"] + " " + claimed["mask"] == block, "epsilon"].unique())
        again = scores_apart(places, model, experiment, block, budgets, ROOT_SEED)
        hidden = scores_apart(places, model, experiment, block, budgets, ROOT_SEED, run.secret)
        run.scores = pd.concat([run.scores, again]) if len(run.scores) else again
        run.in_secret = pd.concat([run.in_secret, hidden]) if len(run.in_secret) else hidden
        run.drawn.append(block)


def _contract(run: _Run, places: Places, submission: Submission) -> None:
    """Run the contract in an isolated process, and enter its findings into ``run``.

    The submitted code may print anything there.
    """
    words = {"name": submission.name, "experiment": str(submission.about["experiment"]), "folder": places.there[0]}
    request = {"function": "lpbench.submission.contract.findings", "words": words}
    try:
        _read(run, places.call("run", None, True, **request)["found"])
    except (LpbenchError, ValueError, KeyError, TypeError, AttributeError) as error:
        run.unfinished = f"the contract left no findings ({type(error).__name__}: {error})"


def _read(run: _Run, lines: Sequence[dict[str, Any]]) -> None:
    """Enter the findings of the contract, one line per step, into ``run``; it is unfinished if a step is missing."""
    run.wrong = [f"{line['step']}: {line['wrong']}" for line in lines if line["wrong"]]
    run.rounding = next((str(line["rounding"]) for line in lines if line["step"] == "rounding"), "")
    run.cost = next((_numbers(line["cost"]) for line in lines if line["step"] == "cost"), {})
    steps = {line["step"] for line in lines}
    if not steps >= {"cost", *(f"contract, {c}" for c in CONTRACT)}:
        run.unfinished = "a step is missing from the contract"


def _numbers(cost: dict[str, Any]) -> dict[str, Any]:
    """Convert the cost that the isolated process reports to plain numbers, whatever the submitted code wrote there."""
    bits = {f"{float(epsilon):g}": float(value) for epsilon, value in cost["bits"].items()}
    return {"bits": bits}


def found_in_blocks(blocks: int, drawn: int, tampered: int = 1) -> float:
    """Probability that the drawn blocks include a tampered one, if ``tampered`` blocks are tampered with."""
    return 1.0 - math.comb(blocks - tampered, drawn) / math.comb(blocks, drawn)


def found_in_cells(blocks: int, cells: int, drawn: int, share: float) -> float:
    """Probability to draw one of the cells tampered with at random, in blocks of ``cells`` (budgets) each."""
    total, tampered = blocks * cells, math.ceil(share * blocks * cells - 1e-9)
    return 1.0 - math.comb(total - drawn * cells, tampered) / math.comb(total, tampered)


def least_drawn(blocks: int, cells: int, share: float = 0.05, wanted: float = 0.99) -> int:
    """Fewest blocks to draw so that :func:`found_in_cells` is at least ``wanted``."""
    return next(k for k in range(blocks + 1) if found_in_cells(blocks, cells, k, share) >= wanted)
