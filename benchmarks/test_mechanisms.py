"""Generalised randomised response, the laws of sums, and the look-up of noisy cells."""

from __future__ import annotations

import numpy as np
from conftest import cpu_seconds, timed

from lpbench.estimators import PHIST
from lpbench.estimators.lpct.votes import VOTE, VoteMechanism, VoteQuestion, count_votes, noisy_votes
from lpbench.partitions import GridCells
from lpbench.privacy import GRR, Records
from lpbench.seeds import Streams


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
