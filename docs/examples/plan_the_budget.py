"""
Plan the budget
===============

Which ε, and how many users, does an error need? A pilot sample answers: here 442 patients whose disease progression is
to be predicted, who protect it and their age.
"""

from sklearn.datasets import load_diabetes

from lpbench.planning import need

X, y = load_diabetes(return_X_y=True, as_frame=True)
protected = (X.columns == "age").tolist()
answer = need(X, y, mask=protected, y_range=(0, 400), budgets=[0.5, 1, 2, 4, 8], users=[442, 4420, 44200], splits=4)

# %%
# The error at each number of users and budget, with its 90 % interval. More than 354 users are extrapolated.
print(
    answer.table()[["users", "epsilon", "error", "low", "high", "better"]]
    .round({"error": 0, "low": 0, "high": 0})
    .to_string(index=False)
)

# %%
# The least ε for 0.8 times the error of the best constant, and the fewest users at each ε.
print(answer.least_epsilon(error="0.8x").round(2).to_string(index=False))
print(answer.least_users(error="0.8x").to_string(index=False))

# %%
# Below this ε a private constant may do as well.
print(answer.least_useful().round(2).to_string(index=False))
