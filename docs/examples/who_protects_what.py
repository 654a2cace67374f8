"""
Who protects what
=================

The same regressor on the same users, who protect nothing but the label, one column, a column some of them, or all.
"""

import numpy as np
import pandas as pd

from lpbench.estimators import HistOfTree

rng = np.random.default_rng(0)
X = pd.DataFrame({"age": rng.random(4000), "income": rng.random(4000), "height": rng.random(4000)})
y = np.clip(X["age"] + 0.2 * rng.standard_normal(4000), 0, 1).to_numpy()

masks = {
    "the label alone": [],
    "income": ["income"],
    "the old protect their age": lambda frame: frame.assign(age=frame["age"] > 0.7, income=False, height=False),
    "all columns": ["age", "income", "height"],
}
for who, mask in masks.items():
    model = HistOfTree(2.0, y_range=(0, 1), random_state=0).fit(X, y, mask=mask)
    error = np.mean((model.predict(X) - y) ** 2)
    print(f"{who:26} {model.guarantee_.model:17} mean squared error {error:.3f}")

# %%
# The third mask is itself public: who protects her age is old. A mask that depends on a protected value tells it.
