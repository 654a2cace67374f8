"""What is wrong or contradictory in the papers, each with the computation that shows it.

Everything is computed when the report is written, from the printed numbers in ``results/published``, from the
manifests of the data sets or from the printed formulas; nothing is asserted from memory.
"""

from __future__ import annotations

import numpy as np

from lpbench.reporting import errata_histoftree, errata_lpct
from lpbench.reporting.erratum import Erratum


def _laplace_scale() -> str:
    T, n = 3.0, 10
    labels = np.full(n, T)
    changed = labels.copy()
    changed[0] = -T
    return f"T = {T:g}, {n} labels at T, one moved to -T: the mean moves by {labels.mean() - changed.mean():g} = 2T/n"


LABEL_DP = (
    Erratum("Z", "Theorem 8, eq. (25)", "the noise of a cell mean is printed as 2/(n eps) without T", _laplace_scale),
)


def errata() -> list[dict[str, str]]:
    """Return all findings with their evidence: dictionaries with keys paper, where, what, computation."""
    return [
        {"paper": e.paper, "where": e.where, "what": e.what, "computation": e.compute()}
        for e in (*errata_histoftree.ERRATA, *errata_lpct.ERRATA, *LABEL_DP)
    ]
