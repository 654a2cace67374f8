"""
Compare methods for a paper
===========================

Registered methods on a data set that comes with scikit-learn, at two budgets, over a few replications. For a full table
write an experiment (``lpbench -m dataset=... method=...``); this is what it does for each cell.
"""

import numpy as np

from lpbench.datasets import make_problem
from lpbench.estimators import DT, Hist, PrivateMean, ResidualGP
from lpbench.seeds import Streams

BUDGETS, REPLICATIONS = (1.0, 4.0), 2
problems = [make_problem("diabetes_progression", None, "aligned", None, k, 7) for k in range(REPLICATIONS)]

for model in (PrivateMean(), Hist(bins=1), ResidualGP(), DT(3)):
    scores = [
        model.for_problem(problem).sweep(problem, BUDGETS, {}, Streams(k)).values[:, 0]
        for k, problem in enumerate(problems)
    ]
    row = "   ".join(f"{m:7.0f} +- {s:5.0f}" for m, s in zip(np.mean(scores, 0), np.std(scores, 0), strict=True))
    print(f"{type(model).__name__:12} mean squared error at epsilon = 1 and 4:   {row}")

# %%
# ``DT`` has no privacy, ``PrivateMean`` looks at no feature: a method is worth its budget between the two.
