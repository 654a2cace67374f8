"""Adapters of multi-freq-ldpy: categories 0, ..., k - 1."""

import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scripts.audits.registry import FIRST, N_CATEGORIES, SECOND, Report, adapts


def _multi(name: str, path: str, *options: Any) -> None:
    @adapts("multi-freq-ldpy", name)
    def make(epsilon: float) -> Report:
        client = _multi_freq(path)
        return lambda value, rng: client((FIRST, SECOND)[value], N_CATEGORIES, epsilon, *options)


def _multi_freq(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(f"multi_freq_ldpy.{module}"), name)


_PURE = "pure_frequency_oracles"
_multi("GRR", f"{_PURE}.GRR:GRR_Client")
_multi("SUE", f"{_PURE}.UE:UE_Client", False)
_multi("OUE", f"{_PURE}.UE:UE_Client", True)
_multi("ADP", f"{_PURE}.ADP:ADP_Client")
_multi("SHE", f"{_PURE}.HE:HE_Client")


@adapts("multi-freq-ldpy", "SS")
def _multi_subset(epsilon: float) -> Report:
    client = _multi_freq(f"{_PURE}.SS:SS_Client")
    return lambda value, rng: np.isin(np.arange(N_CATEGORIES), client((FIRST, SECOND)[value], N_CATEGORIES, epsilon))


@adapts(
    "multi-freq-ldpy",
    "SS, order of the set",
    0.0,
    "SS_Client puts the value first whenever the set contains it, so the order reveals the value. The guarantee is "
    "that of the set: it holds if the array is sorted before it is sent (registry: multi-freq-ldpy-ss)",
)
def _multi_subset_order(epsilon: float) -> Report:
    client = _multi_freq(f"{_PURE}.SS:SS_Client")
    return lambda value, rng: client((FIRST, SECOND)[value], 2 * N_CATEGORIES, epsilon)


def _multi_hashing(name: str, optimal: bool) -> None:
    @adapts("multi-freq-ldpy", name)
    def make(epsilon: float) -> Report:
        import xxhash

        client = _multi_freq(f"{_PURE}.LH:LH_Client")
        n_slots = round(math.exp(epsilon)) + 1 if optimal else 2

        def report(value: int, rng: np.random.Generator) -> list[bool]:
            shown, seed = client((FIRST, SECOND)[value], N_CATEGORIES, epsilon, optimal)
            return [shown == xxhash.xxh32(str(v), seed=seed).intdigest() % n_slots for v in (FIRST, SECOND)]

        return report


_multi_hashing("BLH", False)
_multi_hashing("OLH", True)


#: (sent, epsilon of this attribute) -> the report of one attribute as numbers.
View = Callable[[Any, float], Any]


def _as_sent(sent: Any, epsilon: float) -> np.ndarray:
    return np.ravel(sent)


def _as_set(sent: Any, epsilon: float) -> np.ndarray:
    return np.isin(np.arange(N_CATEGORIES), sent)


def _by_hash(sent: Any, epsilon: float) -> list[bool]:
    """Whether a report of optimal local hashing fits each of the two values."""
    import xxhash

    shown, seed = sent
    n_slots = round(math.exp(epsilon)) + 1
    return [shown == xxhash.xxh32(str(v), seed=seed).intdigest() % n_slots for v in (FIRST, SECOND)]


#: Protocols of one attribute -> how their reports are read.
_VIEWS: dict[str, View] = {"GRR": _as_sent, "UE": _as_sent, "ADP": _as_sent, "LH": _by_hash, "SS": _as_set}


def _multi_attributes(
    name: str,
    path: str,
    last: Callable[[float], Sequence[Any]] = lambda epsilon: (2, epsilon),
    view: View = _as_sent,
    note: str = "",
) -> None:
    """Two attributes that both change; ``last`` are the arguments after values and domain sizes."""

    @adapts("multi-freq-ldpy", name, 0.0, note)
    def make(epsilon: float) -> Report:
        client = _multi_freq(path)
        both, sizes = [[FIRST] * 2, [SECOND] * 2], [N_CATEGORIES] * 2
        share = epsilon / 2 if name.startswith("SPL") else epsilon

        def report(value: int, rng: np.random.Generator) -> np.ndarray:
            sent = client(both[value], sizes, *last(epsilon))
            if "SMP" in name:
                return np.concatenate([[sent[0]], np.ravel(view(sent[1], share))])
            return np.concatenate([np.ravel(view(part, share)) for part in sent])

        return report


for _kind, _view in _VIEWS.items():
    _multi_attributes(f"SPL[{_kind}]", f"mdim_freq_est.SPL_solution:SPL_{_kind}_Client", view=_view)
    _multi_attributes(f"SMP[{_kind}]", f"mdim_freq_est.SMP_solution:SMP_{_kind}_Client", view=_view)
#: Why a bound may exceed epsilon: the attribute that is drawn is reported with the budget log(d (e^epsilon - 1) + 1).
_ONE_ATTRIBUTE = (
    "the claim rests on amplification by sampling, which covers tuples that differ in one attribute. Our two tuples "
    "differ in both attributes, so their loss is at most log(2 e^epsilon - 1), 1.49 at epsilon = 1. RS+FD[GRR] reaches "
    "this loss when both reports give the true values"
)
for _kind, _client in {"GRR": "GRR", "UE-z": "UE_zero", "UE-r": "UE_rnd", "ADP": "ADP"}.items():
    _path = f"mdim_freq_est.RSpFD_solution:RSpFD_{_client}_Client"
    _multi_attributes(f"RS+FD[{_kind}]", _path, note=_ONE_ATTRIBUTE)

#: What one report of a longitudinal protocol promises, and all of them together.
_ONE_REPORT = "the first report has the budget eps_1 = epsilon; all reports together have eps_perm = 2 epsilon"


def _multi_longitudinal(kind: str) -> None:
    """One report of a longitudinal protocol, whose promise is ``eps_1``: of one attribute, and of two."""
    name = f"L_{kind}"

    @adapts("multi-freq-ldpy", f"L-{kind}, one report", 0.0, _ONE_REPORT)
    def make(epsilon: float) -> Report:
        client = _multi_freq(f"long_freq_est.{name}:{name}_Client")
        return lambda value, rng: client((FIRST, SECOND)[value], N_CATEGORIES, 2 * epsilon, epsilon)

    for way in ("SPL", "SMP"):
        path = f"long_mdim_freq_est.L_{way}_Solution:{way}_{name}_Client"
        _multi_attributes(f"L-{way}[L-{kind}], one report", path, lambda e: (2, 2 * e, e), note=_ONE_REPORT)


for _kind in ("GRR", "SUE", "OUE", "OSUE", "SOUE", "ADP"):
    _multi_longitudinal(_kind)


def _multi_longitudinal_hashing(name: str, optimal: bool) -> None:
    @adapts("multi-freq-ldpy", f"{name}, one report", 0.0, _ONE_REPORT)
    def make(epsilon: float) -> Report:
        import xxhash

        client = _multi_freq("long_freq_est.L_LH:L_LH_Client")
        n_slots = _slots_of_hashing(2 * epsilon, epsilon) if optimal else 2

        def report(value: int, rng: np.random.Generator) -> list[bool]:
            shown, seed = client((FIRST, SECOND)[value], N_CATEGORIES, 2 * epsilon, epsilon, optimal)
            return [shown == xxhash.xxh32(str(v), seed=seed).intdigest() % n_slots for v in (FIRST, SECOND)]

        return report


def _slots_of_hashing(whole: float, one: float) -> int:
    """Slots of optimal longitudinal hashing (Arcolezi et al. 2023, equation for g), which the report does not name."""
    a, b = math.exp(whole), math.exp(one)
    root = math.sqrt(a**4 - 14 * a**2 - 12 * a**2 * b**2 + 12 * a * b + 12 * a**3 * b + 1)
    return max(round((root - a**2 + 6 * a - 6 * b + 1) / (6 * (a - b))), 2)


_multi_longitudinal_hashing("L-BLH", False)
_multi_longitudinal_hashing("L-OLH", True)


@adapts("multi-freq-ldpy", "dBitFlipPM")
def _multi_bit_flip(epsilon: float) -> Report:
    client = _multi_freq("long_freq_est.dBitFlipPM:dBitFlipPM_Client")
    return lambda value, rng: client((FIRST, SECOND)[value], N_CATEGORIES, N_CATEGORIES, 2, epsilon)


for _way in ("SPL", "SMP"):
    _multi_attributes(
        f"L-{_way}[dBitFlipPM]",
        f"long_mdim_freq_est.L_{_way}_Solution:{_way}_dBitFlipPM_Client",
        lambda e: ([N_CATEGORIES] * 2, 2, 2, e),
    )
