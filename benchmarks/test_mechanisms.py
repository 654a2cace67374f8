"""Randomizers against numpy, generalized randomized response, the laws of sums, and the look-up of noisy cells."""

import tracemalloc

import numpy as np
import pytest
from conftest import cpu_seconds, timed

from lpbench.estimators import PHIST
from lpbench.estimators.lpct.votes import VOTE, VoteMechanism, VoteQuestion, count_votes, noisy_votes
from lpbench.partitions import GridCells
from lpbench.privacy import GRR, BitVector, HadamardResponse, Records, SubsetSelection, grr_weights
from lpbench.seeds import Streams

#: Entries of numpy's largest array.
MOST_ENTRIES = 5 * 10**7


def test_grr(benchmark, record):
    """Reports of 10^6 users."""
    rng = np.random.default_rng(0)
    values = rng.integers(64, size=10**6)
    mechanism = GRR(1.0, 64)
    seconds = timed(benchmark, lambda: mechanism.randomize(values, np.random.default_rng(1)))
    record.add("GRR", "10^6 users, 64 categories", "seconds", seconds)
    record.against_memory("GRR", "10^6 users, 64 categories", seconds, 2 * values.nbytes)
    sizes = [10**5, 3 * 10**5, 10**6]
    times = [cpu_seconds(lambda n=n: mechanism.randomize(values[:n], np.random.default_rng(1))) for n in sizes]
    record.exponent("GRR", "n", sizes, times)
    categories = [4, 64, 1024, 16384]
    times = [cpu_seconds(lambda m=m: GRR(1.0, m).randomize(values % m, np.random.default_rng(1))) for m in categories]
    record.exponent("GRR", "cells", categories, times)


def numpy_bits(values, k, rng):
    """Whole arrays of uniforms and of one-hot vectors."""
    return (values[:, None] == np.arange(k)) == (rng.random((values.size, k)) < BitVector(1.0, k).response.keep)


def numpy_subsets(values, k, rng):
    """Whole arrays of uniforms, the truth's before or behind all others."""
    mechanism, keys = SubsetSelection.least_variance(1.0, k), rng.random((values.size, k))
    keys[np.arange(values.size), values] = np.where(rng.random(values.size) < mechanism.probabilities[0], -1.0, 2.0)
    return np.sort(np.argpartition(keys, mechanism.size - 1, axis=1)[:, : mechanism.size], axis=1)


def numpy_categories(values, k, rng):
    """The truth, or any category."""
    told = rng.random(values.size) < 1.0 / grr_weights(k, 1.0)[0]
    return np.where(told, values, rng.integers(k, size=values.size))


def numpy_hadamard(values, k, rng):
    """Whole arrays of places in the block, and of uniforms."""
    mechanism = HadamardResponse(1.0, k)
    block, row = np.divmod(values, mechanism.length - 1)
    row, place = row + 1, rng.integers(mechanism.length, size=values.size)
    place = np.where(np.bitwise_count(place & row) & 1, place ^ (row & -row), place)
    told = rng.random(values.size) < mechanism.told / 2**62
    return np.where(told, block * mechanism.length + place, rng.integers(mechanism.n_reports, size=values.size))


def peak(function) -> float:
    """Megabytes beside what the function returns, at most."""
    tracemalloc.start()
    kept = function()
    most = tracemalloc.get_traced_memory()[1] - kept.nbytes
    tracemalloc.stop()
    return most / 1e6


RANDOMIZERS = {
    "bit vector": (BitVector, numpy_bits),
    "subset selection": (SubsetSelection.least_variance, numpy_subsets),
    "GRR": (GRR, numpy_categories),
    "Hadamard response": (HadamardResponse, numpy_hadamard),
}


@pytest.mark.parametrize("name", RANDOMIZERS)
def test_randomizers_against_numpy(benchmark, record, name):
    """Reports at k = 16, 256 and 4,096 of 10^4 to 10^6 users, as far as numpy's whole arrays fit."""
    make, by_numpy = RANDOMIZERS[name]
    benchmark.pedantic(lambda: None)
    for k in (16, 256, 4096):
        memory = []
        for n in (10**4, 10**5, 10**6):
            if n * k > MOST_ENTRIES:
                continue
            mechanism, rng = make(1.0, k), np.random.default_rng(1)
            values = np.random.default_rng(0).integers(k, size=n)

            # new draws each time: a processor learns the branches of old ones
            def ours(values=values, mechanism=mechanism, rng=rng):
                return mechanism.randomize(values, rng)

            def theirs(values=values, k=k, rng=rng):
                return by_numpy(values, k, rng)

            # in turn, three calls each: the first finds the other's memory in the caches; short calls more often
            found = [(cpu_seconds(ours), cpu_seconds(theirs)) for _ in range(3 + 3 * 10**7 // (n * k))]
            seconds, peer = map(min, zip(*found, strict=True))
            against = f"numpy, {1e9 * peer / n:.3g} ns a user"
            record.add(name, f"k = {k}, {n:g} users", "time", seconds / peer, against=against, at_most=1.05)
            memory.append(peak(ours) / peak(theirs))
        record.add(name, f"k = {k}", "memory beside the reports", max(memory), against="numpy", at_most=1.05)


def test_sum_laws(benchmark, record):
    """Noisy votes of 10,000 users by the law of the sums, against drawing every user's table."""
    rng = np.random.default_rng(0)
    n, n_cells = 10_000, 256
    cells, codes = rng.integers(n_cells, size=n), rng.integers(2, size=n)
    mechanism = VoteMechanism(1.0)

    def by_law(n_cells: int = n_cells):
        return noisy_votes(count_votes(cells % n_cells, codes, n_cells, 2), n, mechanism, Streams(0))

    seconds = timed(benchmark, lambda: [by_law() for _ in range(20)]) / 20
    question = VoteQuestion(GridCells(n_cells, 1), 2, mechanism)
    records = Records((cells[:, None] + 0.5) / n_cells, codes)
    per_user = cpu_seconds(lambda: VOTE.added_up(records, question, np.random.default_rng(0)), rounds=1)
    record.add("sum laws", "10,000 users, 256 cells", "seconds", seconds)
    record.add("sum laws", "10,000 users, 256 cells", "speed-up", per_user / seconds, against="per-user protocol")
    sizes = [2**10, 2**12, 2**14, 2**16]
    record.exponent("sum laws", "cells", sizes, [cpu_seconds(lambda m=m: by_law(m)) for m in sizes])


def test_phist_lookup(benchmark, record):
    """Look-up of 2,000 test rows among 4^20 cells."""
    rng = np.random.default_rng(0)
    X, y = rng.random((5_000, 20)), rng.integers(2, size=5_000)
    model = PHIST(epsilon=1.0, bins=4, random_state=0).fit(X, y)
    queries = rng.random((8_000, 20))
    seconds = timed(benchmark, lambda: model.predict(queries[:2_000]))
    record.add("PHIST look-up", "2,000 rows, 4^20 cells", "seconds", seconds)
    sizes = [1_000, 2_000, 4_000, 8_000]
    record.exponent("PHIST look-up", "n", sizes, [cpu_seconds(lambda m=m: model.predict(queries[:m])) for m in sizes])
