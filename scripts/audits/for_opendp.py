"""Adapters of OpenDP: parameters that its own privacy map turns into epsilon."""

import math
from typing import Any

from scripts.audits.registry import DELTA, FIRST, N_CATEGORIES, SECOND, Report, adapts


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


@adapts("opendp", "randomized_response")
def _opendp_categories(epsilon: float) -> Report:
    dp = _opendp()
    truth = math.exp(epsilon) / (math.exp(epsilon) + N_CATEGORIES - 1)
    measure = dp.m.make_randomized_response(list(range(N_CATEGORIES)), truth)
    return lambda value, rng: measure((FIRST, SECOND)[value])


@adapts("opendp", "randomized_response_bool")
def _opendp_bool(epsilon: float) -> Report:
    dp = _opendp()
    measure = dp.m.make_randomized_response_bool(1.0 / (1.0 + math.exp(-epsilon)))
    return lambda value, rng: measure(bool(value))


@adapts("opendp", "randomized_response_bitvec")
def _opendp_bits(epsilon: float) -> Report:
    dp = _opendp()
    # One-hot vectors: two bits change, and each is kept with odds e^(epsilon / 2).
    flip = 2.0 / (1.0 + math.exp(epsilon / 2.0))
    domain = dp.bitvector_domain(max_weight=1)
    measure = dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), flip)
    inputs = [bytes([1 << FIRST]), bytes([1 << SECOND])]
    return lambda value, rng: [(measure(inputs[value])[0] >> i) & 1 for i in range(N_CATEGORIES)]


def _opendp_noise(name: str, whole: bool, delta: float = 0.0) -> None:
    @adapts("opendp", name + ("_integer" if whole else ""), delta)
    def make(epsilon: float) -> Report:
        dp = _opendp()
        kind = int if whole else float
        domain = dp.atom_domain(T=kind) if whole else dp.atom_domain(T=float, nan=False)
        space = domain, dp.absolute_distance(T=kind)
        maker = getattr(dp.m, f"make_{name}")
        if delta:
            scale = dp.binary_search(
                lambda s: (
                    dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(maker(*space, s)), delta).map(kind(1))[0] <= epsilon
                ),
                bounds=(0.05, 100.0),
            )
        else:
            scale = 1.0 / epsilon
        measure = maker(*space, scale)
        return lambda value, rng: measure(kind(value))


_opendp_noise("laplace", False)
_opendp_noise("laplace", True)
_opendp_noise("geometric", True)
_opendp_noise("gaussian", False, DELTA)
_opendp_noise("gaussian", True, DELTA)


@adapts("opendp", "canonical_noise", DELTA)
def _canonical(epsilon: float) -> Report:
    dp = _opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measure = dp.m.make_canonical_noise(*space, d_in=1.0, d_out=(epsilon, DELTA))
    return lambda value, rng: measure(float(value))
