"""The contract catches a broken promise of each kind; leaks are tried one by one in tests/audit/test_keeper.py."""

from pathlib import Path

import pytest

from tests.own.conftest import change
from tests.slowly import slow_but

BROKEN = {
    "grid": ("methods/own_mean.yaml", "grid: {slices:", "grid: {slcies:", "slcies"),
    "sweep": (
        "own_mean.py",
        "    def predict(",
        "    def learn_grid(self, tasks, budgets, grid):\n"
        "        results = super().learn_grid(tasks, budgets, grid)\n"
        "        results[0].values[:] *= 1.001\n"
        "        return results\n\n    def predict(",
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


@pytest.mark.parametrize("promise", slow_but(BROKEN, *(name for name in BROKEN if name != "audit")))
def test_a_broken_promise_is_caught_and_named(lpbench, promise):
    lpbench("new method own_mean")
    file, old, new, said = BROKEN[promise]
    change(f"lpbench_plugins/{file}", old, new)
    code, out, _ = lpbench(f"check method own_mean --only {promise}")
    assert code == 1 and "FAILED" in out and said in out and "1 broken" in out


def test_a_privacy_model_that_the_reports_do_not_have_fails_the_audit(lpbench):
    lpbench("new method own_mean")
    change("lpbench_plugins/methods/own_mean.yaml", "privacy: label_ldp", "privacy: ldp")
    code, out, _ = lpbench("audit own_mean --samples 1000 --workers 1")
    assert code == 1 and "the reports say label_ldp" in out


def test_an_error_of_a_users_method_has_its_file_and_line(lpbench):
    lpbench("new method own_mean")
    line = 1 + Path("lpbench_plugins/own_mean.py").read_text().partition("        where = ")[0].count("\n")
    change("lpbench_plugins/own_mean.py", "        where = ", "        where = 1 // 0 + ")
    code, _, err = lpbench("dataset=sine_sum method=own_mean epsilon=1 replications=2 tracking=none audit=false")
    assert code == 1 and f"ZeroDivisionError: integer division or modulo by zero (own_mean.py, line {line})" in err
