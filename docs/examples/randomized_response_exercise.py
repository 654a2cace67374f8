"""
A course exercise on randomized response
========================================

Warner's question of 1965: how many people have done something that they would not admit? Each tosses a coin in private.
"""

import numpy as np

from lpbench.privacy import RandomizedResponse

rng = np.random.default_rng(0)
truth = rng.random(20_000) < 0.3

# %%
# **1.** At which probability does a person answer truthfully, and how often does the coin make her answer wrong?
for epsilon in (0.5, 1.0, 2.0):
    response = RandomizedResponse(epsilon)
    print(f"epsilon = {epsilon}: truth with probability {response.keep:.3f}, ratio {response.keep / response.flip:.3f}")
    assert np.isclose(np.log(response.keep / response.flip), epsilon)

# %%
# **2.** Why is the share of yes among the reports not the answer, and how is it corrected?
for epsilon in (0.5, 1.0, 2.0):
    response = RandomizedResponse(epsilon)
    reports = response.randomize(truth, rng)
    estimate = float(np.mean(response.estimate(reports)))
    print(f"epsilon = {epsilon}: {np.mean(reports):.3f} of the reports say yes, corrected {estimate:.3f}, true 0.300")

# %%
# **3.** How does the error depend on the number of people? Compare with 1 / sqrt(n).
response = RandomizedResponse(1.0)
for n in (200, 2000, 20_000):
    errors = [np.mean(response.estimate(response.randomize(truth[:n], rng))) - truth[:n].mean() for _ in range(50)]
    print(f"n = {n:6}: error {np.std(errors):.4f}, times sqrt(n) {np.std(errors) * np.sqrt(n):.2f}")
