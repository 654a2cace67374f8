"""Builders of methods and plans on the embedded data."""

from __future__ import annotations

from lpbench.experiments.catalogue import MethodSpec
from lpbench.experiments.plan import Block, Plan, plan_single


def method(name="constant", estimator="Constant", **changes) -> MethodSpec:
    content = {
        "name": name,
        "title": name,
        "task": "regression",
        "estimator": f"tests.experiments.fakes.{estimator}",
        "grid": {"shift": [0.0, 5.0, -5.0]},
    }
    return MethodSpec(**{**content, **changes})


def cell(epsilon=1.0, mask="aligned", replications=3, seed=1, **changes) -> Plan:
    return plan_single("diabetes_progression", mask, method(**changes), epsilon, replications, seed)


def block(**changes) -> Block:
    (only,) = cell(**changes).blocks
    return only
