"""Registry of released code of published private methods that departs from its guarantee, and its page.

Facts about public files at the commits named. Every entry has a re-implementation of its own that the audit catches:
``lpbench audit --released NAME``. ``python -m lpbench.papers.released`` writes ``docs/released_code.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lpbench.audit import released_leaks
from lpbench.audit.empirical import lower_bound
from lpbench.audit.known_bad import KNOWN_BAD
from lpbench.audit.learner import leak_test
from lpbench.audit.randomizers import exact_loss
from lpbench.errors import ConfigurationError
from lpbench.seeds import Streams

PAGE = "docs/released_code.md"
#: Reports of each of two values, and the probability that a bound exceeds the loss. Short gradients need the most.
SAMPLES, FAILURE = 100_000, 1e-6


@dataclass(frozen=True)
class Release:
    """One finding.

    Attributes
    ----------
    name : str
        What ``lpbench audit --released`` takes.
    paper, repository, commit, place : str
        ``commit`` may be a version of a package.
    checked : {"read", "run"}
        Whether the released code itself was run, or its source was read.
    fact : str
    leak : str
        Its re-implementation: a name in :data:`lpbench.audit.known_bad.KNOWN_BAD` or
        :mod:`lpbench.audit.released_leaks`.
    status : {"unreported", "reported", "mended"}
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
    status: Literal["unreported", "reported", "mended"]
    date: str


_LPCT, _LPCT_CODE = "LPCT (JMLR 2024)", "github.com/Karlmyh/LPCT"
_PURE, _CHECKED = "github.com/Samuel-Maddock/pure-LDP", "2026-11-22"

RELEASES = (
    Release(
        "lpct-partition", _LPCT, _LPCT_CODE, "cab5bc8", "LDPCP/tree.py:333-335", "read",
        "the partition is grown on the private sample; the first upload (7f81694) grows it on public rows",
        "tree_on_raw_labels", "unreported", _CHECKED,
    ),
    Release(
        "lpct-psgd-tensors", _LPCT, _LPCT_CODE, "7f81694, cab5bc8", "comparison/PSGD/optimizer.py:42-49", "read",
        "private SGD, a compared method, spends epsilon once for each parameter tensor",
        "sgd_per_tensor_network", "unreported", _CHECKED,
    ),
    Release(
        "lpct-psgd-length", _LPCT, _LPCT_CODE, "7f81694, cab5bc8", "comparison/PSGD/privatizer.py:20", "read",
        "gradients shorter than 1 enter PrivUnitG, whose proof needs unit vectors",
        "short_gradients", "unreported", _CHECKED,
    ),
    Release(
        "lpct-pglm-noise", _LPCT, _LPCT_CODE, "7f81694, cab5bc8", "comparison/PGLM/_PGLM.py:66", "read",
        "the variance of the summed noise of PGLM, a compared method, grows with the square root of the sample size",
        "pglm_root_n", "unreported", _CHECKED,
    ),
    Release(
        "lpct-phist-seed", _LPCT, _LPCT_CODE, "7f81694, cab5bc8", "comparison/PHIST/histogram.py:82, 91-92", "read",
        "fit of PHIST, a compared method, sets seed 1: whoever knows the seed knows the noise",
        "shared_noise", "unreported", _CHECKED,
    ),
    Release(
        "rpwithprior-prior", "RPWithPrior (TMLR 2026)", "github.com/liuhaixias1/Response_privacy", "bd54f2e",
        "Crime_projection.ipynb, Housing_projection.ipynb, criteo_search_projection.ipynb: target_sets", "read",
        "the prior's sample joins the true labels of all batches with the noisy labels of the last: "
        "`torch.cat((y_sets, target), 0)`, where the noisy `target_sets` would be joined",
        "PriorOfTrueLabels", "unreported", _CHECKED,
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
        "rappor_never_clears", "unreported", _CHECKED,
    ),
    Release(
        "multi-freq-ldpy-ss", "subset selection (2016, 2018)", "github.com/hharcolezi/multi-freq-ldpy", "0.2.5",
        "SS_Client", "run",
        "the subset is an array whose first entry is the value whenever the subset holds it, so that a later entry is "
        "not the value; the guarantee is that of the set, and holds if the array is sorted before it is sent",
        "subset_in_order", "unreported", _CHECKED,
    ),
)  # fmt: skip


def release(name: str) -> Release:
    """Return an entry by name.

    Raises
    ------
    ConfigurationError
        If there is none.
    """
    found = next((entry for entry in RELEASES if entry.name == name), None)
    if found is None:
        raise ConfigurationError(f"released={name!r} must be one of {', '.join(e.name for e in RELEASES)}")
    return found


def show_leak(entry: Release, epsilon: float = 1.0, seed: int = 0, samples: int = SAMPLES) -> tuple[bool, str]:
    """Audit the re-implementation of an entry.

    Returns
    -------
    leaks : bool
        Whether the audit refutes the guarantee.
    evidence : str
    """
    if entry.leak in released_leaks.LEARNERS:
        kind, reports = released_leaks.LEARNERS[entry.leak]
        leak = leak_test(lambda e, s: kind(epsilon=e, random_state=s), epsilon, [reports], seed=seed)
        return leak is not None, f"leak test: {leak or 'no difference found'}"
    make = KNOWN_BAD[entry.leak][1] if entry.leak in KNOWN_BAD else released_leaks.RANDOMIZERS[entry.leak]
    randomizer = make(epsilon)
    bound = lower_bound(randomizer, samples, Streams(seed), FAILURE).epsilon
    text = (
        f"claims epsilon {epsilon:g}, loses {exact_loss(randomizer).epsilon:.4g} exactly and at least {bound:.4g} by "
        f"{samples} reports of each value (confidence {100 * (1 - FAILURE):.6g} %)"
    )
    return bound > epsilon, text


def page() -> str:
    """Return the page of the registry in Markdown."""
    lines = [
        "# Released code",
        "",
        "Places where the released code of a published private method, or a library's implementation of one, departs",
        "from the guarantee. *read*: the source was read at the commit; *run*: the code itself was audited as well.",
        "*unreported*: no public report is known to us; *mended*: a later version is right. Each",
        "row has a minimal re-implementation of the one error, of our own, in `lpbench/audit/`; the command audits it",
        "and ends with exit code 1, because the guarantee does not hold.",
        "",
    ]
    for entry in RELEASES:
        lines += [
            f"## {entry.name}",
            "",
            f"- **Method**: {entry.paper}",
            f"- **Code**: <https://{entry.repository}>, {entry.commit}: {entry.place}",
            f"- **Finding** ({entry.checked}): {entry.fact}.",
            f"- **Re-implementation**: `{entry.leak}`; `lpbench audit --released {entry.name}`",
            f"- **Status**: {entry.status}, {entry.date}",
            "",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    Path(PAGE).write_text(page(), encoding="utf-8")
