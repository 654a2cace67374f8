"""The contract catches a broken promise of each kind; leaks are tried one by one in tests/audit/test_keeper.py."""

from __future__ import annotations

import pytest

from tests.own.conftest import change

BROKEN = {
    "grid": ("methods/own_mean.yaml", "grid: {slices:", "grid: {slcies:", "slcies"),
    "sweep": (
        "own_mean.py",
        "    def predict(",
        "    def sweep(self, problem, budgets, grid, streams):\n"
        "        result = super().sweep(problem, budgets, grid, streams)\n"
        "        result.values[:] *= 1.001\n"
        "        return result\n\n    def predict(",
        "Not equal to tolerance",
    ),
    "determinism": (
        "own_mean.py",
        "        where = ",
        "        reports = reports + np.random.default_rng().random()\n        where = ",
        "equal seeds",
    ),
    "workers": (
        "own_mean.py",
        "        where = ",
        "        import os\n        reports = reports + os.getpid() / 1e6\n        where = ",
        "a worker process gives other scores",
    ),
    "guarantee": ("own_mean.py", "y_range_, self.epsilon)", "y_range_, 2 * self.epsilon)", "3.4 of a budget of 1.7"),
    "audit": ("own_mean.py", "for_budget(question", "for_budget(3 * question", "a user spent 3 of a budget of 1"),
    "scikit-learn": (
        "own_mean.py",
        "        reports = ",
        "        self.slices = self.slices + 1\n        reports = ",
        "parameter",
    ),
}


@pytest.mark.parametrize("promise", BROKEN)
def test_a_broken_promise_is_caught_and_named(lpbench, promise):
    lpbench("new method own_mean")
    file, old, new, said = BROKEN[promise]
    change(f"lpbench_plugins/{file}", old, new)
    code, out, _ = lpbench(f"check method own_mean --only {promise}")
    assert code == 1 and "FAILED" in out and said in out and "1 broken" in out
