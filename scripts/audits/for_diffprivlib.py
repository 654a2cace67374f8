"""Adapters of diffprivlib: numbers 0 and 1 at sensitivity 1, or two categories."""

from typing import Any

import numpy as np

from scripts.audits.registry import DELTA, FIRST, N_CATEGORIES, SECOND, Report, adapts


def _diffprivlib(name: str, delta: float = 0.0, note: str = "", **options: Any) -> None:
    @adapts("diffprivlib", name, delta, note)
    def make(epsilon: float) -> Report:
        from diffprivlib import mechanisms

        given = {"delta": delta} if delta else {}
        whole = name.startswith("Geometric") or name == "GaussianDiscrete"
        mechanism = getattr(mechanisms, name)(epsilon=epsilon, random_state=0, **given, **options)
        return lambda value, rng: mechanism.randomise(value if whole else float(value))


for _name in ("Laplace", "Staircase", "Geometric"):
    _diffprivlib(_name, sensitivity=1)
for _name in ("LaplaceTruncated", "LaplaceFolded", "LaplaceBoundedDomain", "Snapping", "GeometricTruncated"):
    _diffprivlib(_name, sensitivity=1, lower=0, upper=1)
_diffprivlib("GeometricFolded", sensitivity=1, lower=0, upper=1)
_diffprivlib("LaplaceBoundedNoise", DELTA, sensitivity=1)
_diffprivlib("Gaussian", DELTA, "the library accepts only epsilon <= 1", sensitivity=1)
for _name in ("GaussianAnalytic", "GaussianDiscrete"):
    _diffprivlib(_name, DELTA, sensitivity=1)


@adapts("diffprivlib", "Binary")
def _binary(epsilon: float) -> Report:
    from diffprivlib.mechanisms import Binary

    mechanism = Binary(epsilon=epsilon, value0="0", value1="1", random_state=0)
    return lambda value, rng: int(mechanism.randomise(str(value)))


def _by_utility(name: str) -> None:
    @adapts("diffprivlib", name)
    def make(epsilon: float) -> Report:
        from diffprivlib import mechanisms

        utilities = np.eye(N_CATEGORIES)
        choose = [
            getattr(mechanisms, name)(epsilon=epsilon, sensitivity=1, utility=list(row), random_state=1 + i)
            for i, row in enumerate(utilities[[FIRST, SECOND]])
        ]
        return lambda value, rng: choose[value].randomise()


_by_utility("Exponential")
_by_utility("PermuteAndFlip")


@adapts("diffprivlib", "ExponentialCategorical")
def _categorical(epsilon: float) -> Report:
    from diffprivlib.mechanisms import ExponentialCategorical

    utilities = [[str(i), str(j), 1.0] for i in range(N_CATEGORIES) for j in range(i)]
    mechanism = ExponentialCategorical(epsilon=epsilon, utility_list=utilities, random_state=0)
    return lambda value, rng: int(mechanism.randomise(str((FIRST, SECOND)[value])))


@adapts("diffprivlib", "ExponentialHierarchical")
def _hierarchical(epsilon: float) -> Report:
    from diffprivlib.mechanisms import ExponentialHierarchical

    mechanism = ExponentialHierarchical(epsilon=epsilon, hierarchy=[["0", "2"], ["1", "3"]], random_state=0)
    return lambda value, rng: int(mechanism.randomise(str((FIRST, SECOND)[value])))


@adapts("diffprivlib", "Uniform", DELTA, "is (0, δ)-private, because its noise does not depend on epsilon")
def _uniform(epsilon: float) -> Report:
    from diffprivlib.mechanisms import Uniform

    mechanism = Uniform(delta=DELTA, sensitivity=1, random_state=0)
    return lambda value, rng: mechanism.randomise(float(value))


@adapts("diffprivlib", "Bingham", 0.0, "the two values are covariance matrices of single records that are orthogonal")
def _bingham(epsilon: float) -> Report:
    from diffprivlib.mechanisms import Bingham

    mechanism = Bingham(epsilon=epsilon, sensitivity=1, random_state=0)
    matrices = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    # an eigenvector has no sign
    return lambda value, rng: np.abs(mechanism.randomise(matrices[value]))
