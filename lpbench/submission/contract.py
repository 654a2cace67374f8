"""Contract and cost of a submitted method, found in a process that runs its code."""

from collections.abc import Iterator
from typing import Any

from lpbench.audit.recorded import randomizer_of
from lpbench.experiments import catalog
from lpbench.experiments.single_method import at_one_setting
from lpbench.testing import METHOD_CHECKS, broken

#: The contract but for the audit, which the verifier makes from outside.
CONTRACT = {check: run for check, run in METHOD_CHECKS.items() if check != "audit"}


def findings(name: str, experiment: str, folder: str) -> Iterator[dict[str, Any]]:
    """Check the contract and measure the cost of a folder's method; yield a dictionary for each step.

    Its ``wrong`` is empty where the step found nothing.
    """
    for check, wrong in zip(CONTRACT, broken(name, list(CONTRACT), [folder]), strict=True):
        yield {"step": f"contract, {check}", "wrong": wrong}
    yield {"step": "rounding", "wrong": "", "rounding": catalog.method(name).estimator_class.rounding}
    method = catalog.method(name)
    groups = catalog.experiment(experiment).groups
    budgets = sorted({float(e) for group in groups if not group.panel for e in group.epsilon})
    model = at_one_setting(method).build()
    cost = {"bits": {f"{epsilon:g}": randomizer_of(model, epsilon).bits_up for epsilon in budgets}}
    yield {"step": "cost", "wrong": "", "cost": cost}
