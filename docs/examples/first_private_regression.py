"""
A first private regression
==========================

A table with a category, a date and missing cells, users who protect two of its columns, and a regressor that spends
one unit of epsilon per user.
"""

import numpy as np
import pandas as pd
from sklearn.metrics import mean_squared_error
from sklearn.pipeline import make_pipeline

from lpbench.estimators import PrivateMean, ResidualGP
from lpbench.estimators.public_table import PublicTable
from lpbench.ledger import PrivacyLedger
from lpbench.masks import through

rng = np.random.default_rng(0)
n = 3000
table = pd.DataFrame(
    {
        "age": rng.uniform(18, 90, n).round(),
        "income": rng.uniform(0, 100, n).round(),
        "city": rng.choice(["Oslo", "Rome"], n),
        "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D"),
    }
)
y = np.clip(0.6 * (table["age"] - 18) / 72 + 0.3 * (table["city"] == "Rome") + 0.1 * rng.random(n), 0, 1).to_numpy()
table.loc[rng.random(n) < 0.1, "income"] = np.nan

# %%
# Ranges, levels and the meaning of a missing cell are public knowledge: they are declared, not learned from the rows.
columns = {"age": (18, 90), "income": (0, 100), "city": ["Oslo", "Rome"], "joined": ("2020-01-01", "2022-12-31")}
features = PublicTable(columns, missing={"income": "level"})

# %%
# Everybody protects income and the date; the label is always protected. The mask follows the columns through the table.
train, test = table[:2000], table[2000:]
mask = through(features.fit(train), ["income", "joined"])
model = make_pipeline(features, ResidualGP(1.0, y_range=(0, 1), random_state=0))
with PrivacyLedger(limit=1.0) as ledger:
    model.fit(train, y[:2000], residualgp__mask=mask)
print(ledger)
print(model[-1].guarantee_)

# %%
# Beside every error stands that of one private number, predicted for everybody.
constant = PrivateMean(1.0, y_range=(0, 1), random_state=0).fit(features.transform(train), y[:2000])
print("error", mean_squared_error(y[2000:], model.predict(test)))
print("of the private mean", mean_squared_error(y[2000:], constant.predict(features.transform(test))))
