"""The reader of ``results/submissions``: methods of others, the scores that they claim, and what verification found.

A submission is a folder ``<name>`` with the module ``<name>.py``, ``methods/<name>.yaml``, ``requirements.txt``,
``submission.yaml``, ``claimed.csv`` (every score, to the last bit) and, once it was verified, ``verified.json``.
Nothing here runs its code.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from lpbench.disk import write_text
from lpbench.errors import ConfigurationError
from lpbench.experiments.catalog import read_yaml
from lpbench.experiments.method import Method
from lpbench.paths import ROOT

SUBMISSIONS_FOLDER = ROOT / "results" / "submissions"
#: Files that the verifier writes; all others are the submitter's.
VERIFIED = "verified.json"
CLAIMED, ABOUT, REQUIREMENTS = "claimed.csv", "submission.yaml", "requirements.txt"
#: What ``submission.yaml`` says.
ABOUT_KEYS = ("name", "authors", "license", "paper", "experiment", "guarantee", "lpbench", "seed")
#: What names a score, and the columns of ``claimed.csv``.
SCORE = ["dataset", "mask", "epsilon", "replication"]
CLAIMED_COLUMNS = [*SCORE, "metric", "value"]
#: The badge of checks of before, which had no secret seed.
REPEATS = "scores repeat"
#: Badges of which blocks count as run again.
MET = ("verified", REPEATS)


@dataclass(frozen=True)
class Submission:
    """Method that somebody else submitted: a folder with module, YAML, claimed scores and verifications.

    What is in the folder is read, and nothing of it is run, by this class.
    """

    folder: Path

    @property
    def name(self) -> str:
        """Return the folder's name, which is the method's."""
        return self.folder.name

    @property
    def files(self) -> tuple[str, ...]:
        """All that a submission may have; the verifier's is the last."""
        return f"{self.name}.py", f"methods/{self.name}.yaml", ABOUT, REQUIREMENTS, CLAIMED, VERIFIED

    @cached_property
    def about(self) -> dict[str, Any]:
        """Content of ``submission.yaml``: authors, license, paper, experiment, guarantee, version, seed."""
        former = {"licence": "license"}  # codespell:ignore licence
        content = {former.get(key, key): value for key, value in _plain(self.folder / ABOUT).items()}
        if missing := [key for key in ABOUT_KEYS if key not in content]:
            raise ConfigurationError(f"{self.folder / ABOUT}: key {missing[0]!r} is missing")
        if content["name"] != self.name:
            raise ConfigurationError(f"{self.folder / ABOUT}: name {content['name']!r} must be the folder's")
        return content

    @cached_property
    def method(self) -> Method:
        """The method as its YAML describes it; its estimator is not imported."""
        path = self.folder / "methods" / f"{self.name}.yaml"
        content = _plain(path)
        if unknown := set(content) - {f.name for f in fields(Method)}:
            raise ConfigurationError(f"{path}: unknown key {min(unknown)!r}")
        if content.get("name") != self.name or not str(content.get("estimator", "")).startswith(f"{self.name}."):
            raise ConfigurationError(f"{path}: name must be {self.name}, estimator a class of {self.name}.py")
        return Method(**content)

    @cached_property
    def claimed(self) -> pd.DataFrame:
        """Scores that the submitter claims: columns :data:`CLAIMED_COLUMNS`, one row per score."""
        path = self.folder / CLAIMED
        try:
            scores = pd.read_csv(path, dtype={"value": str}).astype({"epsilon": float, "value": float})
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
        if list(scores.columns) != CLAIMED_COLUMNS or scores.isna().any(axis=None) or scores.duplicated(SCORE).any():
            raise ConfigurationError(f"{path} must have the columns {', '.join(CLAIMED_COLUMNS)}, and each score once")
        if scores.empty:
            raise ConfigurationError(f"{path} has a head and no score: the submission claims nothing")
        return scores

    @cached_property
    def digest(self) -> str:
        """Hash of all files of the submitter; a check is of these files and no others."""
        files = sorted(p for p in self.folder.rglob("*") if p.is_file() and p != self.folder / VERIFIED)
        lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(self.folder)}\n" for p in files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @property
    def checks(self) -> list[dict[str, Any]]:
        """Return the verifications of the submission's present files, the last one at the end.

        A check of older files has another digest and does not count; one without a secret seed shows repetition alone.
        """
        path = self.folder / VERIFIED
        if not path.is_file():
            return []
        content = json.loads(path.read_text(encoding="utf-8"))
        current = [check for check in content["checks"] if check["digest"] == self.digest]
        before = [check["badge"] == "verified" and "secret" not in check for check in current]
        return [{**check, "badge": REPEATS} if old else check for check, old in zip(current, before, strict=True)]

    def add(self, check: Mapping[str, Any]) -> None:
        """Append a check to ``verified.json``; those of other files than these are dropped."""
        text = json.dumps({"checks": [*self.checks, dict(check)]}, indent=1, sort_keys=True)
        write_text(text + "\n", self.folder / VERIFIED)

    @property
    def rerun(self) -> list[str]:
        """Blocks that were run again and gave the claimed scores, each once."""
        return list(dict.fromkeys(b for check in self.checks if check["badge"] in MET for b in check["drawn"]))

    @property
    def badge(self) -> str:
        """verified, scores repeat, unverified, refuted, or stated (nobody else has run it), by the last check."""
        return self.checks[-1]["badge"] if self.checks else "stated"

    @property
    def cost(self) -> tuple[float, dict[float, float]]:
        """Seconds of one fit, and bits of a user's reports by budget, from the last check that ran the code."""
        cost: dict[str, Any] = next((c["cost"] for c in reversed(self.checks) if c.get("cost")), {"bits": {}})
        return cost.get("seconds", math.nan), {float(e): bits for e, bits in cost["bits"].items()}

    @property
    def words(self) -> str:
        """Badge of the last verification, with the blocks run again, its date and version, for tables."""
        if not self.checks:
            return "stated"
        last = self.checks[-1]
        done = f": {len(self.rerun)} of {last['blocks']} blocks" if self.badge in MET else ""
        return f"{self.badge}{done}, {last['when'][:10]}, lpbench {last['lpbench']} ({last['commit']})"


def _plain(path: Path) -> dict[str, Any]:
    """Read a YAML file and refuse aliases, by which a few lines could fill any memory."""
    aliases = False
    with suppress(yaml.YAMLError, OSError, ValueError):  # said when it is read
        aliases = any(isinstance(token, yaml.AliasToken) for token in yaml.scan(path.read_text(encoding="utf-8")))
    if aliases:
        raise ConfigurationError(f"{path} has an alias (*name); write each value where it stands")
    return read_yaml(path)


def submissions() -> list[Submission]:
    """Return all submissions in ``results/submissions``, by name."""
    return [Submission(path.parent) for path in sorted(SUBMISSIONS_FOLDER.glob(f"*/{ABOUT}"))]
