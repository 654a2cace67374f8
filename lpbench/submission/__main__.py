"""Entry point inside the isolation: the checks and the blocks that the verifier asks for, a line of JSON for each."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lpbench.audit import table
from lpbench.errors import LpbenchError
from lpbench.experiments import catalogue
from lpbench.experiments.single_method import at_one_setting, seconds_of_a_fit
from lpbench.submission.blocks import own_sweep, plan_of, scores_of
from lpbench.testing import METHOD_CHECKS

#: Transcripts of the sampled audit of a submission.
SAMPLES = 100_000


def findings(asked: dict[str, Any], folder: Path) -> Iterator[dict[str, Any]]:
    """Contract, audit, mutants, cost, then the drawn blocks; ``wrong`` is empty where a step found nothing."""
    name = asked["name"]
    yield {"step": "rounding", "wrong": "", "rounding": catalogue.method(name).estimator_class.rounding}
    yield {"step": "sweep", "wrong": own_sweep(catalogue.method(name))}
    for check, run in METHOD_CHECKS.items():
        yield {"step": f"contract, {check}", "wrong": _failed(lambda run=run: run(name))}
    yield {"step": "audit", "wrong": _failed(lambda: _audit(name))}
    method = catalogue.method(name)
    blocks = plan_of(method, asked["experiment"])
    experiment = catalogue.experiment(asked["experiment"])
    budgets = sorted({float(e) for group in experiment.groups if not group.panel for e in group.epsilon})
    model = at_one_setting(method).build()
    cost = {
        "seconds": float(f"{seconds_of_a_fit(method, experiment):.5g}"),
        "bits": {f"{epsilon:g}": table.bits_of(model, epsilon) for epsilon in budgets},
    }
    yield {"step": "cost", "wrong": "", "cost": cost}
    for block in asked["drawn"]:
        scores = scores_of(blocks, [block], folder, None)
        rows = scores.astype(object).to_dict("split")["data"]
        yield {"step": "block", "wrong": "", "block": block, "scores": rows}


def _failed(run: Any) -> str:
    try:
        run()
    except (AssertionError, LpbenchError) as error:
        return " ".join(str(error).split()) or type(error).__name__
    except Exception as error:  # whatever submitted code raises
        return f"{type(error).__name__}: {error}"
    return ""


def _audit(name: str) -> None:
    rows = [("method", table.audit("method", name, SAMPLES, 0))]
    missed = [f"the mutant {m.mutant} was not caught" for m in table.mutant_rows(name) if not m.caught_by]
    found = [*table.problems(rows), *missed]
    assert not found, "; ".join(found)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    with (place / "found.jsonl").open("w", encoding="utf-8") as file:
        for line in findings(json.loads((place / "asked.json").read_text()), place):
            file.write(json.dumps(line) + "\n")
            file.flush()
