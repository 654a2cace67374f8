"""Adapters of pure-ldp: categories 1, ..., d as its clients take them."""

from collections.abc import Callable

import numpy as np

from scripts.audits.registry import FIRST, N_CATEGORIES, N_SLOTS, SECOND, Report, adapts


def _pure(name: str, note: str = "") -> Callable[..., Callable[[float], Report]]:
    return adapts("pure-ldp", name, 0.0, note)


def _pure_ldp_items() -> tuple[int, int]:
    return FIRST + 1, SECOND + 1


@_pure("DE")
def _pure_de(epsilon: float) -> Report:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    client, items = DEClient(epsilon, N_CATEGORIES), _pure_ldp_items()
    return lambda value, rng: client.privatize(items[value])


def _pure_unary(name: str, use_oue: bool) -> None:
    @_pure(name)
    def make(epsilon: float) -> Report:
        from pure_ldp.frequency_oracles.unary_encoding import UEClient

        client, items = UEClient(epsilon, N_CATEGORIES, use_oue=use_oue), _pure_ldp_items()
        return lambda value, rng: client.privatize(items[value])


_pure_unary("SUE", False)
_pure_unary("OUE", True)


@_pure("HE")
def _pure_he(epsilon: float) -> Report:
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient

    client, items = HEClient(epsilon, N_CATEGORIES), _pure_ldp_items()
    return lambda value, rng: client.privatize(items[value])


def _pure_hashing(name: str, fast: bool, use_olh: bool) -> None:
    @_pure(name)
    def make(epsilon: float) -> Report:
        import xxhash
        from pure_ldp.frequency_oracles.local_hashing import FastLHClient, LHClient

        options = {"use_olh": use_olh}
        arguments = (epsilon, N_CATEGORIES, 100) if fast else (epsilon, N_CATEGORIES)
        client = (FastLHClient if fast else LHClient)(*arguments, **options)
        items = _pure_ldp_items()

        def report(value: int, rng: np.random.Generator) -> list[bool]:
            shown, seed = client.privatize(items[value])
            return [shown == xxhash.xxh32(str(v), seed=seed).intdigest() % client.g for v in (FIRST, SECOND)]

        return report


_pure_hashing("BLH", False, False)
_pure_hashing("OLH", False, True)
_pure_hashing("FastOLH", True, True)


@_pure("HadamardResponse")
def _pure_hadamard(epsilon: float) -> Report:
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer

    permutation = HadamardResponseServer(epsilon, N_CATEGORIES).get_hash_funcs()
    client, items = HadamardResponseClient(epsilon, N_CATEGORIES, permutation), _pure_ldp_items()
    return lambda value, rng: client.privatize(items[value])


@_pure("HadamardMechanism")
def _pure_mechanism(epsilon: float) -> Report:
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient

    client, items = HadamardMechClient(epsilon, N_CATEGORIES, 2), _pure_ldp_items()
    return lambda value, rng: [entry for pair in client.privatize(items[value]) for entry in pair]


def _pure_sketch(name: str, is_hadamard: bool) -> None:
    @_pure(name)
    def make(epsilon: float) -> Report:
        from pure_ldp.core import generate_hash_funcs
        from pure_ldp.frequency_oracles.apple_cms import CMSClient

        hashes = generate_hash_funcs(4, N_SLOTS)
        client, items = CMSClient(epsilon, hashes, N_SLOTS, is_hadamard=is_hadamard), _pure_ldp_items()

        def report(value: int, rng: np.random.Generator) -> list[int]:
            sent = client.privatize(items[value])
            if is_hadamard:
                sign, j, entry = sent
                return [sign * client.had[entry, hashes[j](str(item))] for item in items]
            bits, j = sent
            return [bits[hashes[j](str(item))] for item in items]

        return report


_pure_sketch("CMS", False)
_pure_sketch("HCMS", True)


def _pure_response(name: str, count_sketch: bool) -> None:
    """A hashed item sent by fast local hashing; the report says of each item whether it fits."""

    @_pure(name)
    def make(epsilon: float) -> Report:
        import xxhash
        from pure_ldp.core import generate_hash_funcs
        from pure_ldp.frequency_oracles.sketch_response import SketchResponseClient

        places, signs = generate_hash_funcs(4, N_SLOTS), generate_hash_funcs(4, 2)
        hashes = list(zip(places, signs, strict=True)) if count_sketch else places
        client = SketchResponseClient(epsilon, N_SLOTS, hashes, index_mapper=str, count_sketch=count_sketch)
        items = _pure_ldp_items()

        def slot(item: int, k: int) -> int:
            if not count_sketch:
                return places[k](str(item))
            return client.cs_map((places[k](str(item)) + 1) * (2 * signs[k](str(item)) - 1))

        def report(value: int, rng: np.random.Generator) -> list[bool]:
            (shown, seed), k = client.privatize(items[value])
            g = client.client.g
            return [shown == xxhash.xxh32(str(slot(item, k)), seed=seed).intdigest() % g for item in items]

        return report


_pure_response("SketchResponse", False)
_pure_response("SketchResponse, count sketch", True)


@_pure("PrivCountSketch")
def _pure_count_sketch(epsilon: float) -> Report:
    from pure_ldp.core import generate_hash_funcs
    from pure_ldp.frequency_oracles.priv_count_sketch import PCSClient

    hashes = list(zip(generate_hash_funcs(4, N_SLOTS), generate_hash_funcs(4, 2), strict=True))
    client, items = PCSClient(epsilon, 4, N_SLOTS, hashes), _pure_ldp_items()

    def report(value: int, rng: np.random.Generator) -> list[int]:
        vector, j = client.privatize(items[value])
        place, sign = hashes[j]
        return [vector[place(str(item))] * (2 * sign(str(item)) - 1) for item in items]

    return report


@_pure(
    "RAPPOR",
    "RAPPORClient._perturb sets bits to 1 and never to 0, so the bits of the value are always 1. A report with a 0 in "
    "one of these bits excludes the value, and no epsilon holds (registry: pure-ldp-rappor)",
)
def _pure_rappor(epsilon: float) -> Report:
    from pure_ldp.core import generate_hash_funcs
    from pure_ldp.frequency_oracles.rappor import RAPPORClient

    hashes = [[function] for function in generate_hash_funcs(8, N_SLOTS)]
    client = RAPPORClient(0.5, N_SLOTS, hashes, num_of_cohorts=len(hashes))
    client.update_params(f=client.convert_eps_to_f(epsilon), hash_funcs=hashes)
    items = _pure_ldp_items()

    def report(value: int, rng: np.random.Generator) -> list[int]:
        bits, cohort = client.privatize(items[value])
        return [bits[hashes[cohort][0](str(v))] for v in (FIRST, SECOND)]

    return report
