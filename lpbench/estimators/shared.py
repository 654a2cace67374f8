"""Results that the fits of one process share, such as those of several budgets: computed once from the same inputs."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from lpbench.privacy.users import content_hash

T = TypeVar("T")


class Shared:
    """Results by the content of their inputs, so many of them; what was used longest ago goes first."""

    def __init__(self, most: int) -> None:
        self._most, self._kept = most, OrderedDict[bytes, Any]()

    def __call__(self, inputs: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """``compute()``, not to be changed; the inputs (arrays and plain objects) are all that it may depend on."""
        key = content_hash(inputs)
        result: T = self._kept.pop(key) if key in self._kept else compute()
        self._kept[key] = result
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return result
