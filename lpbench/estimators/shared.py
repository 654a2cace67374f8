"""Arrays that the fits of one process share: computed once from the same inputs, as long as there is room for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lpbench.privacy.users import content_hash


class Shared:
    """Results by the content of their inputs, up to so many bytes; what was used longest ago goes first."""

    def __init__(self, room: int) -> None:
        self._room, self._kept = room, OrderedDict[bytes, Sequence[np.ndarray]]()

    def __call__(self, inputs: tuple[Any, ...], compute: Callable[[], Sequence[np.ndarray]]) -> Sequence[np.ndarray]:
        """Arrays of ``compute()``, read-only; the inputs (arrays and plain values) are all that it may depend on."""
        key = content_hash(inputs)
        found = self._kept.pop(key, None)
        if found is None:
            found = compute()
            for array in found:
                array.setflags(write=False)
        self._kept[key] = found
        while sum(array.nbytes for arrays in self._kept.values() for array in arrays) > self._room:
            self._kept.popitem(last=False)
        return found
