"""What was found in the code released with the papers, as facts about public files at the commits named."""

from __future__ import annotations

from dataclasses import dataclass

REPOSITORY = "Karlmyh/LPCT"
FIRST, LAST = "7f81694 (first upload, 2023-11)", "cab5bc8 (last commit, 2024-04)"
BOTH = "7f81694, cab5bc8"


@dataclass(frozen=True)
class Deviation:
    """A place where released code departs from its paper.

    Attributes
    ----------
    place : str
        File and lines in the public repository.
    commit : str
    fact : str
    loss : str
        What it means for the privacy loss, if anything.
    known_bad : str
        The mechanism of :mod:`lpbench.audit.known_bad` that rebuilds it, if any.
    """

    place: str
    commit: str
    fact: str
    loss: str
    known_bad: str = ""


DEVIATIONS = (
    Deviation(
        "LDPCP/tree.py:333-335",
        LAST,
        'LPCT and LPDT grow the partition on the private sample; the "public" counts are then exact private counts',
        "unbounded: the cuts are a function of raw data (the first upload grows on public rows, as the paper says)",
        "tree_on_raw_labels",
    ),
    Deviation(
        "comparison/PSGD/optimizer.py:42-49",
        BOTH,
        "private SGD spends epsilon once per parameter tensor",
        "2 epsilon for the linear model, 4 epsilon for the network",
        "sgd_per_tensor_network",
    ),
    Deviation(
        "comparison/PSGD/privatizer.py:20",
        BOTH,
        "gradients shorter than 1 enter PrivUnitG as they are",
        "not bounded by epsilon: the mechanism's proof needs unit vectors",
        "short_gradients",
    ),
    Deviation(
        "comparison/PGLM/_PGLM.py:66",
        BOTH,
        "the variance of the summed noise is multiplied by sqrt(n_P) instead of n_P, partly offset by r = d + 1",
        "above epsilon for n_P > (d + 1)^4",
        "pglm_root_n",
    ),
    Deviation(
        "comparison/PHIST/histogram.py:82, 91-92",
        BOTH,
        "seed 1 is set inside fit, and one Laplace draw of scale 4 sqrt(n) / epsilon stands for a sum of n draws",
        "whoever knows the seed knows the noise; the law of the sum is not that of the protocol",
        "shared_noise",
    ),
    Deviation(
        "LDPCP/tree.py:160, 315, 327-332",
        LAST,
        "pruning() returns the object itself, so that its flag is always true and the second pass leaves nodes "
        "without a prediction",
        "none: it cannot run",
    ),
    Deviation(
        "pruning",
        FIRST,
        "one query with the whole epsilon, no flag and no second query",
        "none: within epsilon (the printed Algorithm 2 divides it)",
    ),
)
