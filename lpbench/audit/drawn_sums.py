"""What sums of reports of a recorded call must be distributed like; see :mod:`lpbench.audit.drawn_laws`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lpbench.audit.drawn_laws import Law
from lpbench.privacy import GRR, Records

#: Sums of fewer users are not normal enough to be compared.
_FEWEST = 5.0


def votes_law(result: np.ndarray, votes: np.ndarray, n: int, mechanism: Any, streams: Any, axes: Any = None) -> Law:
    """Noise of LPCT's estimated votes."""
    return _noise_of_votes(result - votes, n, mechanism)


def added_up_law(result: np.ndarray, self: Any, records: Records, question: Any, draws: Any) -> Law:
    """Noise of the votes that users' reports add up to."""
    _, tables = self.law(question, records)
    return _noise_of_votes(
        self.estimate(result, question, len(records)) - tables.sum(axis=0), len(records), question.mechanism
    )


def swept_law(result: np.ndarray, forest: Any, n: int, mechanisms: Any, streams: Any) -> Law:
    """Noise of the votes in the largest partition of each depth of a sweep; the depths take the budgets in turn."""
    largest: dict[int, slice] = {}
    for depth, part in forest.parts:
        if depth not in largest or part.stop - part.start > largest[depth].stop - largest[depth].start:
            largest[depth] = part
    laws = []
    for k, part in enumerate(reversed(largest.values())):
        budget = -1 - k % len(mechanisms)
        laws.append(_noise_of_votes(result[budget][:, part] - forest.private[:, part], n, mechanisms[budget]).normal)
    found = [normal for normal in laws if normal is not None]
    return Law(normal=np.concatenate(found) if found else None)


def _noise_of_votes(noise: np.ndarray, n: int, mechanism: Any) -> Law:
    variance = n * mechanism.noise_variance
    return Law(normal=np.ravel(noise) / np.sqrt(variance) if variance > 0 else None)


def cube_law(result: np.ndarray, self: Any, counts: np.ndarray, question: Any, streams: Any) -> Law:
    """Sums of the bits of label-DP votes, or of the reports of a single class."""
    mechanism, users = question.mechanism, counts.sum(axis=1, keepdims=True)
    if mechanism.n_categories == 1:
        return Law()
    keep, flip = (
        (mechanism.channel()[0, 0], mechanism.channel()[0, 1])
        if isinstance(mechanism, GRR)
        else (mechanism.response.keep, mechanism.response.flip)
    )
    # The indicators of the classes in one report of GRR depend on one another.
    columns = slice(0, 1 if isinstance(mechanism, GRR) else None)
    mean = counts * keep + (users - counts) * flip
    variance = counts * keep * (1 - keep) + (users - counts) * flip * (1 - flip)
    many = variance[:, columns] > _FEWEST
    return Law(normal=(result - mean)[:, columns][many] / np.sqrt(variance[:, columns][many]))


def grid_law(result: Any, self: Any, X: np.ndarray, mechanisms: Any = ()) -> Law:
    """Unit noise of histograms, in distinct cells."""
    _, noise = result
    # The order of the cells' keys has nothing to do with their noise.
    distinct = np.unique(self._cells(X)[2], return_index=True)[1]
    return Law(normal=(noise[:, distinct] / np.sqrt(2.0 * self.n)).ravel())


def moments_law(result: Any, X: np.ndarray, signs: np.ndarray, streams: Any) -> Law:
    """Unit noise of the moments of PGLM; off the diagonal the mean of two entries."""
    gram = result.noise_gram
    above = np.sqrt(2.0) * gram[np.triu_indices_from(gram, 1)]
    return Law(normal=np.concatenate([result.noise_cross, np.diag(gram), above]))
