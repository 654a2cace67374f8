"""Tuning-free methods: regression and classification that choose every setting from public facts or their reports."""

from lpbench.estimators.tuning_free.public_forest import PublicForest, PublicForestRegressor
from lpbench.estimators.tuning_free.residual_gp import ResidualGP
from lpbench.estimators.tuning_free.residual_score import ResidualScore

__all__ = ["PublicForest", "PublicForestRegressor", "ResidualGP", "ResidualScore"]
