"""Released code of published private methods that departs from its guarantee: registry, re-implementations, page.

Facts about public files at the commits named. Every entry has a re-implementation of its own that the audit catches:
``python -m scripts.audits.released NAME``; without a name ``docs/questions/released_code.md`` is written.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lpbench.audit import Channel, Randomizer, exact_loss
from lpbench.audit.black_box import lower_bound
from lpbench.audit.known_bad import KNOWN_BAD
from lpbench.audit.learner import leak_test
from lpbench.audit.randomizers import message
from lpbench.errors import ConfigurationError
from lpbench.seeds import Streams

PAGE = Path(__file__).parents[2] / "docs" / "questions" / "released_code.md"
#: Reports of each of two values, and the probability that a bound exceeds the loss. Short gradients need the most.
SAMPLES, FAILURE = 100_000, 1e-6


@dataclass(frozen=True)
class Release:
    """One finding.

    Attributes
    ----------
    name : str
        What ``python -m scripts.audits.released`` takes.
    paper, repository, commit, place : str
        ``commit`` may be a version of a package.
    checked : {"read", "run"}
        Whether the released code itself was run, or its source was read.
    fact : str
    leak : str
        Its re-implementation: a name in :data:`lpbench.audit.known_bad.KNOWN_BAD`, :data:`RANDOMIZERS` or
        :data:`LEARNERS`.
    status : {"not reported by us", "reported", "mended"}
    date : str
        When it was checked, or, for ``mended``, when it was.
    """

    name: str
    paper: str
    repository: str
    commit: str
    place: str
    checked: Literal["read", "run"]
    fact: str
    leak: str
    status: Literal["not reported by us", "reported", "mended"]
    date: str


_LPCT, _LPCT_CODE = "LPCT (JMLR 2024)", "github.com/Karlmyh/LPCT"
_PURE, _CHECKED = "github.com/Samuel-Maddock/pure-LDP", "2026-11-22"

RELEASES = (
    Release(
        "lpct-partition", _LPCT, _LPCT_CODE, "cab5bc8", "LDPCP/tree.py:333-335", "read",
        "the partition is grown on the private sample; the first upload (7f81694) grows it on public rows",
        "tree_on_raw_labels", "not reported by us", _CHECKED,
    ),
    Release(
        "lpct-psgd-tensors", _LPCT, _LPCT_CODE, "7f81694, cab5bc8", "comparison/PSGD/optimizer.py:42-49", "read",
        "private SGD, a compared method, spends epsilon once for each parameter tensor",
        "sgd_per_tensor_network", "not reported by us", _CHECKED,
    ),
    Release(
        "lpct-psgd-length", _LPCT, _LPCT_CODE, "7f81694, cab5bc8", "comparison/PSGD/privatizer.py:20", "read",
        "gradients shorter than 1 enter PrivUnitG, whose proof needs unit vectors",
        "short_gradients", "not reported by us", _CHECKED,
    ),
    Release(
        "lpct-pglm-noise", _LPCT, _LPCT_CODE, "7f81694, cab5bc8", "comparison/PGLM/_PGLM.py:66", "read",
        "the variance of the summed noise of PGLM, a compared method, grows with the square root of the sample size",
        "pglm_root_n", "not reported by us", _CHECKED,
    ),
    Release(
        "lpct-phist-seed", _LPCT, _LPCT_CODE, "7f81694, cab5bc8", "comparison/PHIST/histogram.py:82, 91-92", "read",
        "fit of PHIST, a compared method, sets seed 1: anyone who knows the seed can compute the noise",
        "shared_noise", "not reported by us", _CHECKED,
    ),
    Release(
        "rpwithprior-prior", "RPWithPrior (TMLR 2026)", "github.com/liuhaixias1/Response_privacy", "bd54f2e",
        "Crime_projection.ipynb, Housing_projection.ipynb, criteo_search_projection.ipynb: target_sets", "read",
        "the prior's sample consists of the true labels of all batches and the noisy labels of the last batch: the "
        "code calls `torch.cat((y_sets, target), 0)` and should add the noisy `target_sets`",
        "PriorOfTrueLabels", "not reported by us", _CHECKED,
    ),
    Release(
        "pure-ldp-unary", "unary encoding (USENIX Security 2017)", _PURE, "before 1.2.0 (fc622e3)",
        "UEClient._perturb; issue 11", "read",
        "the bit of the value is set with probability p after it was flipped like the others",
        "unary_keeps_other_bit", "mended", "2023-09-07",
    ),
    Release(
        "pure-ldp-rappor", "RAPPOR (CCS 2014)", _PURE, "1.2.0", "RAPPORClient._perturb", "run",
        "bits are set and never cleared, so that the bits of the value are 1 in every report",
        "rappor_never_clears", "not reported by us", _CHECKED,
    ),
    Release(
        "multi-freq-ldpy-ss", "subset selection (2016, 2018)", "github.com/hharcolezi/multi-freq-ldpy", "0.2.5",
        "SS_Client", "run",
        "the subset is an array whose first entry is the value whenever the subset contains it, so that no later entry "
        "is the value; the guarantee is proven for the unordered set, and holds if the array is sorted before sending",
        "subset_in_order", "not reported by us", _CHECKED,
    ),
)  # fmt: skip


def unary_keeps_other_bit(epsilon: float) -> Randomizer:
    """Symmetric unary encoding that flips every bit and then sets the value's own with probability p on top.

    P(bit = 1) is p + (1 - p) q for the value's bit in the place of p; the two bits that differ are the report.
    """
    p = 1.0 / (1.0 + math.exp(-epsilon / 2.0))
    return _two_bits(epsilon, own=p + (1.0 - p) * (1.0 - p), other=1.0 - p)


def rappor_never_clears(epsilon: float) -> Randomizer:
    """RAPPOR with one hash function whose bits are set with probability f / 2 and never cleared."""
    f = 2.0 / (1.0 + math.exp(epsilon / 2.0))
    return _two_bits(epsilon, own=1.0, other=f / 2.0)


def subset_in_order(epsilon: float, k: int = 8) -> Randomizer:
    """Subset selection sent as an array whose first entry is the value whenever the subset holds it.

    The first two entries are the report: with the subset's inclusion probability the value and another category, else
    two others. A category in second place is not the value.
    """
    size = max(2, round(k / (math.exp(epsilon) + 1.0)))
    p = size * math.exp(epsilon) / (size * math.exp(epsilon) + k - size)
    value, first, second = np.ogrid[:k, :k, :k]
    others = (first != value) & (second != value)
    table = np.where(first == value, p / (k - 1), others * (1.0 - p) / ((k - 1) * (k - 2))) * (first != second)
    return _channel(epsilon, table.reshape(k, -1))


def _two_bits(epsilon: float, own: float, other: float) -> Randomizer:
    first, second = np.array([1.0 - own, own]), np.array([1.0 - other, other])
    return _channel(epsilon, np.stack([np.kron(first, second), np.kron(second, first)]))


def _channel(epsilon: float, table: np.ndarray) -> Randomizer:
    return Randomizer("ldp", epsilon, [message(Channel(table), np.arange(len(table)), "report")], len(table))


def noisy_labels(y: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """Laplace reports of labels, ndarray of shape (n,)."""
    return y + rng.laplace(scale=scale, size=np.shape(y))


class PriorOfTrueLabels:
    """Predicts a constant within an interval whose "private" prior holds the true labels beside the last batch's noise.

    Parameters
    ----------
    epsilon : float
        A third of it is meant for the prior.
    """

    def __init__(self, epsilon: float = 1.0, random_state: int = 0) -> None:
        self.epsilon = epsilon
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> PriorOfTrueLabels:
        """Fit; ``reports`` of the prior enter, and so do the labels."""
        rng = np.random.default_rng(self.random_state)
        batches = np.array_split(np.asarray(y, dtype=np.float64), 4)
        reports = [noisy_labels(batch, 3.0 / self.epsilon, rng) for batch in batches]
        prior = np.clip(np.concatenate([*batches, reports[-1]]), 0.0, 1.0)
        self.value_ = float(prior.mean())
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the middle of the interval, shape (n,)."""
        return np.full(len(X), self.value_)


class PriorOfReports(PriorOfTrueLabels):
    """The valid counterpart: the prior is that of the reports."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> PriorOfReports:
        """Fit on reports alone."""
        rng = np.random.default_rng(self.random_state)
        batches = np.array_split(np.asarray(y, dtype=np.float64), 4)
        reports = [noisy_labels(batch, 3.0 / self.epsilon, rng) for batch in batches]
        self.value_ = float(np.clip(np.concatenate(reports), 0.0, 1.0).mean())
        return self


#: Name -> function of epsilon.
RANDOMIZERS: dict[str, Callable[[float], Randomizer]] = {
    f.__name__: f for f in (unary_keeps_other_bit, rappor_never_clears, subset_in_order)
}
#: Name -> (class, where it makes its reports).
LEARNERS: dict[str, tuple[Callable[..., Any], str]] = {
    "PriorOfTrueLabels": (PriorOfTrueLabels, "scripts.audits.released:noisy_labels"),
}


def show_leak(name: str, epsilon: float = 1.0, seed: int = 0, samples: int = SAMPLES) -> tuple[bool, str]:
    """Audit the re-implementation of an entry: whether the guarantee is refuted, and the evidence."""
    entry = next((entry for entry in RELEASES if entry.name == name), None)
    if entry is None:
        raise ConfigurationError(f"released={name!r} must be one of {', '.join(e.name for e in RELEASES)}")
    if entry.leak in LEARNERS:
        kind, reports = LEARNERS[entry.leak]
        leak = leak_test(lambda e, s: kind(epsilon=e, random_state=s), epsilon, [reports], seed=seed)
        return leak is not None, f"leak test: {leak or 'no difference found'}"
    make = KNOWN_BAD[entry.leak][1] if entry.leak in KNOWN_BAD else RANDOMIZERS[entry.leak]
    randomizer = make(epsilon)
    bound = lower_bound(randomizer, samples, Streams(seed), FAILURE).bound
    text = (
        f"claims epsilon {epsilon:g}, loses {exact_loss(randomizer).epsilon:.4g} exactly and at least {bound:.4g} by "
        f"{samples} reports of each value (confidence {100 * (1 - FAILURE):.6g} %)"
    )
    return bound > epsilon, text


def page() -> str:
    """Return the page of the registry in Markdown."""
    lines = [
        "# Errors in released code",
        "",
        "Each error listed here is in the released code of a private method, and breaks the method's guarantee.",
        "*read*: we read the source at the commit; *run*: we also audited the code itself. *not reported by us*:",
        "a [text for the authors](issues.md) is ready but not sent; *mended*: a later version is correct.",
        "`python -m scripts.audits.released NAME` audits our own minimal re-implementation of one error, and ends",
        "with exit code 1, because the guarantee does not hold.",
        "",
        "| name, method | code | finding | re-implementation | status |",
        "|---|---|---|---|---|",
    ]
    for entry in RELEASES:
        cells = (
            f"`{entry.name}`: {entry.paper}",
            f"<https://{entry.repository}>, {entry.commit}: {entry.place}",
            f"{entry.checked}: {entry.fact}",
            f"`{entry.leak}`",
            f"{entry.status}, {entry.date}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str]) -> int:
    """Audit what is named, or write the page; returns the exit code."""
    if not arguments:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    leaks, evidence = show_leak(arguments[0])
    print(f"{arguments[0]}: {'VIOLATED' if leaks else 'no violation found'}; {evidence}")
    return int(leaks)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ConfigurationError as error:
        sys.exit(str(error))
