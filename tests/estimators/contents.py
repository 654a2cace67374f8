import numpy as np
from sklearn.tree._tree import Tree


def arrays(value, seen=None):
    seen = {} if seen is None else seen
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from arrays(part, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from arrays(part, seen)
    elif hasattr(value, "__dict__"):
        yield from arrays(vars(value), seen)
    elif isinstance(value, Tree):
        yield from arrays(value.__getstate__(), seen)
