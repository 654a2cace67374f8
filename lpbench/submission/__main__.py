"""Entry point inside the isolation: contract and cost of a submitted method, a line of JSON for each finding."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lpbench.audit.recorded import randomizer_of
from lpbench.errors import LpbenchError
from lpbench.experiments import catalogue
from lpbench.experiments.single_method import at_one_setting, seconds_of_a_fit
from lpbench.submission.pack import own_sweep
from lpbench.testing import METHOD_CHECKS

#: The contract but for the audit, which the verifier makes from outside.
CONTRACT = {check: run for check, run in METHOD_CHECKS.items() if check != "audit"}


def findings(asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Contract and cost; ``wrong`` is empty where a step found nothing."""
    name = asked["name"]
    yield {"step": "rounding", "wrong": "", "rounding": catalogue.method(name).estimator_class.rounding}
    yield {"step": "sweep", "wrong": own_sweep(catalogue.method(name))}
    for check, run in CONTRACT.items():
        yield {"step": f"contract, {check}", "wrong": _failed(lambda run=run: run(name))}
    method = catalogue.method(name)
    experiment = catalogue.experiment(asked["experiment"])
    budgets = sorted({float(e) for group in experiment.groups if not group.panel for e in group.epsilon})
    model = at_one_setting(method).build()
    cost = {
        "seconds": float(f"{seconds_of_a_fit(method, experiment):.5g}"),
        "bits": {f"{epsilon:g}": randomizer_of(model, epsilon).bits_up for epsilon in budgets},
    }
    yield {"step": "cost", "wrong": "", "cost": cost}


def _failed(run: Any) -> str:
    try:
        run()
    except (AssertionError, LpbenchError) as error:
        return " ".join(str(error).split()) or type(error).__name__
    except (Exception, SystemExit) as error:  # whatever submitted code raises
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    place = Path(sys.argv[1])
    with (place / "found.jsonl").open("w", encoding="utf-8") as file:
        for line in findings(json.loads((place / "asked.json").read_text())):
            file.write(json.dumps(line) + "\n")
            file.flush()
