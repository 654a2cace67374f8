"""Compare ResidualScore of four to twenty classes with its rivals on paired splits, for docs/methods_notes.md.

The rivals are randomized response and subset selection, each with the learners ``ridge`` and ``gaussian_process``. A
case is a family of data, a number of classes and a budget; its ratio is the mean error of ResidualScore over that of
the rival of least mean error. Whether it is above 1.05 is tested by the signed ranks of paired errors, with Holm's
correction over the cases.

Usage: python scripts/measure_many_classes.py FIRST LAST [EPSILON ...], with numbers of splits; airfoil is read from the
mirror LPBENCH_DATA_MIRROR.
"""

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon
from sklearn.datasets import load_digits

from lpbench.datasets.sources import MIRROR_VARIABLE
from lpbench.estimators import PrivateLabelsClassifier, ResidualScore

#: Training rows and classes, test rows and classes, and protected columns.
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[int]]

#: Factor above which a case is bad.
BAD = 1.05
OURS = "ResidualScore"
CASE = ["family", "classes", "epsilon"]


def scaled(X: np.ndarray) -> np.ndarray:
    """Map every column onto [0, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1)


def mixture(K: int, split: int, n: int, clusters: int, apart: float, zipf: int, d: int = 8) -> Split:
    """Draw ``clusters`` Gaussians a class; shares are ranks to the power of -zipf; half of the columns protected."""
    rng, places = np.random.default_rng([0, K, split]), np.random.default_rng([99, K, split, clusters])
    shares = 1 / np.arange(1, K + 1) ** zipf
    y = rng.choice(K, size=n + 1000, p=shares / shares.sum())
    cluster = rng.integers(clusters, size=n + 1000)
    centers = apart * places.normal(size=(K, clusters, d))
    X = scaled(centers[y, cluster] + rng.normal(size=(n + 1000, d)))
    return X[:n], y[:n], X[n:], y[n:], list(range(d // 2))


def digits(K: int, split: int) -> Split:
    """Take the first K digits, three quarters for training; half of the pixels, drawn at random, are protected."""
    X, y = load_digits(return_X_y=True)
    X, y = X[y < K] / 16.0, y[y < K]
    rng = np.random.default_rng([7, split])
    order, n = rng.permutation(len(y)), int(0.75 * len(y))
    mask = sorted(rng.permutation(64)[:32].tolist())
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]], mask


@cache
def airfoil_rows() -> np.ndarray:
    """Read the rows of airfoil, of which the last column is the label."""
    return np.genfromtxt(Path(os.environ[MIRROR_VARIABLE]) / "AIR" / "original.dat", skip_header=1)


def airfoil(K: int, split: int) -> Split:
    """Cut the label of airfoil at its quantiles; two of five features are protected."""
    rows = airfoil_rows()
    X, y = scaled(rows[:, :5]), np.searchsorted(np.quantile(rows[:, 5], np.arange(1, K) / K), rows[:, 5])
    order = np.random.default_rng([8, split]).permutation(len(y))
    return X[order[:1100]], y[order[:1100]], X[order[1100:]], y[order[1100:]], [1, 3]


#: Families of data and their numbers of classes.
FAMILIES: dict[str, tuple[Callable[[int, int], Split], tuple[int, ...]]] = {
    "one cluster": (partial(mixture, n=2000, clusters=1, apart=2.0, zipf=0), (4, 6, 10, 20)),
    "two clusters": (partial(mixture, n=3000, clusters=2, apart=2.0, zipf=0), (4, 6, 10, 20)),
    "zipf": (partial(mixture, n=2000, clusters=1, apart=2.0, zipf=1), (4, 6, 10, 20)),
    "weak zipf": (partial(mixture, n=1000, clusters=1, apart=0.8, zipf=1), (4, 6, 10, 20)),
    "digits": (digits, (4, 6, 10)),
    "airfoil": (airfoil, (4, 6)),
}


def methods(epsilon: float, K: int, seed: int) -> Iterator[tuple[str, ResidualScore | PrivateLabelsClassifier]]:
    """ResidualScore and the four rivals, by name."""
    yield OURS, ResidualScore(epsilon, classes=range(K), random_state=seed)
    for randomizer in ("rr", "subset_selection"):
        for learner in ("ridge", "gaussian_process"):
            rival = PrivateLabelsClassifier(epsilon, randomizer, learner, classes=range(K), random_state=seed)
            yield f"{randomizer}, {learner}", rival


def errors(splits: range, budgets: list[float]) -> pd.DataFrame:
    """Error of every method in every case and split."""
    rows = []
    for split in splits:
        for family, (draw, numbers) in FAMILIES.items():
            for K in numbers:
                X, y, X_test, y_test, mask = draw(K, split)
                for epsilon in budgets:
                    for name, method in methods(epsilon, K, split):
                        predicted = method.fit(X, y, mask=mask).predict(X_test)
                        rows.append((family, K, epsilon, split, name, np.mean(predicted != y_test)))
        print(f"split {split}", file=sys.stderr, flush=True)
    return pd.DataFrame(rows, columns=[*CASE, "split", "method", "error"])


def compared(found: pd.DataFrame) -> pd.DataFrame:
    """Ratio to the best rival of each case, and one-sided p-values against :data:`BAD`, by themselves and by Holm."""
    rows = []
    for case, of_case in found.groupby(CASE):
        table = of_case.pivot(index="split", columns="method", values="error")
        rivals = table.drop(columns=OURS)
        best = rivals.mean().idxmin()
        p = wilcoxon(table[OURS] - BAD * rivals[best], alternative="greater").pvalue
        rows.append((*case, best, len(table), table[OURS].mean() / rivals[best].mean(), p))
    result = pd.DataFrame(rows, columns=[*CASE, "best rival", "splits", "ratio", "p"]).sort_values("p")
    result["holm"] = np.minimum(np.maximum.accumulate(result["p"] * np.arange(len(result), 0, -1)), 1.0)
    return result


if __name__ == "__main__":
    first, last, *epsilons = sys.argv[1:]
    of_cases = compared(errors(range(int(first), int(last)), [float(e) for e in epsilons] or [0.5, 1.0, 2.0, 4.0]))
    print(of_cases.sort_values("ratio", ascending=False).to_string(index=False))
    print(np.exp(np.log(of_cases["ratio"]).groupby(of_cases["epsilon"]).mean()))
    print(f"geometric mean of the ratios: {np.exp(np.log(of_cases['ratio']).mean()):.3f}")
