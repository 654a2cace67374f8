"""Audit of a method of somebody's own: it runs apart on samples, as it does anywhere apart."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from lpbench.audit.apart import folders_of, kind_of
from lpbench.audit.keeper import Places
from lpbench.audit.methods import (
    AUDIT_BUDGETS,
    CURATOR_SEED,
    USERS_SEED,
    Complaint,
    learned,
    samples,
    takes_many_classes,
)
from lpbench.audit.samples import AuditSample, audit_sample
from lpbench.errors import LpbenchError, PrivacyError
from lpbench.experiments.method import Method

#: Users, features and classes of the larger sample.
LARGE, WIDE, MANY = 1203, 50, 50


def foreign_complaints(
    places: Places, estimator: str, params: Mapping[str, Any], privacy: str = ""
) -> Iterator[Complaint]:
    """Audit a method, by its class's dotted path, in isolated processes; yield its broken promises."""
    try:
        kind = kind_of(places, estimator, privacy)
        defaults = kind(**params).get_params()
        for epsilon, sample in drawn_samples(kind(**params)):
            budget = {"epsilon": epsilon} if "epsilon" in defaults else {}
            yield from _complaints_in(kind(**{**params, **budget, **sample.stated(defaults)}), sample)
    except LpbenchError as error:
        yield Complaint("apart", str(error))


def drawn_samples(model: Any) -> Iterator[tuple[float, AuditSample]]:
    """Yield budgets and samples of every audit, and a larger one, with many classes where the method takes them."""
    yield from samples(model)
    yield (
        AUDIT_BUDGETS[0],
        audit_sample(model, n_classes=MANY if takes_many_classes(model) else 2, n=LARGE, d=WIDE, number=3),
    )


def _complaints_in(model: Any, sample: AuditSample) -> Iterator[Complaint]:
    try:
        learned(model.set_params(random_state=CURATOR_SEED), sample.users(USERS_SEED)).predict(sample.X_test)
    except LpbenchError as error:
        yield Complaint("apart", str(error))


def complaints_of(method: Method) -> list[str]:
    """Return complaints about somebody else's method, from an isolated process; none of its code is imported here.

    Raises ------ PrivacyError The audit itself ended early.
    """
    estimator = method.estimator.rpartition(":")[2]
    path, params = [str(folder) for folder in folders_of(estimator)], {**method.params, **(method.tuning_free or {})}
    request = json.dumps({"path": path, "estimator": estimator, "params": params, "privacy": method.privacy})
    done = subprocess.run([sys.executable, "-m", __name__], input=request, capture_output=True, text=True)
    try:
        isolation, *texts = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise PrivacyError(f"the audit of {method.name} ended: {' '.join(done.stderr.split())[-300:]}") from None
    if isolation != "namespaces":
        print(f"isolation: {isolation}", flush=True)
    return [f"{method.name}: {complaint}" for complaint in dict.fromkeys(texts)]  # one said at every budget is one


def _main(path: list[str], **description: Any) -> None:
    with Places(path=path) as places:
        print(json.dumps([places.words, *map(str, foreign_complaints(places, **description))]))


if __name__ == "__main__":
    _main(**json.load(sys.stdin))
