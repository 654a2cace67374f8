"""Measure the README's library example under many seeds, beside the private mean, into ``readme_example.csv``.

Usage: python scripts/measure_readme_example.py [SEEDS]
"""

import re
import sys

import numpy as np
import pandas as pd

from lpbench.disk import write_text
from lpbench.estimators import PrivateMean
from lpbench.paths import COMMITTED, ROOT

SEEDS = 100
FILE = COMMITTED / "readme_example.csv"


def errors(block: str, seed: int) -> dict[str, float]:
    """Run the example with another seed; mean squared test errors of its model and of the private mean."""
    if block.count("seed = 0\n") != 1:
        raise ValueError("the README's example must set seed = 0 once")
    names: dict = {}
    exec(block.replace("seed = 0\n", f"seed = {seed}\n"), names)
    model, X, y, n = (names[name] for name in ("model", "X", "y", "n"))
    constant = PrivateMean(model.epsilon, y_range=model.y_range, random_state=seed).fit(X[:n], y[:n])
    fitted = {type(model).__name__: model, "PrivateMean": constant}
    return {name: float(np.mean((m.predict(X[n:]) - y[n:]) ** 2)) for name, m in fitted.items()}


def main(seeds: int) -> None:
    """Write one row per seed."""
    [block] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    rows = [{"seed": seed, **errors(block, seed)} for seed in range(seeds)]
    write_text(pd.DataFrame(rows).to_csv(index=False, float_format="%.6g"), FILE)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
