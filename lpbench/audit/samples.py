"""Small samples on which whole methods are audited, and how their protected values change.

Ranges and positions are chosen so that a forgotten factor shows: the label range is neither centered nor of length 1.
Of six features 0 is protected by everybody, 1 by a third, 2 by a fifth of the users, the others by nobody; those
beyond, by half.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from lpbench.privacy import PublicSample, Records, SimulatedUsers
from lpbench.seeds import Streams

#: Users, features, public rows, test rows.
N, D, N_PUBLIC, N_TEST = 240, 6, 60, 120
#: Values that a user may hold, by which a domain is tried: a flaw in a two-thousandth of a range is met.
DENSE = 4001
#: Public range of the label of the first sample; those of the following ones, in turn, and their features' domains.
Y_RANGE = (-1.0, 2.0)
RANGES = ((Y_RANGE, (0.0, 1.0)), ((50.0, 450.0), (-5.0, 10.0)), ((0.0, 1.0), (0.0, 1.0)), ((-0.03, 0.01), (2.0, 2.5)))
#: Shares of classes: of three one is rare, so that who adapts to frequencies does not treat all alike.
SHARES = {2: (0.5, 0.5), 3: (0.6, 0.3, 0.1)}
#: How the protected values of the second sample differ from the first's.
CHANGES = ("permuted", "nonlinear", "constant")


@dataclass(frozen=True, eq=False)
class AuditSample:
    """Small sample to audit a method on: records in the unit cube, and whatever is public about them.

    ``X_test`` (m, d) lies in ``domain``; ``y_range`` is that of a regression, ``classes`` those of a classification.
    """

    records: Records
    public: PublicSample | None
    classes: np.ndarray | None
    X_test: np.ndarray  # shape (m, d)
    y_range: tuple[float, float] | None  # of a regression
    domain: tuple[float, float] | None  # of X_test; records are in the unit cube. None: the method scales nothing

    def users(self, seed: int) -> SimulatedUsers:
        """Return simulated users with these records."""
        public = {"y_range": self.y_range, "classes": self.classes, "public": self.public}
        return SimulatedUsers(self.records, Streams(seed), **public)  # type: ignore[arg-type]

    def stated(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the public facts of the sample that are parameters of the method."""
        stated = {"y_range": self.y_range, "domain": self.domain}
        return {name: value for name, value in stated.items() if name in parameters and value is not None}

    def changed(self, change: str) -> Self:
        """Return the sample with other protected values (a change of :data:`CHANGES`) and the same public part."""
        rng = np.random.default_rng(7)
        X, y, mask = self.records.X, self.records.y, self.records.mask
        order = rng.permutation(len(y))
        hidden = {"permuted": X[order], "nonlinear": X**2, "constant": 1.0 - X}[change]
        X_new = hidden if mask is None else np.where(mask, hidden, X)
        if self.y_range is None:
            labels = {"permuted": y[order], "nonlinear": (X[:, 2] > 0.8).astype(y.dtype), "constant": np.zeros_like(y)}
        else:
            lo, hi = self.y_range
            squashed = lo + (hi - lo) * ((y - lo) / (hi - lo)) ** 3 / 2.0
            labels = {"permuted": y[order], "nonlinear": squashed, "constant": np.full(len(y), 0.3 * lo + 0.7 * hi)}
        return replace(self, records=Records(X_new, labels[change], mask))


def audit_sample(
    model: Any, mask: str = "partial", n_classes: int = 2, n: int = N, d: int = D, number: int = 0
) -> AuditSample:
    """A sample of the model's task, with at least five features; ``number`` says which ranges are public."""
    y_range, domain = RANGES[number % len(RANGES)]
    rng = np.random.default_rng(20240601)
    X = rng.random((n, d))
    signal = 1.2 * X[:, 0] - X[:, 3] + 0.6 * X[:, 1] * X[:, 4]
    X_public = rng.random((N_PUBLIC, d))
    public_signal = 1.2 * X_public[:, 0] - X_public[:, 3]
    if is_classifier(model):
        cuts = np.quantile(signal, np.cumsum(SHARES.get(n_classes, np.full(n_classes, 1.0 / n_classes)))[:-1])
        y = np.searchsorted(cuts, signal + 0.2 * rng.standard_normal(n)).astype(np.intp)
        y_public = np.searchsorted(cuts, public_signal).astype(np.intp)
        classes = np.arange(n_classes)
    else:
        labels = (np.clip(2 * s + 0.3 * rng.standard_normal(s.size), *Y_RANGE) for s in (signal, public_signal))
        y, y_public = (s if y_range == Y_RANGE else np.interp(s, Y_RANGE, y_range) for s in labels)  # type: ignore[assignment]
        classes = None
    protected = np.zeros((n, d), dtype=bool)
    protected[:, 0], protected[::3, 1], protected[::5, 2] = True, True, True
    protected[::2, D:] = True
    masks = {"partial": protected, "all": None, "none": np.zeros((n, d), dtype=bool)}
    sample_mask = {"label": masks["none"], "record": None}.get(model.protects, masks[mask])
    public = PublicSample(X_public, y_public) if model.uses_public else None
    stated_domain = None if model.get_params().get("domain") is None else domain
    X_test = rng.uniform(*(stated_domain or (0.0, 1.0)), (N_TEST, d))
    return AuditSample(
        Records(X, y, sample_mask), public, classes, X_test, y_range if classes is None else None, stated_domain
    )


def planted(records: Records, user: int, y_range: tuple[float, float] | None, n_classes: int) -> Records:
    """Make records with one user's public part and extreme or middle protected values, one a record."""
    low, high = y_range or (0.0, 0.0)
    labels = np.array([low, (low + high) / 2.0 + (high - low) / 30.0, high]) if y_range else np.arange(n_classes)
    places = np.array([0.03, 0.55, 0.97])
    x, mask = records.X[user], None if records.mask is None else records.mask[user]
    protected = np.ones(x.size, dtype=bool) if mask is None else mask
    rows = [(x, y) for y in labels]
    if protected.any():
        rows += [(np.where(protected, point, x), y) for point in places for y in labels]
    X = np.array([row for row, _ in rows])
    y = np.array([label for _, label in rows], dtype=records.y.dtype)
    return Records(X, y, None if mask is None else np.tile(mask, (len(rows), 1)))


def planted_densely(records: Records, y_range: tuple[float, float] | None, n_classes: int) -> Records:
    """Make records with the first user's public part and protected values from end to end of their range."""
    places = np.linspace(0.0, 1.0, DENSE)
    y = y_range[0] + places * (y_range[1] - y_range[0]) if y_range else np.arange(DENSE) % n_classes
    mask = None if records.mask is None else np.tile(records.mask[0], (DENSE, 1))
    d = records.X.shape[1]
    X = (np.arange(DENSE)[:, None] * (0.5**0.5 + np.arange(d) / d) + places[:, None]) % 1.0
    X = X if mask is None else np.where(mask, X, records.X[0])
    return Records(X, y.astype(records.y.dtype), mask)
