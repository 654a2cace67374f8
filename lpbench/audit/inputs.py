"""Inputs of a method: what it asks of users, what they show, a public sample, and who randomizes.

Two losses are like with like where the inputs are equal. They follow from the accounts of fits on the audit's small
samples: who was asked, whether an answer depends on a protected feature, and which public data were read.
"""

from functools import cache
from pathlib import PurePath
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from lpbench.analysis.gains import NOBODY, SAMPLE, UNKNOWN
from lpbench.audit.keeper import Places
from lpbench.audit.methods import CURATOR_SEED, USERS_SEED, learned, recorded_users
from lpbench.audit.recording import Asked, Recording
from lpbench.audit.samples import audit_sample
from lpbench.audit.table import estimator_of
from lpbench.derivation import remembered
from lpbench.estimators.base import LocalEstimator
from lpbench.experiments.submissions import Submission
from lpbench.members import bare_name

#: Budgets and numbers of users of the fits: a method may ask about features only where that is worthwhile.
FITS = ((8.0, 1203), (0.5, 240))
#: Masks under which users show everything or nothing; under any other one they show some features.
_MASKS = {"all_private": "all", "label_only": "none"}
#: Parameters that hold what is public of users, and how many values.
_PUBLIC = {"y_range": 2, "domain": 2, "classes": 1000, "random_state": 1}


@cache
def inputs_of(selector: str, mask: str) -> str:
    """Return the inputs of a registered method under a mask; remembered by its parameters and code."""
    model, kind = estimator_of(selector), _MASKS.get(bare_name(mask), "partial")
    about = {"params": repr(model.get_params()), "mask": kind}
    name = f"inputs of {selector} {kind}"
    return str(remembered(name, lambda: inputs_of_model(model, mask), about, [__name__, type(model).__module__]))


def inputs_of_submission(one: Submission, mask: str) -> str:
    """Return the inputs of a submission, whose code runs apart."""
    from lpbench.audit.apart import kind_of  # which reads the catalog

    with Places(path=[one.folder]) as places:
        return inputs_of_model(kind_of(places, one.method.estimator)(**one.method.params), mask)


def inputs_of_model(model: LocalEstimator, mask: str) -> str:
    """Return the inputs of an estimator: those of all its fits together, such as ``label, public sample``."""
    if brings_data(model):
        return UNKNOWN
    kind, asks, shows, sample, central = _MASKS.get(bare_name(mask), "partial"), NOBODY, False, False, False
    for epsilon, n in FITS:
        recording, about = Recording(), audit_sample(model, mask=kind, n=n)
        configured = clone(model).set_params(random_state=CURATOR_SEED)
        budget = {"epsilon": epsilon} if model.uses_epsilon and "epsilon" in configured.get_params() else {}
        configured.set_params(**budget, **about.stated(configured.get_params()))
        learned(configured, recorded_users(about, USERS_SEED, recording))
        if recording.revealed:
            return "records"
        features = any(map(depends_on_features, recording.asked))
        asks = "label and features" if features else "label" if recording.asked and "f" not in asks else asks
        shows |= recording.shown_read and about.records.mask is not None
        sample |= recording.sample_read
        central |= any(entry.kind == "release" for entry in recording.asked)
    words = {"public features": shows, SAMPLE: sample, "trusted curator": central}
    return ", ".join([asks, *(word for word, read in words.items() if read)])


def depends_on_features(entry: Asked) -> bool:
    """Return True if what enters the mechanism depends on the features that the users asked protect."""
    records = entry.records
    moved = (records.X[::-1] + 0.37) % 1.0
    changed = type(records)(
        moved if records.mask is None else np.where(records.mask, moved, records.X), records.y, records.mask
    )
    compute = entry.device.statistic if entry.kind == "release" else entry.device.inputs
    return not np.array_equal(*(compute(one, entry.question) for one in (records, changed)))


def brings_data(model: BaseEstimator) -> bool:
    """Return True if a parameter of somebody's own class is an array, a path or another object that may hold data."""
    ours = type(model).__module__.startswith("lpbench.")
    return any(
        brings_data(value)
        if isinstance(value, BaseEstimator)
        else not (ours or _is_plain(value) or np.size(value) <= _PUBLIC.get(name, 0))
        for name, value in model.get_params(deep=False).items()
    )


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return not PurePath(value).suffix and "/" not in value and "\\" not in value
    return value is None or isinstance(value, (bool, int, float, np.number))
