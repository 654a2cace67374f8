"""Audit of a method of somebody's own: it runs where no record is, and the keeper tests what passed."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from lpbench.audit.keeper import Foreign, Places
from lpbench.audit.methods import BUDGETS, CURATOR_SEED, USERS_SEED, Complaint, recorded_users, samples, wrong_answers
from lpbench.audit.recording import Recording
from lpbench.audit.samples import AuditSample, audit_sample
from lpbench.errors import LpbenchError

#: Users, features and classes of the larger sample.
LARGE, WIDE, MANY = 1203, 50, 50


def foreign_complaints(places: Places, estimator: str, params: Mapping[str, Any]) -> Iterator[Complaint]:
    """Audit a method by the dotted path of its class; yields nothing if it keeps its promise."""
    try:
        model = places.describe(estimator, params)
    except LpbenchError as error:
        yield Complaint("sealed", str(error))
        return
    for name in model.replaced:
        yield Complaint("sealed", f"{estimator.rpartition('.')[2]}.{name} replaces the way in that seals the records")
    for epsilon, sample in drawn_samples(model):
        yield from _complaints_in(places, model.with_params(epsilon=epsilon, **sample.stated(model.params)), sample)


def drawn_samples(model: Foreign) -> Iterator[tuple[float, AuditSample]]:
    """The samples of every audit, and one that is larger and wider, with many classes where the method takes them."""
    yield from samples(model)
    yield BUDGETS[0], audit_sample(model, n_classes=MANY if model.multi_class else 2, n=LARGE, d=WIDE, number=3)


def _complaints_in(places: Places, model: Foreign, sample: AuditSample) -> Iterator[Complaint]:
    recording = Recording()
    users = recorded_users(sample, USERS_SEED, recording)
    try:
        fitted = places.learn(model, users, CURATOR_SEED)
        predictions, stated = places.predict(fitted, sample.X_test)
    except LpbenchError as error:
        yield Complaint("sealed", str(error))
        return
    if stated is None or stated != users.spent:
        yield Complaint("account", f"guarantee_ says {stated}, and its users have spent {users.spent}")
    if predictions.shape != (len(sample.X_test),):
        yield Complaint("sealed", f"predict returns shape {predictions.shape} for {len(sample.X_test)} rows")
    elif predictions.dtype.kind == "f" and not np.isfinite(predictions).all():
        yield Complaint("sealed", "a prediction is not a finite number")
    try:  # laws need no test: the keeper draws every report from a mechanism of this library
        yield from wrong_answers(model, recording, users.spent, sample)
    except LpbenchError as error:  # its devices fail, or report outside their mechanism's domain, for some record
        yield Complaint("rows", str(error))
