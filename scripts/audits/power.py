"""Power of the black-box audit beside two testers after published ideas, sample for sample, on known-bad mechanisms.

The testers are written after Kong, Munoz Medina and Ribero (DP-Auditorium, 2023) and Gretton et al. (2012), with
sharper limits than theirs where we know some. All three get the same reports of the same pair of values and the same
failure probability. ``python -m scripts.audits.power FILE.csv`` writes the table, which the audit page and
docs/audit_code.md show.
"""

import csv
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist, pdist
from sklearn.tree import DecisionTreeClassifier

from lpbench.audit.black_box.claims import PrivacyClaim
from lpbench.audit.black_box.decide import audit, worst_pair
from lpbench.audit.black_box.reports import to_columns
from lpbench.audit.black_box.sources import DeviceSource, FixedSource
from lpbench.audit.black_box.witness import features_of
from lpbench.audit.known_bad import KNOWN_BAD
from lpbench.seeds import Streams

#: Reports of each value that are tried, and the failure probability of each trial.
SIZES, FAILURE = (500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000), 1e-3
#: Reports that set the kernel's width, fractions of it, and most reports whose kernel matrix is made.
_WIDTH, _FRACTIONS, _MOST_KERNEL = 200, (1, 1 / 4, 1 / 16), 4000


def refuted_by_audit(first: np.ndarray, second: np.ndarray, claim: PrivacyClaim, failure: float) -> bool:
    """Whether :func:`lpbench.audit.black_box.audit` refutes the claim."""
    source = FixedSource("", [0, 1], [to_columns(first), to_columns(second)])
    return audit(source, claim, len(first), failure).violated


def refuted_by_hockey_stick(first: np.ndarray, second: np.ndarray, claim: PrivacyClaim, failure: float) -> bool:
    """Whether an estimate of the hockey-stick divergence exceeds delta, in either direction.

    A tree that tells the values apart, on the features that the audit uses, gives the set where the likelihood ratio is
    above e^epsilon; its divergence is estimated on the other half of the reports, within Hoeffding's limit.
    """
    half, weight = len(first) // 2, math.exp(claim.epsilon)
    features = features_of(first[:half], second[:half])
    tree = DecisionTreeClassifier(max_leaf_nodes=48, min_samples_leaf=40, criterion="entropy", random_state=0)
    tree.fit(features(np.concatenate([first[:half], second[:half]])), np.repeat([1, 0], half))
    share, other = (tree.predict_proba(features(part[half:]))[:, 1] for part in (first, second))
    limit = math.sqrt((1 + weight**2) * math.log(2 / failure) / (2 * len(share)))
    ways = ((share, other), (1 - share, 1 - other))
    threshold = weight / (1 + weight)
    gaps = [float((a > threshold).mean() - weight * (b > threshold).mean()) for a, b in ways]
    return max(gaps) > claim.delta + limit


def refuted_by_mmd(first: np.ndarray, second: np.ndarray, claim: PrivacyClaim, failure: float) -> bool:
    """Whether the maximum mean discrepancy exceeds what the claim allows.

    For a kernel with values in [0, 1] it is at most sqrt(2) times the total variation, which a claim bounds by
    (e^epsilon - 1 + 2 delta) / (e^epsilon + 1). Gaussian kernels of three widths, the median distance and fractions of
    it, each with its share of the failure probability; biased estimate, limit of Gretton et al. (2012), theorem 7.
    """
    median = float(np.median(pdist(np.concatenate([first[:_WIDTH], second[:_WIDTH]])))) or 1.0
    first, second = first[_WIDTH:_MOST_KERNEL], second[_WIDTH:_MOST_KERNEL]
    squares = [cdist(a, b, "sqeuclidean") for a, b in ((first, first), (second, second), (first, second))]
    weight, n = math.exp(claim.epsilon), len(first)
    allowed = math.sqrt(2) * (weight - 1 + 2 * claim.delta) / (weight + 1)
    limit = 4 / math.sqrt(n) + 2 * math.sqrt(math.log(len(_FRACTIONS) / failure) / n)
    found = []
    for fraction in _FRACTIONS:
        means = [float(np.exp(-square / (2 * (fraction * median) ** 2)).mean()) for square in squares]
        found.append(math.sqrt(max(means[0] + means[1] - 2 * means[2], 0.0)))
    return max(found) > allowed + limit


TESTERS: dict[str, Callable[[np.ndarray, np.ndarray, PrivacyClaim, float], bool]] = {
    "audit": refuted_by_audit,
    "hockey-stick": refuted_by_hockey_stick,
    "MMD": refuted_by_mmd,
}


def fewest(name: str, sizes: Sequence[int] = SIZES, seed: int = 0, epsilon: float = 1.0) -> dict[str, int | None]:
    """Fewest reports of each value with which every tester refutes a known-bad mechanism; None if none of the sizes."""
    randomizer = KNOWN_BAD[name][1](epsilon)
    streams = Streams(seed)
    # Several pairs can have the largest loss; pilot reports, which no tester sees again, choose the one tested.
    claim = PrivacyClaim(epsilon, randomizer.delta)
    pair, _ = worst_pair(DeviceSource(randomizer, streams.child("search")), claim, FAILURE, quick=True)
    first, second = (randomizer.sample(v, max(sizes), streams.child("power", value=v)) for v in pair)

    def smallest(
        tester: Callable[[np.ndarray, np.ndarray, PrivacyClaim, float], bool], tried: Iterable[int]
    ) -> int | None:
        return next((n for n in tried if tester(first[:n], second[:n], claim, FAILURE)), None)

    return {
        kind: smallest(tester, [n for n in sizes if kind != "MMD" or n <= _MOST_KERNEL])
        for kind, tester in TESTERS.items()
    }


def row(name: str) -> list[str]:
    """The mechanism and :func:`fewest` of every tester; – where no size refutes it."""
    return [name, *(str(n) if n else "–" for n in fewest(name).values())]


def write_csv(path: Path, names: Iterable[str] = tuple(KNOWN_BAD)) -> None:
    """Write the rows of some mechanisms, in processes side by side."""
    rows = Parallel(n_jobs=2)(delayed(row)(name) for name in names)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([["mechanism", *TESTERS], *rows])


if __name__ == "__main__":
    write_csv(Path(sys.argv[1]))
