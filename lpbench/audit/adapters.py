"""Local randomizers of other libraries, audited by sampling: diffprivlib, OpenDP, pure-ldp and multi-freq-ldpy.

Each entry of :data:`RANDOMIZERS` calls the library as its documentation says and turns a report into numbers. Reports
that name a hash function (local hashing, sketches, RAPPOR) become what the report says about each of the two values
compared, by the public hash: a function of the report alone, so that a lower bound on its loss bounds the report's.
"""

from __future__ import annotations

import csv
import importlib
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from lpbench.audit.empirical import lower_bound
from lpbench.audit.randomizers import Message, Randomizer
from lpbench.errors import ConfigurationError
from lpbench.privacy import GRR
from lpbench.seeds import Streams

#: Distributions.
LIBRARIES = ("diffprivlib", "opendp", "pure-ldp", "multi-freq-ldpy")
EPSILONS = (0.5, 1.0, 4.0)
#: Categories of the frequency oracles, the two that are compared, and slots of the sketches.
N_CATEGORIES, FIRST, SECOND, N_SLOTS = 4, 0, 1, 8
#: Delta of the mechanisms that have one.
DELTA = 0.01
#: Reports of each of the two values, and the probability that a bound exceeds the loss.
SAMPLES, FAILURE = 10_000, 1e-6

#: (value, rng) -> one report as a number or a sequence of numbers.
Report = Callable[[int, np.random.Generator], Any]


@dataclass(frozen=True)
class LibraryRandomizer:
    """A randomizer of a library.

    Attributes
    ----------
    library, name : str
        Distribution and the name of the mechanism in it.
    make : callable (epsilon) -> Report
    delta : float
        What the library documents.
    note : str
        What the library documents about its guarantee, where it is not epsilon alone.
    """

    library: str
    name: str
    make: Callable[[float], Report]
    delta: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class LibraryRow:
    """Result of one audit.

    Attributes
    ----------
    library, version, name : str
    epsilon, delta : float
        What is claimed.
    lower_bound : float
        What the sample proves.
    samples : int
        Reports of each of the two values.
    failure : float
        Probability that ``lower_bound`` exceeds the loss.
    verdict : {"within", "exceeds", "refused"}
        "within": the sample does not contradict the claim; "refused": the library does not take this epsilon.
    note : str
    """

    library: str
    version: str
    name: str
    epsilon: float
    delta: float
    lower_bound: float
    samples: int
    failure: float
    verdict: str
    note: str


RANDOMIZERS: dict[str, LibraryRandomizer] = {}


def _adapts(library: str, name: str, delta: float = 0.0, note: str = "") -> Callable[..., Callable[[float], Report]]:
    def register(make: Callable[[float], Report]) -> Callable[[float], Report]:
        RANDOMIZERS[f"{library}/{name}"] = LibraryRandomizer(library, name, make, delta, note)
        return make

    return register


def audit_library(
    key: str, epsilon: float, samples: int = SAMPLES, seed: int = 0, failure: float = FAILURE
) -> LibraryRow:
    """Bound the loss of a library's randomizer from below, between two values.

    Parameters
    ----------
    key : str
        ``library/name``, a key of :data:`RANDOMIZERS`.
    epsilon : float
        What it is asked for.
    samples : int
        Reports of each of the two values.
    seed : int
        Of the generators that a library lets be seeded; OpenDP draws from the operating system, so that its bounds
        differ slightly from run to run.
    failure : float
        Probability that the bound exceeds the loss.

    Raises
    ------
    ConfigurationError
        If the key is unknown or the library is not installed.
    """
    if key not in RANDOMIZERS:
        raise ConfigurationError(f"library={key!r} must be one of {', '.join(RANDOMIZERS)}")
    subject = RANDOMIZERS[key]
    try:
        report = subject.make(epsilon)
    except ImportError as error:
        raise ConfigurationError(
            f"{subject.library} cannot be imported ({error}): pip install 'lpbench[audit-libraries]' in an environment "
            "of its own"
        ) from error
    except ValueError as error:
        reason = f"the library refuses: {error}"
        return _row(subject, epsilon, 0.0, 0, failure, "refused", reason)

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        rng = streams.generator("library")
        with _seeded(int(rng.integers(2**31))):
            return np.array([np.ravel(report(value, rng)) for _ in range(n)], dtype=np.float64)

    message = Message(GRR(epsilon, 2), np.arange(2), send)
    randomizer = Randomizer(key, "ldp", epsilon, [message], 2, delta=subject.delta)
    bound = lower_bound(randomizer, samples, Streams(seed).child("library", name=key), failure, pair=(0, 1)).epsilon
    verdict = "exceeds" if bound > epsilon else "within"
    return _row(subject, epsilon, bound, samples, failure, verdict, subject.note)


def _row(
    subject: LibraryRandomizer, epsilon: float, bound: float, samples: int, failure: float, verdict: str, note: str
) -> LibraryRow:
    release = version(subject.library)
    return LibraryRow(
        subject.library, release, subject.name, epsilon, subject.delta, bound, samples, failure, verdict, note
    )


def write_csv(rows: list[LibraryRow], path: Path) -> None:
    """Write rows with the names of the attributes as a header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(LibraryRow)])
        writer.writerows([f"{v:.6g}" if isinstance(v, float) else v for v in astuple(row)] for row in rows)


def page(rows: list[dict[str, str]]) -> str:
    """Return the page of the table in Markdown.

    Parameters
    ----------
    rows : list of dict
        Lines of the file that :func:`write_csv` wrote.
    """
    names = list(dict.fromkeys((row["library"], row["version"], row["name"]) for row in rows))
    cells = {(row["library"], row["name"], float(row["epsilon"])): row for row in rows}
    delta = {key: cells[key[0], key[2], EPSILONS[0]]["delta"] for key in names}
    lines = [
        "# Randomizers of libraries",
        "",
        "Lower bounds on the loss of the local randomizers of four libraries, between two values, at three claimed",
        f"budgets: {SAMPLES} reports of each value, each bound wrong with probability {FAILURE:g} at most. A bound",
        "below the claim contradicts nothing; one above it, in bold, refutes the guarantee. Noise is compared as",
        "numbers of single precision, so that errors of floating point in its last bits are not seen. Where delta > 0",
        "it is what was asked for, and the bound is on epsilon at that delta. `lpbench audit --library LIBRARY",
        "--epsilon 1` makes a column anew, after `pip install 'lpbench[audit-libraries]'` in an environment of its",
        "own: the libraries need older versions of scikit-learn and xxhash than lpbench is locked to.",
        "",
        "| library | randomizer | delta | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |",
        "| --- | --- | --- |" + " --- |" * len(EPSILONS),
    ]
    for library, release, name in names:
        shown = [_cell(cells[library, name, epsilon]) for epsilon in EPSILONS]
        lines.append(f"| {library} {release} | {name} | {delta[library, release, name]} | " + " | ".join(shown) + " |")
    notes = {(row["library"], row["name"]): row["note"] for row in rows if row["note"]}
    lines += ["", "## Notes", ""] + [
        f"- {library}, {name}: {note.rstrip('.')}." for (library, name), note in notes.items()
    ]
    return "\n".join(lines) + "\n"


def _cell(row: dict[str, str]) -> str:
    if row["verdict"] == "refused":
        return "refused"
    bound = f"{float(row['lower_bound']):.2f}"
    return f"**{bound}**" if row["verdict"] == "exceeds" else bound


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that these libraries draw from, and restore them."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002


# diffprivlib: numbers 0 and 1 at sensitivity 1, or two categories.


def _diffprivlib(name: str, delta: float = 0.0, note: str = "", **options: Any) -> None:
    @_adapts("diffprivlib", name, delta, note)
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
_diffprivlib("Gaussian", DELTA, "the library accepts epsilon <= 1 alone", sensitivity=1)
for _name in ("GaussianAnalytic", "GaussianDiscrete"):
    _diffprivlib(_name, DELTA, sensitivity=1)


@_adapts("diffprivlib", "Binary")
def _binary(epsilon: float) -> Report:
    from diffprivlib.mechanisms import Binary

    mechanism = Binary(epsilon=epsilon, value0="0", value1="1", random_state=0)
    return lambda value, rng: int(mechanism.randomise(str(value)))


def _by_utility(name: str) -> None:
    @_adapts("diffprivlib", name)
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


@_adapts("diffprivlib", "ExponentialCategorical")
def _categorical(epsilon: float) -> Report:
    from diffprivlib.mechanisms import ExponentialCategorical

    utilities = [[str(i), str(j), 1.0] for i in range(N_CATEGORIES) for j in range(i)]
    mechanism = ExponentialCategorical(epsilon=epsilon, utility_list=utilities, random_state=0)
    return lambda value, rng: int(mechanism.randomise(str((FIRST, SECOND)[value])))


# OpenDP: parameters that its own privacy map turns into epsilon.


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


@_adapts("opendp", "randomized_response")
def _opendp_categories(epsilon: float) -> Report:
    dp = _opendp()
    truth = math.exp(epsilon) / (math.exp(epsilon) + N_CATEGORIES - 1)
    measure = dp.m.make_randomized_response(list(range(N_CATEGORIES)), truth)
    return lambda value, rng: measure((FIRST, SECOND)[value])


@_adapts("opendp", "randomized_response_bool")
def _opendp_bool(epsilon: float) -> Report:
    dp = _opendp()
    measure = dp.m.make_randomized_response_bool(1.0 / (1.0 + math.exp(-epsilon)))
    return lambda value, rng: measure(bool(value))


@_adapts("opendp", "randomized_response_bitvec")
def _opendp_bits(epsilon: float) -> Report:
    dp = _opendp()
    # One-hot vectors: two bits change, and each is kept with odds e^(epsilon / 2).
    flip = 2.0 / (1.0 + math.exp(epsilon / 2.0))
    domain = dp.bitvector_domain(max_weight=1)
    measure = dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), flip)
    inputs = [bytes([1 << FIRST]), bytes([1 << SECOND])]
    return lambda value, rng: [(measure(inputs[value])[0] >> i) & 1 for i in range(N_CATEGORIES)]


def _opendp_noise(name: str, whole: bool, delta: float = 0.0) -> None:
    @_adapts("opendp", name + ("_integer" if whole else ""), delta)
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


@_adapts("opendp", "canonical_noise", DELTA)
def _canonical(epsilon: float) -> Report:
    dp = _opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measure = dp.m.make_canonical_noise(*space, d_in=1.0, d_out=(epsilon, DELTA))
    return lambda value, rng: measure(float(value))


# pure-ldp: categories 1, ..., d as its clients take them.


def _pure(name: str, note: str = "") -> Callable[..., Callable[[float], Report]]:
    return _adapts("pure-ldp", name, 0.0, note)


def _pure_ldp_items() -> tuple[int, int]:
    return FIRST + 1, SECOND + 1


@_pure("DE")
def _pure_de(epsilon: float) -> Report:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    client, items = DEClient(epsilon, N_CATEGORIES), _pure_ldp_items()
    return lambda value, rng: client.privatise(items[value])


def _pure_unary(name: str, use_oue: bool) -> None:
    @_pure(name)
    def make(epsilon: float) -> Report:
        from pure_ldp.frequency_oracles.unary_encoding import UEClient

        client, items = UEClient(epsilon, N_CATEGORIES, use_oue=use_oue), _pure_ldp_items()
        return lambda value, rng: client.privatise(items[value])


_pure_unary("SUE", False)
_pure_unary("OUE", True)


@_pure("HE")
def _pure_he(epsilon: float) -> Report:
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient

    client, items = HEClient(epsilon, N_CATEGORIES), _pure_ldp_items()
    return lambda value, rng: client.privatise(items[value])


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
            shown, seed = client.privatise(items[value])
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
    return lambda value, rng: client.privatise(items[value])


@_pure("HadamardMechanism")
def _pure_mechanism(epsilon: float) -> Report:
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient

    client, items = HadamardMechClient(epsilon, N_CATEGORIES, 2), _pure_ldp_items()
    return lambda value, rng: [entry for pair in client.privatise(items[value]) for entry in pair]


def _pure_sketch(name: str, is_hadamard: bool) -> None:
    @_pure(name)
    def make(epsilon: float) -> Report:
        from pure_ldp.core import generate_hash_funcs
        from pure_ldp.frequency_oracles.apple_cms import CMSClient

        hashes = generate_hash_funcs(4, N_SLOTS)
        client, items = CMSClient(epsilon, hashes, N_SLOTS, is_hadamard=is_hadamard), _pure_ldp_items()

        def report(value: int, rng: np.random.Generator) -> list[int]:
            sent = client.privatise(items[value])
            if is_hadamard:
                sign, j, entry = sent
                return [sign * client.had[entry, hashes[j](str(item))] for item in items]
            bits, j = sent
            return [bits[hashes[j](str(item))] for item in items]

        return report


_pure_sketch("CMS", False)
_pure_sketch("HCMS", True)


@_pure("PrivCountSketch")
def _pure_count_sketch(epsilon: float) -> Report:
    from pure_ldp.core import generate_hash_funcs
    from pure_ldp.frequency_oracles.priv_count_sketch import PCSClient

    hashes = list(zip(generate_hash_funcs(4, N_SLOTS), generate_hash_funcs(4, 2), strict=True))
    client, items = PCSClient(epsilon, 4, N_SLOTS, hashes), _pure_ldp_items()

    def report(value: int, rng: np.random.Generator) -> list[int]:
        vector, j = client.privatise(items[value])
        place, sign = hashes[j]
        return [vector[place(str(item))] * (2 * sign(str(item)) - 1) for item in items]

    return report


@_pure(
    "RAPPOR",
    "RAPPORClient._perturb sets bits to 1 and never to 0, so that the bits of the value itself are always 1: a report "
    "without one of them excludes the value, and no epsilon holds (registry: pure-ldp-rappor)",
)
def _pure_rappor(epsilon: float) -> Report:
    from pure_ldp.core import generate_hash_funcs
    from pure_ldp.frequency_oracles.rappor import RAPPORClient

    hashes = [[function] for function in generate_hash_funcs(8, N_SLOTS)]
    client = RAPPORClient(0.5, N_SLOTS, hashes, num_of_cohorts=len(hashes))
    client.update_params(f=client.convert_eps_to_f(epsilon), hash_funcs=hashes)
    items = _pure_ldp_items()

    def report(value: int, rng: np.random.Generator) -> list[int]:
        bits, cohort = client.privatise(items[value])
        return [bits[hashes[cohort][0](str(v))] for v in (FIRST, SECOND)]

    return report


# multi-freq-ldpy: categories 0, ..., k - 1.


def _multi(name: str, path: str, *options: Any) -> None:
    @_adapts("multi-freq-ldpy", name)
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


@_adapts("multi-freq-ldpy", "SS")
def _multi_subset(epsilon: float) -> Report:
    client = _multi_freq(f"{_PURE}.SS:SS_Client")
    return lambda value, rng: np.isin(np.arange(N_CATEGORIES), client((FIRST, SECOND)[value], N_CATEGORIES, epsilon))


@_adapts(
    "multi-freq-ldpy",
    "SS, order of the set",
    0.0,
    "SS_Client returns an array whose first entry is the value whenever the set holds it, so that any later entry is "
    "not the value; the guarantee is that of the set, and holds if the array is sorted before it is sent (registry: "
    "multi-freq-ldpy-ss)",
)
def _multi_subset_order(epsilon: float) -> Report:
    client = _multi_freq(f"{_PURE}.SS:SS_Client")
    return lambda value, rng: client((FIRST, SECOND)[value], 2 * N_CATEGORIES, epsilon)


def _multi_hashing(name: str, optimal: bool) -> None:
    @_adapts("multi-freq-ldpy", name)
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


def _multi_attributes(name: str, path: str) -> None:
    """Two attributes that both change."""

    @_adapts("multi-freq-ldpy", name)
    def make(epsilon: float) -> Report:
        client = _multi_freq(path)
        both = [[FIRST] * 2, [SECOND] * 2]

        def report(value: int, rng: np.random.Generator) -> np.ndarray:
            sent = client(both[value], [N_CATEGORIES] * 2, 2, epsilon)
            return np.concatenate([np.ravel(part) for part in sent])

        return report


for _kind in ("GRR", "UE"):
    _multi_attributes(f"SPL[{_kind}]", f"mdim_freq_est.SPL_solution:SPL_{_kind}_Client")
    _multi_attributes(f"SMP[{_kind}]", f"mdim_freq_est.SMP_solution:SMP_{_kind}_Client")
_multi_attributes("RS+FD[GRR]", "mdim_freq_est.RSpFD_solution:RSpFD_GRR_Client")
_multi_attributes("RS+FD[UE-z]", "mdim_freq_est.RSpFD_solution:RSpFD_UE_zero_Client")
_multi_attributes("RS+FD[UE-r]", "mdim_freq_est.RSpFD_solution:RSpFD_UE_rnd_Client")


def _multi_longitudinal(name: str) -> None:
    """One report of a longitudinal protocol, whose promise is ``eps_1``."""

    @_adapts("multi-freq-ldpy", f"{name}, one report", 0.0, "eps_1 = epsilon, eps_perm = 2 epsilon")
    def make(epsilon: float) -> Report:
        client = _multi_freq(f"long_freq_est.{name.replace('-', '_')}:{name.replace('-', '_')}_Client")
        return lambda value, rng: client((FIRST, SECOND)[value], N_CATEGORIES, 2 * epsilon, epsilon)


for _name in ("L-GRR", "L-SUE", "L-OUE", "L-OSUE", "L-SOUE", "L-ADP"):
    _multi_longitudinal(_name)


@_adapts("multi-freq-ldpy", "dBitFlipPM")
def _multi_bit_flip(epsilon: float) -> Report:
    client = _multi_freq("long_freq_est.dBitFlipPM:dBitFlipPM_Client")
    return lambda value, rng: client((FIRST, SECOND)[value], N_CATEGORIES, N_CATEGORIES, 2, epsilon)
