"""Baselines: trees, histograms, randomized features, linear models, feature-free predictors, non-private references."""
