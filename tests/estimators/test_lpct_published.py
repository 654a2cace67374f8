"""LPCT's published curves (figures 4(a), 5(a), 7(c)), run as the experiments run them."""

from dataclasses import replace

import pandas as pd
import pytest

from lpbench.experiments import catalog as registry
from lpbench.experiments.config import Runner
from lpbench.experiments.job import job_of
from lpbench.pipeline import run_jobs


@pytest.mark.slow
def test_published_curves_are_met(tmp_path):
    """At 100 replications 95 % of the published points lie within 0.015 (standard errors 0.002 to 0.008).

    Known to miss: LPCT-P of figure 4(a) at epsilon 0.5, 1 and 2. The same estimator, as lambda = 0.5 of figure 7(c), is
    met at epsilon 1 and 2.
    """
    whole = [registry.experiment(f"lpct/figure{name}") for name in ("4a", "5a", "7c")]
    bare = [[replace(g, method=tuple(m for m in g.method if "[" not in m)) for g in e.groups] for e in whole]
    jobs = [job_of(replace(e, groups=tuple(groups))) for e, groups in zip(whole, bare, strict=True)]
    result = run_jobs(jobs, tmp_path, Runner(backend="serial"))
    assert result.exit_code == 0
    rows = pd.concat(pd.read_csv(tmp_path / e.name / "comparison.csv") for e in jobs)
    assert len(rows) == 109
    assert rows["reproduced"].notna().all()
    far = rows[rows["difference"].abs() > 0.015]
    assert len(far) <= 0.05 * len(rows), far.to_string()
