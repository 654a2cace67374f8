import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.curves import curves
from lpbench.errors import NotRunError

KEYS = {"panel": "", "dataset": "d[n=5]", "mask": "aligned[s=1]", "selection": "oracle"}


def table(method, epsilons, places):
    rows = [KEYS | {"method": method, "epsilon": e, "x": x, "mean": x + e, "se": 0.1} for e in epsilons for x in places]
    return pd.DataFrame(rows)


def test_a_curve_a_budget_unless_the_budget_is_on_the_axis():
    found = curves(table("m", [1.0, 2.0], [8.0, 4.0]))
    assert [(c.epsilon, c.x.tolist(), c.mean.tolist()) for c in found] == [
        (1.0, [4, 8], [5, 9]),
        (2.0, [4, 8], [6, 10]),
    ]
    own = pd.concat([table("m[variant=a,s=2]", [e], [e]) for e in (1.0, 2.0)])
    [curve] = curves(own)
    assert np.isnan(curve.epsilon) and curve.x.tolist() == [1, 2]
    assert (curve.base, curve.variant, curve.parameter("s"), curve.parameter("n")) == ("m", "a", 2, 5)


def test_replications_follow_the_places():
    rows = table("m", [1.0], [8.0, 4.0])
    chosen = pd.concat([rows.assign(replication=r, value=rows["x"] + r) for r in (1, 0)])
    [curve] = curves(rows, chosen)
    np.testing.assert_array_equal(curve.samples, [[4, 8], [5, 9]])
    np.testing.assert_array_equal(curve.between(5, 9).samples, [[8], [9]])


def test_what_is_missing_is_said():
    [curve] = curves(table("m", [1.0], [4.0, 8.0]))
    with pytest.raises(NotRunError, match="replication"):
        _ = curve.samples
    with pytest.raises(NotRunError, match="no point at x = 5"):
        curve.at(5)
    assert curves(table("m", [1.0], [4.0]), selection="tuning_free") == []
