import pandas as pd

from lpbench.analysis.scores import SCORE_COLUMNS


def row(method="a", replication=0, value=1.0, **other) -> dict:
    """One row of scores with everything else at a neutral value."""
    base = {
        "experiment": "test/table",
        "panel": "",
        "dataset": "d1",
        "mask": "aligned",
        "method": method,
        "epsilon": 1.0,
        "x": float("nan"),
        "params": "{}",
        "replication": replication,
        "metric": "mse",
        "value": value,
        "status": "ok",
        "reason": "",
        "seconds": 0.1,
    }
    return base | other


def cell(method: str, values, **other) -> list[dict]:
    """Rows of one grid point over replications 0, 1, ..."""
    return [row(method, r, v, **other) for r, v in enumerate(values)]


def table(*parts) -> pd.DataFrame:
    return pd.DataFrame([r for part in parts for r in part], columns=SCORE_COLUMNS)
