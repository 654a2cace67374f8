"""How large a sample one method needs to do as well as another does with a given one."""

from __future__ import annotations

import numpy as np
from sklearn.isotonic import IsotonicRegression

from lpbench.analysis.significance import DIGITS


def equivalent_sizes(
    sizes: np.ndarray, reference: np.ndarray, other: np.ndarray, *, larger_is_better: bool
) -> np.ndarray:
    """Sample sizes at which ``other`` reaches the scores of ``reference``.

    Both learning curves are first made monotone (isotonic regression: more data does not hurt), then the other one is
    read backwards, with the logarithm of the size interpolated linearly between the sizes that were run.

    Parameters
    ----------
    sizes : ndarray of shape (k,)
        Increasing.
    reference, other : ndarray of shape (k,)
        Mean scores at those sizes.
    larger_is_better : bool

    Returns
    -------
    ndarray of shape (k,)
        inf where the other method does not get there with the largest size that was run; NaN where it is there with
        the smallest already, so that all one knows is that it needs fewer.
    """
    place = np.log(np.asarray(sizes, dtype=float))
    sign = 1.0 if larger_is_better else -1.0
    # rounded, so that the order of a floating-point sum does not decide what was reached
    target, curve = (
        IsotonicRegression().fit_transform(place, np.round(sign * np.asarray(s, dtype=float), DIGITS))
        for s in (reference, other)
    )
    levels, first = np.unique(curve, return_index=True)
    found = np.exp(np.interp(target, levels, place[first]))
    found[target > levels[-1]] = np.inf
    found[target < levels[0]] = np.nan
    return found
