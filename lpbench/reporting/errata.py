"""What is wrong or contradictory in the papers, each with the computation that shows it.

Everything is computed when the report is written, from the printed numbers in ``results/published``, from the
manifests of the data sets or from the printed formulas; nothing is asserted from memory.
"""

from __future__ import annotations

from lpbench.papers.histoftree import errata as errata_histoftree
from lpbench.papers.label_dp import errata as errata_label_dp
from lpbench.papers.lpct import errata as errata_lpct


def errata() -> list[dict[str, str]]:
    """Return all findings with their evidence: dictionaries with keys paper, where, what, computation."""
    return [
        {"paper": e.paper, "where": e.where, "what": e.what, "computation": e.compute()}
        for e in (*errata_histoftree.ERRATA, *errata_lpct.ERRATA, *errata_label_dp.ERRATA)
    ]
