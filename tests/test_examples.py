import runpy
import warnings

import pytest

from lpbench.paths import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
#: Longer than 5 seconds.
SLOW = {"compare_methods", "plan_the_budget"}


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p.stem in SLOW)) for p in EXAMPLES]
)
def test_an_example_runs_without_a_warning(path, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
