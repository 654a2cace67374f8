"""``lpbench audit``: audit everything, write ``audit.csv`` and ``audit.md``, say what is wrong."""

from __future__ import annotations

from pathlib import Path

from joblib import Parallel, delayed

from lpbench.audit.page import page
from lpbench.audit.table import EPSILON, Row, audit, subjects, write_csv
from lpbench.deployment.costs import measure_methods, measure_protocols
from lpbench.reporting.paper import papers

SAMPLES = 1_000_000


def run(results_dir: Path, samples: int = SAMPLES, seed: int = 2025, workers: int = 2) -> list[tuple[str, Row]]:
    """Audit every method and every known mechanism.

    Parameters
    ----------
    results_dir : Path
        ``reproduced/audit.csv`` and ``reproduced/audit.md`` are written below it.
    samples : int
        Transcripts of each of two protected values, for each row.
    seed : int
        Of the samples; results do not depend on ``workers``.
    workers : int
        Processes.

    Returns
    -------
    list of (kind, Row)
        See :func:`lpbench.audit.table.subjects`; :func:`lpbench.audit.table.problems` judges them.
    """
    named = subjects()
    # Small batches: some methods take much longer than others.
    rows = Parallel(n_jobs=workers, batch_size=1)(delayed(audit)(kind, name, samples, seed) for kind, name in named)
    result = [(kind, row) for (kind, _), row in zip(named, rows, strict=True)]
    target = Path(results_dir) / "reproduced"
    target.mkdir(parents=True, exist_ok=True)
    write_csv([row for kind, row in result if kind == "method"], target / "audit.csv")
    released = {p.repository: p.deviations for p in papers() if p.deviations}
    text = page(result, samples, seed, measure_protocols(seed), measure_methods(EPSILON, seed), released)
    (target / "audit.md").write_text(text, encoding="utf-8")
    return result
