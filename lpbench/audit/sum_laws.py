"""Sum-law check: where fit or sweep draws sums of reports, they have the law of sums of the users' own reports.

With one user the sum is the device's report; with 2, 3 and 50 users it is compared with the sum of as many independent
reports, jointly over cells, statistics and rounds: by two-sample Kolmogorov-Smirnov tests of the entries, of
differences of neighbouring entries, and of fixed random combinations of all of them. An honest method is accused with
probability at most ``FALSE_ALARM`` for each law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
from scipy import stats

from lpbench import estimators as models
from lpbench.audit.devices import method_randomizer
from lpbench.audit.gradient_devices import gradient_asked
from lpbench.audit.randomizers import Asked
from lpbench.estimators.baselines import pglm
from lpbench.estimators.baselines.pglm import MOMENTS, MomentQuestion
from lpbench.experiments import catalogue
from lpbench.privacy import Gaussian, Records
from lpbench.seeds import Streams

#: Numbers of users whose reports are added up.
USERS = (1, 2, 3, 50)
#: Sums drawn by the shortcut and by the devices, which draw theirs at once: 660 and 6600 are compared as sharply as
#: 1200 and 1200 would be. Fewer of a long recursion, whose reports are long, too.
DRAWS, FEW_DRAWS = (660, 6600), (300, 300)
#: Random combinations that are tested, and the probability of a false alarm of one law.
COMBINATIONS, FALSE_ALARM = 8, 1e-6
#: Budget at which the laws are compared.
EPSILON = 1.0
#: Features of the second sample of private SGD.
WIDE = 20


@dataclass(frozen=True)
class SumLaw:
    """Two ways to the same sums.

    Attributes
    ----------
    path : {"fit", "sweep", "fit and sweep"}
        Where the estimator takes the shortcut.
    shortcut : callable (users, streams) -> ndarray of shape (k,)
        One draw of the curator's sums, by the estimator's code.
    device : callable (users, draws, rng) -> ndarray of shape (draws, k)
        Sums of the reports of users who each randomise their own.
    draws : (int, int)
        Sums drawn by the shortcut and by the devices.
    """

    path: str
    shortcut: Callable[[int, Streams], np.ndarray]
    device: Callable[[int, int, np.random.Generator], np.ndarray]
    draws: tuple[int, int] = DRAWS


def broken_laws(selector: str, seed: int = 20240602) -> Iterator[str]:
    """Say which sums of a registered method do not have the law of its device's reports."""
    for number, law in enumerate(laws_of(selector)):
        for n in USERS:
            streams = Streams(seed).child("sums", law=number, users=n)
            drawn = np.array([law.shortcut(n, streams.child("draw", number=i)) for i in range(law.draws[0])])
            p = smallest_p_value(drawn, law.device(n, law.draws[1], streams.generator("device")), streams)
            if p < FALSE_ALARM / len(USERS):
                yield f"sums over {n} users in {law.path} do not have the law of the device (p < {max(p, 1e-99):.0e})"


def laws_of(selector: str) -> list[SumLaw]:
    """Return the sums that a method draws: those that its messages name, or those of :data:`SUM_LAWS`."""
    kind = catalogue.method(selector).estimator_class
    if kind not in NAMED_BY_MESSAGES:
        return SUM_LAWS.get(kind, [])
    asked = [message.asked for message in method_randomizer(selector, EPSILON).messages if message.asked is not None]
    if kind is models.PSGD:
        # With few inputs every user's Gaussian is drawn, with many those products that the descent reads.
        spec = catalogue.method(selector)
        wide = gradient_asked(spec.build().set_params(**(spec.tuning_free or {}), epsilon=EPSILON), WIDE)
        return [_of_messages("fit and sweep", [part], FEW_DRAWS) for part in (*asked, wide)]
    paths = ("fit and sweep",) if all(part.fit is part.sweep for part in asked) else ("fit", "sweep")
    return [_of_messages(path, asked) for path in paths if any(_draw(part, path) for part in asked)]


def _draw(part: Asked, path: str) -> Callable | None:
    """How sums are drawn on a path; None: the devices are asked."""
    return part.sweep.draw if path == "sweep" else part.fit.draw


def _of_messages(path: str, asked: Sequence[Asked], draws: tuple[int, int] = DRAWS) -> SumLaw:
    """Sums that stand for the reports of all rounds, jointly; users take the audited records in turn."""

    def records(part: Asked, n: int) -> Records:
        return part.records.take(np.arange(n) % len(part.records))

    def shortcut(n: int, streams: Streams) -> np.ndarray:
        sums = []
        for part in asked:
            users, draw = records(part, n), _draw(part, path)
            if draw is None:
                reports = part.device.addends(part.reports(users, streams), part.question)
                sums.append(part.device.estimate(reports.sum(axis=0), part.question, n))
            else:
                sums.append(draw(users, part.question, streams))
        return np.concatenate(sums)

    def device(n: int, draws: int, rng: np.random.Generator) -> np.ndarray:
        sums = []
        for part in asked:
            users = records(part, n).take(np.tile(np.arange(n), draws))
            reports = part.reports(users, Streams(int(rng.integers(2**63))))
            addends = part.device.addends(reports, part.question).reshape(draws, n, -1)
            sums.append(part.device.estimate(addends.sum(axis=1), part.question, n))
        return np.hstack(sums)

    return SumLaw(path, shortcut, device, draws)


def smallest_p_value(one: np.ndarray, other: np.ndarray, streams: Streams) -> float:
    """Smallest p-value of the two-sample tests, times their number (Bonferroni).

    Parameters
    ----------
    one, other : ndarrays of shapes (draws, k) and (other draws, k)
    streams : Streams
        Chooses the combinations.
    """
    k = one.shape[1]
    random = streams.generator("weights").normal(size=(COMBINATIONS, k))
    weights = np.vstack([np.eye(k), np.eye(k) - np.roll(np.eye(k), 1, axis=0), random])
    weights = weights[np.abs(weights).sum(axis=1) > 0]
    # Rounded, because sums in another order differ in the last digits.
    one, other = np.round(one @ weights.T, 9), np.round(other @ weights.T, 9)
    centre = np.median(np.concatenate([one, other]), axis=0)
    # Distances from the centre tell scales apart, which values hardly do.
    tested = [np.hstack([sums, np.abs(sums - centre)]) for sums in (one, other)]
    n_tests, effective = tested[0].shape[1], len(one) * len(other) / (len(one) + len(other))
    return min(1.0, n_tests * float(stats.kstwo.sf(_largest_distance(*tested), round(effective))))


def _largest_distance(one: np.ndarray, other: np.ndarray) -> float:
    """Largest Kolmogorov-Smirnov distance between columns of the same place."""
    one, other = np.sort(one, axis=0), np.sort(other, axis=0)
    largest = 0.0
    for a, b in zip(one.T, other.T, strict=True):
        points = np.concatenate([a, b])
        gaps = np.searchsorted(a, points, side="right") / a.size - np.searchsorted(b, points, side="right") / b.size
        largest = max(largest, float(np.abs(gaps).max()))
    return largest


_POINTS = np.array([[0.2], [0.8]])


def _moments() -> Iterator[SumLaw]:
    """The noisy cross products as they enter the curator's equations, and the matrix off its diagonal."""
    question = MomentQuestion(Gaussian.for_budget(EPSILON, 1e-3, pglm.SENSITIVITY), 1)

    def records(n: int) -> Records:
        """Users at two places, of two classes each."""
        users = np.arange(n)
        return Records(_POINTS[users % 2], (users // 2 + users) % 2)

    def shortcut(n: int, streams: Streams) -> np.ndarray:
        seen: list[np.ndarray] = []

        def factor(matrix: np.ndarray, **options: bool) -> np.ndarray:
            seen.append(matrix[0, 1:])
            return matrix

        def solve(factored: np.ndarray, right: np.ndarray) -> np.ndarray:
            seen.append(right)
            return right

        users = records(n)
        rows, signs = pglm.unit_rows(users.X), 2.0 * users.y - 1.0
        with patch.object(pglm, "cho_factor", factor), patch.object(pglm, "cho_solve", solve):
            pglm.Moments.collect(rows, signs, streams).solve(question.mechanism)
        return np.concatenate(seen)

    def device(n: int, draws: int, rng: np.random.Generator) -> np.ndarray:
        users = records(n).take(np.tile(np.arange(n), draws))
        noise = MOMENTS.draws(Streams(int(rng.integers(2**63))), len(users), question)
        sums = MOMENTS.report(users, question, noise).reshape(draws, n, -1).sum(axis=1)
        # Of the matrix, the entry above the diagonal.
        return sums[:, [1, 3, 4]]

    yield SumLaw("fit and sweep", shortcut, device)


#: Estimators whose messages name how fit and sweep draw sums (:class:`lpbench.audit.randomizers.Path`).
NAMED_BY_MESSAGES = (
    models.LPCT, models.LPCTPrune, models.Hist, models.LDPMean, models.PHIST, models.LDPVote, models.LabelLDPVote,
    models.PSGD, models.HistOfTree, models.AdHistOfTree,
)  # fmt: skip

#: Estimator class -> the sums that it draws by their law, for the others.
SUM_LAWS: dict[type, list[SumLaw]] = {models.PGLM: list(_moments())}
